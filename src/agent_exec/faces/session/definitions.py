"""The contract of the tools of sessions: its numbers, the terms of a server, definitions and instructions."""

from agent_exec.model.command import LONGEST
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.value import Value
from agent_exec.tools.define import (
    boolean,
    choice,
    command_hints,
    define,
    hints,
    integer,
    record,
    string,
    strings,
)

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
RENDERS = ("text", "screen", "raw")

_EXEC = """\
Runs a command in a shell. Answers when it ends, when it waits for input, or after yield_time_ms; \
if it still runs then, the answer has a session ID for write_stdin and the other tools. \
Set tty for programs that talk to a terminal."""

_WRITE = """\
Types into a running session and answers with what it printed since; without chars it only waits for more. \
In a tty, \\u0003 is Ctrl-C and \\u0004 is Ctrl-D; without one, exactly \\u0003 interrupts."""

_READ = "Reads any part of what a session has printed, also after its end; consumes nothing."
_LIST = "Lists the sessions: running ones, and ended ones that can be read."
_KILL = "Ends a session with all processes that it started: politely, then by force."
_RESIZE = "Changes the size of a session's terminal."
_CLOSE = "Ends the input of a session, as Ctrl-D does, so that a program that reads to the end can go on."

_DETACH = """\
Makes a durable job of a running session: it goes on even when this server ends, and takes no more input. \
The answer has a job ID; `agent-exec tail`, `wait` and `kill` with it go on from there."""

_PATCH = """\
Changes files by a patch, all of them or none. The patch goes from `*** Begin Patch` to `*** End Patch`; \
in between: `*** Add File: PATH` and lines that begin with +; `*** Delete File: PATH`; \
`*** Update File: PATH` (then perhaps `*** Move to: PATH`) and for each place `@@`, perhaps with a line \
above it that tells where, and lines that begin with a space (unchanged), - (old) or + (new)."""

_ALL = """\
exec_command runs a shell command and answers when it ends, when it waits for input, or after yield_time_ms; \
what still runs has a session id. write_stdin types into a session started with tty=true, or waits for it if \
chars is empty. read_output reads any part of a session's output again; list_sessions and kill_session see \
to what runs."""


class Terms(Value):
    """The terms on which a server offers the tools.

    `allow_login`: commands run in login shells unless a call says otherwise. `capture_login`: the
    user agrees that a login environment is taken once and used again (see `shelling`).
    `request_rule`: a model may propose a rule. `background_max_ms`: how long an empty write_stdin
    may wait. `max_output_tokens`: how much is shown by default, and `most_output_tokens` at most.
    """

    allow_login: bool = True
    capture_login: bool = False
    request_rule: bool = True
    background_max_ms: int = MOST_POLL_MS
    max_output_tokens: int = MAX_OUTPUT_TOKENS
    most_output_tokens: int | None = None

    def __post_init__(self) -> None:
        for name in ("background_max_ms", "max_output_tokens", "most_output_tokens"):
            count = getattr(self, name)
            if name == "most_output_tokens" and count is None:
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
        define("exec_command", _EXEC, _exec(terms), ("cmd",), _answer(), commands),
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


def _exec(terms: Terms) -> "Schema":
    fields = {
        "cmd": string("The command, as it would be typed into the shell."),
        "workdir": string("Folder to run it in; by default the workspace."),
        "shell": string(
            "Which shell reads it: bash, zsh, sh, pwsh, powershell or cmd; by default the user's."
        ),
        "login": boolean("Let the shell read the user's profile (default true)."),
        "tty": boolean("Give it a terminal and keep its input open (default false: no input)."),
        "yield_time_ms": integer(
            f"How long to wait for it (default {YIELD_MS}; from {LEAST_YIELD_MS} to {MOST_YIELD_MS}).",
            0,
        ),
        "max_output_tokens": _tokens(terms),
        "sandbox_permissions": choice(
            "require_escalated asks the user to run it outside of the sandbox.", PERMISSIONS
        ),
        "justification": string(
            "With sandbox_permissions: one short question to the user that says why it is needed."
        ),
        "prefix_rule": strings(
            "First words of the command that the user may allow for good, such as "
            '["npm", "install"], no wider than needed; in the sandbox, never out of it.'
        ),
        "wait_for": _conditions(),
        "render": _render("text"),
        "timeout_ms": integer("End the command after so long; by default never.", 1, LONGEST_MS),
        "idle_timeout_ms": integer("End the command when it has printed nothing for so long.", 1, LONGEST_MS),
        "separate_streams": boolean("Tell stdout and stderr apart; not with tty (default false)."),
        "rows": _side(f"Rows of the terminal (default {ROWS})."),
        "columns": _side(f"Columns of the terminal (default {COLUMNS})."),
    }
    if not terms.allow_login:
        del fields["login"]
    if not terms.request_rule:
        del fields["prefix_rule"]
    return fields


