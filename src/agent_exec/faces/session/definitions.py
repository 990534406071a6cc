"""The contract of the tools of sessions: its numbers, the terms of a server, definitions and instructions."""

from agent_exec.model.command import LONGEST
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.value import Value
from agent_exec.tools.define import (
    boolean,
    choice,
    command_hints,
    confined,
    define,
    hints,
    integer,
    record,
    string,
    strings,
    view,
)
from agent_exec.views.wanted import USEFUL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.sandbox.profile import Profile

    Schema = dict[str, Any]

YIELD_MS = 10_000
WRITE_YIELD_MS = 250
LEAST_YIELD_MS, MOST_YIELD_MS = 250, 30_000
LEAST_POLL_MS, MOST_POLL_MS = 5_000, 300_000
MAX_OUTPUT_TOKENS = 10_000
MAX_BYTES, MOST_BYTES = 40_000, 1 << 20
ROWS, COLUMNS = 24, 80
LARGEST_SIDE, MOST_CELLS = 2_000, 250_000
LONGEST_MS = int(LONGEST * 1000)

PERMISSIONS = ("use_default", "require_escalated")
ASKING = ("sandbox_permissions", "justification", "prefix_rule")
"""Fields that need an approver."""
RENDERS = ("text", "screen", "raw")

_EXEC = """\
Run a shell command: build, test, server, REPL or other terminal program. Answers at its end, when it waits \
for input, or after yield_time_ms ({yield_ms}); what still runs has a session ID for write_stdin."""

_WRITE = """\
Type into a REPL, terminal program or server that exec_command started, and read its answer; without chars, \
wait for more of its log. \\u0003 is Ctrl-C, \\u0004 Ctrl-D."""

_READ = "Read any part of the log of a session of exec_command again, also after its end."
_LIST = "List the sessions of exec_command, running and ended."
_KILL = "End a session of exec_command with all its processes."
_RESIZE = "Change the size of the terminal of a session."
_CLOSE = "End the input of a session, as Ctrl-D does."
_DETACH = (
    "Make a running session a background job, without input, that outlives this server; see tail, wait, kill."
)

_PATCH = """\
Edit files, all or none, by `*** Begin Patch`, hunks, `*** End Patch`. A hunk: `*** Add File: PATH` and + \
lines; `*** Delete File: PATH`; or `*** Update File: PATH` (`*** Move to: PATH`), `@@ LINE ABOVE` and \
lines that begin with space, - or +."""

_ALL = """\
exec_command runs a shell command; what still runs then has a session ID: write_stdin types into it or waits \
for it, read_output shows its log again, kill_session ends it."""


class Terms(Value):
    """The terms on which a server offers the tools.

    `allow_login`: commands run in login shells unless a call says otherwise. `capture_login`: the
    user agrees that a login environment is taken once and used again (see `shelling`).
    `request_rule`: a model may propose a rule. `background_max_ms`: how long an empty write_stdin
    may wait. `max_output_tokens`: how much is shown by default, and `most_output_tokens` at most.
    `brief`: texts have only what says something. `patience_ms`: how long a call waits by default if
    its client does not show progress; a call that was cut off is gone on with by an equal one then.
    """

    allow_login: bool = True
    capture_login: bool = False
    request_rule: bool = True
    background_max_ms: int = MOST_POLL_MS
    max_output_tokens: int = MAX_OUTPUT_TOKENS
    most_output_tokens: int | None = None
    brief: bool = False
    patience_ms: int | None = None

    def __post_init__(self) -> None:
        for name in ("background_max_ms", "max_output_tokens", "most_output_tokens", "patience_ms"):
            count = getattr(self, name)
            if name in ("most_output_tokens", "patience_ms") and count is None:
                continue
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                raise InvalidArgument(f"{name} must be a whole number, 0 or more; got {count!r}")
        object.__setattr__(self, "background_max_ms", max(self.background_max_ms, LEAST_POLL_MS))


USUAL = Terms()


