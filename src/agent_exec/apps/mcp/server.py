"""A toolset as a server of the protocol; over which transport is not its concern."""

import sys
import threading
from time import monotonic
from typing import TYPE_CHECKING, Any

from anyio import CapacityLimiter, create_task_group, get_cancelled_exc_class, sleep
from anyio.to_thread import run_sync
from mcp.server.lowlevel import Server
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

from agent_exec.apps.mcp.toolset import Result
from agent_exec.model.errors import AgentExecError
from agent_exec.version import __version__

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp_types import CallToolRequestParams, PaginatedRequestParams

    from agent_exec.apps.mcp.toolset import Answer, Toolset

AT_ONCE = 256
"""How many calls may run at once: each has a thread."""

PROGRESS_EVERY = 1.0
"""Seconds between two notes to a client that wants to hear that its call goes on."""


def build(toolset: "Toolset") -> Server[Any]:
    """Give the server of a toolset; who serves closes the toolset."""
    calls = Calls(toolset)
    return Server(
        "agent-exec",
        version=__version__,
        instructions=toolset.instructions,
        on_list_tools=calls.list,
        on_call_tool=calls.call,
    )


class Calls:
    """What the tools are, and the calls of them that run."""

    def __init__(self, toolset: "Toolset") -> None:
        self._toolset = toolset
        self._tools = {tool["name"]: _tool(tool) for tool in toolset.definitions()}
        self._threads = CapacityLimiter(AT_ONCE)

    async def list(
        self,
        _context: "ServerRequestContext[Any]",
        _asked: "PaginatedRequestParams | None",
    ) -> ListToolsResult:
        """Give all tools at once."""
        return ListToolsResult(tools=list(self._tools.values()))

    async def call(
        self, context: "ServerRequestContext[Any]", asked: "CallToolRequestParams"
    ) -> CallToolResult:
        """Call a tool in a thread; whatever goes wrong is an answer too."""
        if asked.name not in self._tools:
            names = ", ".join(self._tools)
            return _shown(_error("tool_not_found", f"there is no tool {asked.name!r}; there are {names}"))
        if self._threads.available_tokens < 1:
            return _shown(_error("busy", f"{AT_ONCE} calls run already; wait until one of them is over"))
        if context.meta is None or "progress_token" not in context.meta:
            return _shown(await self._run(asked))
        async with create_task_group() as group:
            group.start_soon(_tell_progress, context, asked.name)
            answer = await self._run(asked)
            group.cancel_scope.cancel()
        return _shown(answer)

    async def _run(self, asked: "CallToolRequestParams") -> "Answer":
        """Wait for the answer; if the client does not any more, the call is told, and left to itself."""
        cancelled = threading.Event()

        def act() -> "Answer":
            try:
                return self._toolset.call(asked.name, asked.arguments or {}, cancelled)
            except AgentExecError as error:
                return _error(error.code, error.message)
            except BaseException as error:
                sys.excepthook(type(error), error, error.__traceback__)  # for whoever reads stderr
                return _error(
                    "internal", f"{asked.name} failed by an error of agent-exec's own: {error!r}; report it"
                )

        try:
            return await run_sync(act, abandon_on_cancel=True, limiter=self._threads)
        except get_cancelled_exc_class():
            cancelled.set()
            raise


async def _tell_progress(context: "ServerRequestContext[Any]", name: str) -> None:
    began = monotonic()
    while True:
        await sleep(PROGRESS_EVERY)
        elapsed = monotonic() - began
        await context.session.report_progress(elapsed, message=f"{name} has run for {elapsed:.0f} s")


def _tool(definition: dict[str, Any]) -> Tool:
    return Tool.model_validate(
        {
            "name": definition["name"],
            "title": definition.get("title"),
            "description": definition["description"],
            "input_schema": definition["parameters"],
            "output_schema": definition.get("output_schema"),
            "annotations": definition.get("annotations"),
        }
    )


def _error(code: str, message: str) -> Result:
    return Result(f"{code}: {message}", None, True)


def _shown(answer: "Answer") -> CallToolResult:
    content = TextContent(type="text", text=_clean(answer.text))
    if answer.structured is None:
        return CallToolResult(content=[content], is_error=answer.is_error)
    structured = _clean(answer.structured)
    return CallToolResult(content=[content], structured_content=structured, is_error=answer.is_error)


def _clean(value: Any) -> Any:
    """Give the same without halves of surrogate pairs, which no message can carry."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "replace").decode()
        return value
    if isinstance(value, dict):
        return {_clean(name): _clean(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(one) for one in value]
    return value
