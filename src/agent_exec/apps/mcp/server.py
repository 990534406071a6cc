"""A toolset as a server of the protocol: its methods, whatever the transport."""

import sys
from threading import Lock, Thread

from agent_exec.apps.mcp import elicitation as approving
from agent_exec.apps.mcp.call import Call, current
from agent_exec.apps.mcp.clock import Clock
from agent_exec.apps.mcp.connection import INFO, MODERN
from agent_exec.apps.mcp.job_events import JobEvents
from agent_exec.apps.mcp.notices import Notices
from agent_exec.apps.mcp.resources import Resources
from agent_exec.apps.mcp.rpc import clean, field
from agent_exec.apps.mcp.subscriptions import Watching
from agent_exec.model.errors import SCARCE, AgentExecError, Busy
from agent_exec.tools.define import for_mcp
from agent_exec.tools.tool import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.apps.mcp.connection import Request
    from agent_exec.apps.mcp.rpc import Message
    from agent_exec.requests.inbox import Inbox
    from agent_exec.tools.tool import Toolset

    Method = Callable[[Request], Message | None]

AT_ONCE = 256
"""How many calls may run at once: each has a thread."""

PROGRESS_EVERY = 1.0
"""Seconds between two notes to a client that wants to hear that its call goes on."""

_CAPABILITIES = {
    "logging": {},
    "resources": {"subscribe": True, "listChanged": False},
    "tools": {"listChanged": False},
}
_EARLY, _LATE, _BOTH = (False,), (True,), (False, True)
"""The eras of a method: whether requests of it are modern."""