def definitions(
    terms: Terms = USUAL, *, sandbox: "Profile | None" = None, detaches: bool = False
) -> "dict[str, Schema]":
    """Return each tool by name, in objects of the caller's own, without fields that the terms forbid.

    `sandbox` confines every command, and `detaches` says that there is a place for jobs.
    """
    reading, commands = hints(reads=True, repeats=True), command_hints(sandbox)
    tools = [
        define("exec_command", _about(_EXEC, terms), _exec(terms), ("cmd",), _answer(), commands),
        define("write_stdin", _WRITE, _write(terms), ("session_id",), _answer(), dict(commands)),
        define("read_output", _READ, _read(), ("session_id",), _transcript(), reading),
        define("list_sessions", _LIST, {}, (), _list(), dict(reading)),
        define("kill_session", _KILL, _id(), ("session_id",), _answer(), hints(destroys=True, repeats=True)),
        define("resize", _RESIZE, _resize(), tuple(_resize()), _done(), hints(repeats=True)),
        define("close_stdin", _CLOSE, _id(), ("session_id",), _done(), hints(destroys=True)),
        define("apply_patch", _PATCH, _patch(), ("input",), _patched(), hints(destroys=True)),
    ]
    if detaches:
        tools.append(define("detach", _DETACH, _id(), ("session_id",), _job(), hints()))
    return {tool["name"]: tool for tool in tools}


def _about(text: str, terms: Terms) -> str:
    return text.format(yield_ms=terms.patience_ms or YIELD_MS)


def _exec(terms: Terms) -> "Schema":
    fields = {
        "cmd": string("The shell command."),
        "workdir": string("Folder (default: the workspace)."),
        "shell": string("bash, zsh, sh, pwsh, powershell or cmd."),
        "login": boolean("Read the user's profile (default true)."),
        "tty": boolean("Give it a terminal and input."),
        "input": {**_texts(), "description": "Type these, one each time it waits for input; needs \\n."},
        "yield_time_ms": integer(
            f"How long to wait (default {terms.patience_ms or YIELD_MS}; "
            f"from {LEAST_YIELD_MS} to {MOST_YIELD_MS}).",
            0,
        ),
        "max_output_tokens": _tokens(terms),
        "sandbox_permissions": choice("require_escalated asks the user for no sandbox.", PERMISSIONS),
        "justification": string("With require_escalated: why, as a question to the user."),
        "prefix_rule": strings("First words of a rule that the user may allow for good."),
        "view": view(),
        "wait_for": _conditions(),
        "render": _render("text"),
        "timeout_ms": integer("End it after this time.", 1, LONGEST_MS),
        "idle_timeout_ms": integer("End it when silent for this time.", 1, LONGEST_MS),
        "separate_streams": boolean("Show stderr apart; not with tty."),
        "rows": _side("Rows."),
        "columns": _side("Columns."),
    }
    if not terms.allow_login:
        del fields["login"]
    if not terms.request_rule:
        del fields["prefix_rule"]
    return fields


def _write(terms: Terms) -> "Schema":
    usual = terms.patience_ms or WRITE_YIELD_MS
    return {
        "session_id": _session(),
        "chars": string("What to type; end a line by \\n."),
        "yield_time_ms": integer(
            f"How long to wait (default {usual}; without chars from {LEAST_POLL_MS} "
            f"to {terms.background_max_ms}).",
            0,
        ),
        "max_output_tokens": _tokens(terms),
        "view": view(),
        "wait_for": _conditions(brief=True),
        "render": _render("as the session was started"),
        "keys": boolean("Read <C-c> <Up> <F5> in chars as keys."),
    }


def _read() -> "Schema":
    return {
        "session_id": _session(),
        "from": integer("First byte (default 0).", 0),
        "max_bytes": integer(f"Most bytes (default {MAX_BYTES}).", 1),
        "view": string(USEFUL),
    }


def _id() -> "Schema":
    return {"session_id": _session()}


def _resize() -> "Schema":
    return {**_id(), "rows": _side("Rows."), "columns": _side("Columns.")}


def _patch() -> "Schema":
    return {"input": string("The patch."), "workdir": string("Folder of its paths.")}


def _side(description: str) -> "Schema":
    return integer(description, 1, LARGEST_SIDE)


def _session() -> "Schema":
    return integer("Session ID.", 0)