def _write(terms: Terms) -> "Schema":
    return {
        "session_id": _session(),
        "chars": string("What to type, as it is; a line needs its \\n. Empty to wait only."),
        "yield_time_ms": integer(
            f"How long to wait (default {WRITE_YIELD_MS}; from {LEAST_YIELD_MS} to {MOST_YIELD_MS}, "
            f"without chars from {LEAST_POLL_MS} to {terms.background_max_ms}).",
            0,
        ),
        "max_output_tokens": _tokens(terms),
        "wait_for": _conditions(),
        "render": _render("as the session was started"),
        "keys": boolean("Read names in chars as keys: <C-c> <Up> <Enter> <F5>; <lt> is < (default false)."),
    }


def _read() -> "Schema":
    return {
        "session_id": _session(),
        "from": integer("Offset of the first byte (default 0).", 0),
        "max_bytes": integer(f"How many bytes at most (default {MAX_BYTES}, at most {MOST_BYTES}).", 1),
    }


def _id() -> "Schema":
    return {"session_id": _session()}


def _resize() -> "Schema":
    return {**_id(), "rows": _side("Rows."), "columns": _side("Columns.")}


def _patch() -> "Schema":
    return {"input": string("The whole patch."), "workdir": string("Folder that its paths start from.")}


def _side(description: str) -> "Schema":
    return integer(description, 1, LARGEST_SIDE)


def _session() -> "Schema":
    return integer("The session ID from exec_command.", 0)


def _tokens(terms: Terms) -> "Schema":
    return integer(
        f"How much output to show, in tokens (default {terms.max_output_tokens}); the middle of more is cut.",
        0,
    )


def _conditions() -> "Schema":
    return {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        "description": "Answer earlier, as soon as one of these holds: exit, output (anything new), "
        "idle:MS (quiet for so long), match:REGEX (in the new output), port:N (something listens there, on "
        "this machine or in the network that commands share).",
    }


def _render(default: str) -> "Schema":
    return choice(
        f"text: readable lines; screen: what the terminal shows now; raw: every byte (default: {default}).",
        RENDERS,
    )


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


def confined(sandbox: "Profile | None", *, escalates: bool = False) -> str:
    """Return what commands are kept from."""
    if sandbox is None:
        return "they are not confined."
    if sandbox.name == "full-access":
        return "they are not confined: the sandbox profile is full-access."
    said = [f"they are confined by the sandbox profile {sandbox.name}."]
    if sandbox.name == "workspace-write" and sandbox.roots:
        said.append(f"They may write to {', '.join(sandbox.roots)}, but not to any .git.")
    else:
        said.append("They may write nothing but temporary files.")
    if isinstance(sandbox.net, str):
        said.append(f"The network is {sandbox.net}.")
    else:
        said.append(f"Of the network, they reach only {', '.join(sandbox.net)}.")
    if sandbox.network:
        said.append("A server that one command starts is reached by the next, at 127.0.0.1.")
    elif sandbox.network is not None:
        said.append("Each command has a loopback of its own: start a server and use it in one command.")
    if escalates:
        said.append("Where a tool takes sandbox_permissions, require_escalated asks the user to let it out.")
    return " ".join(said)