class Server:
    """The methods of one client's server; the caller closes the toolset.

    All but a call of a tool are carried out at once, in the order in which
    they come.
    """

    def __init__(self, toolset: "Toolset") -> None:
        self._toolset = toolset
        self._listed: dict[bool, Message] = {}
        self._names: dict[str, bool] = {}  # each tool, and whether it has an output schema
        self._calls = 0
        self._lock = Lock()
        self._settling = Lock()
        self._memory = approving.Memory()
        self._clock = Clock()
        self._notices = Notices(lambda: getattr(toolset, "warning", ""))
        resources = Resources(toolset)
        watching = Watching(resources.state, self._clock)
        self._jobs = JobEvents(toolset, self._clock, watching, self._notices)
        self.methods: dict[str, tuple[tuple[bool, ...], Method]] = {
            "initialize": (_EARLY, self._initialize),
            "ping": (_EARLY, lambda _: {}),
            "server/discover": (_LATE, self._discover),
            "tools/list": (_BOTH, self._list),
            "tools/call": (_BOTH, self._call),
            "resources/list": (_BOTH, resources.list),
            "resources/templates/list": (_BOTH, resources.templates),
            "resources/read": (_BOTH, resources.read),
            "resources/subscribe": (_EARLY, watching.subscribe),
            "resources/unsubscribe": (_EARLY, watching.unsubscribe),
            "subscriptions/listen": (_LATE, watching.listen),
            "logging/setLevel": (_EARLY, self._notices.set_level),
        }

    def serve(self, request: "Request") -> "Message | None":
        """Return the result of a request; None if it is answered later. Raise RpcError for an error."""
        result = self.methods[request.method][1](request)
        if request.modern and result is not None and request.method != "tools/call":
            return {"cacheScope": "private", "ttlMs": 0, **result}
        return result

    def _initialize(self, request: "Request") -> "Message":
        version = request.connection.greet(request)
        return {"protocolVersion": version, "serverInfo": INFO, **self._about()}

    def _discover(self, _request: "Request") -> "Message":
        return {"supportedVersions": [MODERN], **self._about()}

    def _about(self) -> "Message":
        return {"capabilities": _CAPABILITIES, "instructions": clean(self._toolset.instructions)}

    def _list(self, request: "Request") -> "Message":
        """Return all tools at once; their texts depend on whether a person can be asked."""
        field(request.params, "cursor", str, "")
        asking = approving.Elicitation(request, {}, self._notices, self._inbox)
        asks = asking.reachable
        if asks not in self._listed:
            before = current.set(Call(asking))
            try:
                self._listed[asks] = {"tools": [clean(for_mcp(one)) for one in self._toolset.definitions()]}
            finally:
                current.reset(before)
        self._notices.deliver(request)
        return self._listed[asks]

    def _call(self, request: "Request") -> "Message | None":
        """Call a tool in a thread; an error is an answer too."""
        name = field(request.params, "name", str)
        arguments = field(request.params, "arguments", dict, {})
        if not self._names:
            self._names = {one["name"]: "output_schema" in one for one in self._toolset.definitions()}
        if name not in self._names:
            there = ", ".join(self._names)
            return _shown(_error("tool_not_found", f"there is no tool {name!r}; there are {there}"))
        with self._lock:
            if self._calls >= AT_ONCE:
                return _shown(_error("busy", f"{AT_ONCE} calls run already; wait until one of them is over"))
            self._calls += 1
        try:
            Thread(target=self._work, args=(request, name, arguments), daemon=True).start()
        except RuntimeError as error:
            self._over()
            return _shown(_error(Busy.code, lacking(error) or str(error)))
        return None

    def _inbox(self) -> "Inbox | None":
        return getattr(self._toolset, "inbox", None)

    def _over(self) -> None:
        with self._lock:
            self._calls -= 1

    def _work(self, request: "Request", name: str, arguments: "Message") -> None:
        """Carry out a call in a thread of its own; the answer of a cancelled one is dropped."""
        try:
            result = self._answer(request, name, arguments)
        except AgentExecError as error:
            result = _shown(_error(error.code, error.message))
        except BaseException as error:
            if lack := lacking(error):
                result = _shown(_error(Busy.code, lack))
            else:
                sys.excepthook(type(error), error, error.__traceback__)  # on stderr
                own = f"{name} failed by an error of agent-exec's own: {error!r}; report it"
                result = _shown(_error("internal", own))
        self._over()
        request.finish(result)

    def _answer(self, request: "Request", name: str, arguments: "Message") -> "Message":
        answered, posted = self._memory.take(request)
        asking = approving.Elicitation(request, answered, self._notices, self._inbox, posted)
        try:
            return self._carry_out(request, name, arguments, asking)
        finally:
            asking.close()

    def _carry_out(
        self, request: "Request", name: str, arguments: "Message", asking: approving.Elicitation
    ) -> "Message":
        try:
            if getattr(self._toolset, "wants_roots", False) and not self._settle(request):
                return approving.roots_required(self._memory.keep(request, asking.answered, ""))
        except AgentExecError as error:
            return _shown(_error(error.code, f"the client's roots cannot be worked in: {error.message}"))
        call = Call(asking, self._notices)
        call.client = request.connection.client_of(request)
        current.set(call)
        ticking = None
        if request.meta.get("progressToken") is not None:
            call.shows_progress = True
            ticking = self._clock.every(PROGRESS_EVERY, lambda: _tell_progress(request, name, call))
        try:
            with request.cancel.calling(call.set):
                answer = self._toolset.call(name, arguments, call)
        except approving.Unanswered as question:
            word = self._memory.keep(request, asking.answered, question.message, question.posted)
            return approving.required(question, word)
        finally:
            self._clock.stop(ticking)
        self._notices.look(name, answer)
        self._jobs.look(request, answer)
        self._notices.deliver(request)
        return _shown(answer, structured=self._names[name])

    def _settle(self, request: "Request") -> bool:
        """Move the toolset to the client's roots; return False if the client must call again with them."""
        with self._settling:
            if self._toolset.wants_roots:  # type: ignore[attr-defined]  # as was asked before
                roots = approving.roots_of(request)
                if roots is None:
                    return False
                self._toolset.settle(roots)  # type: ignore[attr-defined]
        return True


def lacking(error: BaseException) -> str:
    """Return what the machine lacks for now, if that is what an error says."""
    lack = ""
    if isinstance(error, RuntimeError) and str(error) == "can't start new thread":
        lack = "room for another thread"
    elif isinstance(error, OSError) and error.errno in SCARCE:
        lack = f"enough for this ({error.strerror})"
    return f"this machine does not have {lack}; try again when less runs" if lack else ""


def _tell_progress(request: "Request", name: str, call: Call) -> None:
    try:
        elapsed, message = call.progress(name)
    except (AgentExecError, OSError):  # it was deleted, or cannot be read now
        return  # the call itself reports that; a note must not end it
    told = {"progressToken": request.meta["progressToken"], "progress": elapsed, "message": clean(message)}
    request.notify("notifications/progress", told)


def _error(code: str, message: str) -> Result:
    return Result(f"{code}: {message}", None, True)


def _shown(answer: Result, *, structured: bool = False) -> "Message":
    """Return the result of a call: its text, and for a program that has a schema its object."""
    shown = {"content": [{"type": "text", "text": clean(answer.text)}], "isError": answer.is_error}
    if structured and answer.structured is not None:
        shown["structuredContent"] = clean(answer.structured)
    return shown
