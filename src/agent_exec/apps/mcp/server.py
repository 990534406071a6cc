"""A toolset as a server of the protocol; over which transport is not its concern."""

import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter, Lock, create_task_group, get_cancelled_exc_class, sleep
from mcp.server.lowlevel import Server
from mcp_types import (
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    SetLevelRequestParams,
    TextContent,
    Tool,
)

from agent_exec.apps.mcp import elicitation as approving
from agent_exec.apps.mcp.call import Call, clean, current
from agent_exec.apps.mcp.notices import Notices
from agent_exec.apps.mcp.resources import Resources
from agent_exec.apps.mcp.subscriptions import Watching
from agent_exec.apps.mcp.threads import in_thread, lacking, somehow
from agent_exec.model.errors import AgentExecError, Busy
from agent_exec.tools.define import for_mcp
from agent_exec.tools.tool import Result
from agent_exec.version import __version__

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.server import ServerRequestContext
    from mcp_types import CallToolRequestParams, PaginatedRequestParams

    from agent_exec.tools.tool import Toolset

AT_ONCE = 256
"""How many calls may run at once: each has a thread."""

PROGRESS_EVERY = 1.0
"""Seconds between two notes to a client that wants to hear that its call goes on."""


def build(toolset: "Toolset") -> Server[Any]:
    """Return the server of a toolset; the caller closes the toolset."""
    calls = Calls(toolset)
    resources = Resources(toolset)
    watching = Watching(resources.state)

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> "AsyncIterator[dict[str, Any]]":
        async with create_task_group() as group:
            group.start_soon(watching.run)
            yield {}
            group.cancel_scope.cancel()

    server = Server(
        "agent-exec",
        version=__version__,
        instructions=clean(toolset.instructions),
        lifespan=lifespan,
        on_list_tools=calls.list,
        on_call_tool=calls.call,
        on_list_resources=resources.list,
        on_list_resource_templates=resources.templates,
        on_read_resource=resources.read,
        on_subscribe_resource=watching.subscribe,
        on_unsubscribe_resource=watching.unsubscribe,
        on_subscriptions_listen=watching.listen,
    )
    server.add_request_handler("logging/setLevel", SetLevelRequestParams, calls.notices.set_level)
    return server


class Calls:
    """The list of tools, and the calls that run."""

    def __init__(self, toolset: "Toolset") -> None:
        self._toolset = toolset
        self._told: dict[bool, ListToolsResult] = {}
        self._names: list[str] = []
        self._threads = CapacityLimiter(AT_ONCE)
        self._memory = approving.Memory()
        self._settling = Lock()
        self.notices = Notices(getattr(toolset, "warning", ""))

    async def list(
        self,
        context: "ServerRequestContext[Any]",
        _asked: "PaginatedRequestParams | None",
    ) -> ListToolsResult:
        """Return all tools at once; their texts depend on whether a person can be asked."""
        asks = approving.can_elicit(context)
        if asks not in self._told:
            before = current.set(Call(approving.Elicitation(context, {}, self.notices)))
            try:
                tools = [Tool.model_validate(clean(for_mcp(one))) for one in self._toolset.definitions()]
            finally:
                current.reset(before)
            self._told[asks] = ListToolsResult(tools=tools)
        await self.notices.deliver(context)
        return self._told[asks]

    async def call(
        self, context: "ServerRequestContext[Any]", asked: "CallToolRequestParams"
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool in a thread; an error is an answer too."""
        if not self._names:
            self._names = [one["name"] for one in self._toolset.definitions()]
        if asked.name not in self._names:
            names = ", ".join(self._names)
            return _shown(_error("tool_not_found", f"there is no tool {asked.name!r}; there are {names}"))
        if self._threads.available_tokens < 1:
            return _shown(_error("busy", f"{AT_ONCE} calls run already; wait until one of them is over"))
        answered = self._memory.take(asked)
        try:
            if getattr(self._toolset, "wants_roots", False) and not await self._settle(context, asked):
                return approving.roots_required(self._memory.keep(asked, answered, ""))
        except AgentExecError as error:
            return _shown(_error(error.code, f"the client's roots cannot be worked in: {error.message}"))
        asking = approving.Elicitation(context, answered, self.notices)
        call = Call(asking, self.notices)
        if context.meta is None or "progress_token" not in context.meta:
            answer = await self._run(asked, call)
        else:
            async with create_task_group() as group:
                group.start_soon(_tell_progress, context, asked.name, call)
                answer = await self._run(asked, call)
                group.cancel_scope.cancel()
        if isinstance(answer, approving.Unanswered):
            word = self._memory.keep(asked, asking.answered, answer.message)
            return approving.required(answer, word)
        self.notices.look(asked.name, answer)
        await self.notices.deliver(context)
        return _shown(answer)

    async def _settle(self, context: "ServerRequestContext[Any]", asked: "CallToolRequestParams") -> bool:
        """Move the toolset to the client's roots; return False if the client must call again with them."""
        async with self._settling:
            if self._toolset.wants_roots:  # type: ignore[attr-defined]  # as was asked before
                roots = await approving.roots_of(context, asked)
                if roots is None:
                    return False
                await in_thread(self._toolset.settle, roots)  # type: ignore[attr-defined]
        return True

    async def _run(self, asked: "CallToolRequestParams", call: Call) -> Result | approving.Unanswered:
        """Wait for the answer; if the client cancels, cancel the call, and leave its thread alone."""

        def act() -> Result | approving.Unanswered:
            current.set(call)
            try:
                return self._toolset.call(asked.name, asked.arguments or {}, call)
            except approving.Unanswered as question:
                return question
            except AgentExecError as error:
                return _error(error.code, error.message)
            except BaseException as error:
                if lack := lacking(error):
                    return _error(Busy.code, lack)
                sys.excepthook(type(error), error, error.__traceback__)  # on stderr
                return _error(
                    "internal", f"{asked.name} failed by an error of agent-exec's own: {error!r}; report it"
                )

        try:
            return await in_thread(act, abandon=True, limiter=self._threads)
        except AgentExecError as error:
            return _error(error.code, error.message)
        except get_cancelled_exc_class():
            call.set()
            raise


async def _tell_progress(context: "ServerRequestContext[Any]", name: str, call: Call) -> None:
    while True:
        await sleep(PROGRESS_EVERY)
        try:
            elapsed, message = await somehow(call.progress, name)
        except (AgentExecError, OSError):  # it was deleted, or cannot be read now
            continue  # the call itself reports that; a note must not end it
        await context.session.report_progress(elapsed, message=clean(message))


def _error(code: str, message: str) -> Result:
    return Result(f"{code}: {message}", None, True)


def _shown(answer: Result) -> CallToolResult:
    content = TextContent(type="text", text=clean(answer.text))
    if answer.structured is None:
        return CallToolResult(content=[content], is_error=answer.is_error)
    structured = clean(answer.structured)
    return CallToolResult(content=[content], structured_content=structured, is_error=answer.is_error)
