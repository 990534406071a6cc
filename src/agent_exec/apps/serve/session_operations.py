"""The operations on sessions, one-shot commands and rules; and what the server says of itself."""

from typing import TYPE_CHECKING, Any

from agent_exec.apps.serve.operation import Operation
from agent_exec.apps.serve.problems import HttpError
from agent_exec.apps.serve.shared_sessions import ELSEWHERE, is_elsewhere, list_all
from agent_exec.apps.serve.terminals import show
from agent_exec.faces.answers import answer
from agent_exec.faces.oneshot.definitions import TOOL_DEFINITIONS
from agent_exec.faces.oneshot.secure import ToolError
from agent_exec.faces.session.definitions import USUAL, definitions
from agent_exec.faces.session.failures import ToolFailure
from agent_exec.model.errors import AgentExecError, InvalidArgument
from agent_exec.tools.define import integer, string, strings

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.apps.serve.operation import Request
    from agent_exec.apps.serve.service import Service
    from agent_exec.tools.define import Schema

    Given = dict[str, Any]
    Answer = dict[str, Any]

_TOOLS = definitions(USUAL, sandbox=None, detaches=True)


def _fields(tool: str) -> "tuple[Schema, tuple[str, ...]]":
    """Return the fields of a tool without the session, which is in the path; and those that it requires."""
    schema = _TOOLS[tool]["parameters"]
    fields = {name: field for name, field in schema["properties"].items() if name != "session_id"}
    return fields, tuple(name for name in schema["required"] if name != "session_id")


def _calls(tool: str) -> "Callable[[Service, Given, Request], Answer]":
    """Return the function that calls a tool of sessions; the session is a part of the path."""

    def act(service: "Service", given: "Given", call: "Request") -> "Answer":
        asked = dict(given)
        if "session" in asked:
            if is_elsewhere(asked["session"]):
                return _elsewhere(tool, asked, call)
            number = asked.pop("session").rpartition(".")[2]
            asked["session_id"] = int(number) if number.isdecimal() and len(number) < 16 else number
        try:
            told = service.sessions.perform(tool, asked, call)
        except ToolFailure as error:
            if error.kind != "unknown_session":
                raise
            raise HttpError("missing", error.message, **error.details) from None
        fields = told.structured or {}
        if tool == "list_sessions":
            fields = {"sessions": list_all(fields["sessions"])}
        return answer(tool, fields)

    return act


def _elsewhere(tool: str, given: "Given", call: "Request") -> "Answer":
    """Do something with a session of another server of this user, as a person does."""
    if tool not in ELSEWHERE:
        raise InvalidArgument(f"{tool} is not for sessions of other servers; {', '.join(ELSEWHERE)} are")
    return answer(tool, {"session_id": given["session"], **ELSEWHERE[tool](given, call)})


def _tools(service: "Service", _given: "Given", _call: "Request") -> "Answer":
    """Return what a model reads of the tools of sessions."""
    tools = service.sessions
    return answer("tools", {"definitions": tools.definitions(), "instructions": tools.instructions})


def _call_tool(service: "Service", given: "Given", call: "Request") -> "Answer":
    """Call a tool of sessions as a model does; a client that hangs up has cancelled it."""
    tools, name = service.sessions, given["tool"]
    try:
        told = tools.perform(name, given.get("arguments", {}), call)
    finally:
        if call.is_set() and name == "exec_command" and call.what:  # its number would be lost
            tools.call("kill_session", {"session_id": int(call.what.rpartition(" ")[2])})
    fields = {"text": told.text, "structured": told.structured, "is_error": told.is_error}
    return answer("tool_result", {key: value for key, value in fields.items() if value is not None})


def _no_terminal(_service: "Service", _given: "Given", _call: "Request") -> "Answer":
    raise HttpError("invalid_argument", "this is a terminal: connect with a WebSocket")


def _exec(service: "Service", given: "Given", call: "Request") -> "Answer":
    """Run a command to its end."""
    try:
        return answer("exec", service.kit.perform("exec_command", {"cwd": ".", **given}, call))
    except ToolError as error:
        if isinstance(error.__cause__, AgentExecError):
            raise error.__cause__ from None
        raise HttpError(error.code, error.message, **error.details) from None


def _explain(service: "Service", given: "Given", _call: "Request") -> "Answer":
    from agent_exec.faces.policy_verbs import explain

    argv, line = given.get("argv"), given.get("line")
    if (argv is None) == (line is None):
        raise InvalidArgument("give argv, the words of a command, or line, a line for the shell")
    return explain(argv or line or "", rules=service.settings.rules, cwd=service.folder(given))


def _operation(
    tool: str, about: str, *, reads: bool = False, starts: bool = False, streams: str = ""
) -> Operation:
    fields, required = _fields(tool)
    return Operation(tool, about, _calls(tool), fields, required, reads=reads, starts=starts, streams=streams)


_EXEC = TOOL_DEFINITIONS["exec_command"]["parameters"]

OPERATIONS = (
    Operation(
        "info",
        "Show what the server is.",
        lambda service, _given, _call: service.about(),
        reads=True,
    ),
    Operation(
        "exec",
        "Run a command once to its end.",
        _exec,
        _EXEC["properties"],
        tuple(name for name in _EXEC["required"] if name != "cwd"),
        starts=True,
    ),
    _operation("list_sessions", "List the sessions of all servers of this user.", reads=True),
    _operation("exec_command", "Start a command in a session.", starts=True),
    _operation("write_stdin", "Type into a session, and wait for what it prints."),
    _operation("read_output", "Read what a session has printed.", reads=True, streams="session"),
    Operation(
        "terminal",
        "Watch a session, type into it: a WebSocket.",
        _no_terminal,
        {
            "offset": integer("Where in the output to begin; without it, with what is on the screen.", 0),
            "skip": integer(
                "Bytes of output to be behind, before a picture of the screen takes their place.", 1
            ),
            "name": string("What others read who look at the same terminal."),
        },
        reads=True,
        raw=show,
        websocket=True,
    ),
    _operation("resize", "Change the size of a session's terminal."),
    _operation("close_stdin", "End the input of a session."),
    _operation("detach", "Make a session a job, which outlives the server."),
    _operation("kill_session", "End a session."),
    Operation("tools", "Show the tools of sessions as a model reads them.", _tools, reads=True),
    Operation(
        "call_tool",
        "Call a tool of sessions as a model does; hanging up cancels it, and ends what it has started.",
        _call_tool,
        {"arguments": {"type": "object", "description": "Those of the tool."}},
    ),
    Operation(
        "explain",
        "Say what the rules make of a command, and why.",
        _explain,
        {
            "argv": strings("The words of a command."),
            "line": string("Or a line for the shell."),
            "cwd": string("Its folder, in a workspace."),
        },
        reads=True,
    ),
)