def _tokens(terms: Terms) -> "Schema":
    return integer(f"Most tokens of output (default {terms.max_output_tokens}).", 0)


def _texts() -> "Schema":
    return {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


def _conditions(*, brief: bool = False) -> "Schema":
    words = (
        "exit, output, idle:MS, match:REGEX, port:N (on this machine or in the network that commands share)"
    )
    said = "See exec_command." if brief else f"Answer once one holds: {words}."
    return {**_texts(), "description": said}


def _render(default: str) -> "Schema":
    return choice(f"screen: what the terminal shows; raw: all bytes (default: {default}).", RENDERS)


def _range() -> "Schema":
    return {
        "from": integer("Offset of the first byte.", 0),
        "to": integer("Offset behind the last byte.", 0),
    }


def _answer() -> "Schema":
    exact = boolean("False: only some of it is missing, at unknown places (default true).")
    missing = {"session_id": _session(), **_range(), "exact": exact}
    text = {"type": "string"}
    fields: Schema = {
        "chunk_id": string("Names this answer."),
        "wall_time_seconds": {"type": "number", "description": "How long this call has waited."},
        "exit_code": integer("If it has ended; 128 + n if signal n ended it."),
        "session_id": integer("If it still runs."),
        "original_token_count": integer("About how many tokens were printed."),
        "output": string("What was printed, perhaps cut."),
        "awaiting_input": boolean("It waits for input."),
        "evidence": choice("How sure that is.", ("exact", "likely")),
        "echo": boolean("Whether the terminal shows what is typed; false when a secret is asked for."),
        "signal": string("The signal that ended it."),
        "timed_out": boolean("It was ended because its time was over."),
        "omitted": {
            "type": "array",
            "items": record(missing, ("from", "to")),
            "description": "Ranges of the transcript that are not in output; read_output can give them.",
        },
        **_dropped(),
        "notes": strings("What else to know."),
        "streams": record({"stdout": text, "stderr": dict(text)}, ("stdout", "stderr")),
        "cursor": integer("Offset behind the last byte that was looked at; read_output goes on from there."),
    }
    return record(fields, ("wall_time_seconds", "output"))


def _dropped() -> "Schema":
    return {
        "output_complete": boolean("False: some of it was not kept, and cannot be read any more."),
        "dropped": {
            "type": "array",
            "items": record(_range(), ("from", "to")),
            "description": "Ranges that were not kept.",
        },
    }


def _transcript() -> "Schema":
    fields = {
        "session_id": _session(),
        "output": string("The bytes as text."),
        "from": integer("Offset of its first byte."),
        "to": integer("Offset behind its last byte; go on from there."),
        "size": integer("How many bytes were printed until now."),
        **_dropped(),
    }
    return record(fields, ("output", "from", "to", "size"))


def _list() -> "Schema":
    entry = {
        "session_id": _session(),
        "cmd": string("Its command."),
        "workdir": string("Its folder."),
        "tty": boolean("Whether it has a terminal."),
        "running": boolean("Whether it still runs."),
        "exit_code": integer("If it has ended."),
        "job_id": string("If it is a job now."),
        "awaiting_input": boolean("It waits for input."),
        "age_seconds": {"type": "number", "description": "Since it was started."},
    }
    sessions = {"type": "array", "items": record(entry, ("session_id", "cmd", "running"))}
    return record({"sessions": sessions}, ("sessions",))


def _done() -> "Schema":
    return record(_id(), ("session_id",))


def _job() -> "Schema":
    fields = {
        "session_id": _session(),
        "job_id": string("The job, for agent-exec tail, wait and kill."),
        "root": string("The folder of jobs."),
    }
    return record(fields, ("session_id", "job_id"))


def _patched() -> "Schema":
    paths = {
        name: {"type": "array", "items": {"type": "string"}} for name in ("added", "modified", "deleted")
    }
    return record({**paths, "output": string("The same as text.")}, ("output",))


def instructions(workspace: str, sandbox: "Profile | None", *, escalates: bool) -> str:
    """Return the text about all tools; `escalates` says that a command can be let out of the sandbox."""
    return f"{_ALL} Commands start in the workspace {workspace}; {confined(sandbox, escalates=escalates)}"
