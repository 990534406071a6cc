"""The definitions of the tools of sessions; their schemas validate the calls."""

from agent_exec.faces.session.terms import (
    COLUMNS,
    LARGEST_SIDE,
    LEAST_POLL_MS,
    LEAST_YIELD_MS,
    LONGEST_MS,
    MAX_BYTES,
    MOST_BYTES,
    MOST_YIELD_MS,
    PERMISSIONS,
    RENDERS,
    ROWS,
    USUAL,
    WRITE_YIELD_MS,
    YIELD_MS,
)
from agent_exec.tools.define import boolean, choice, define, integer, record, string, strings
from agent_exec.tools.hints import command_hints, hints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.faces.session.terms import Terms
    from agent_exec.sandbox.profile import Profile

    Schema = dict[str, Any]

_EXEC = """\
Runs a command in a shell. Answers when it ends, when it waits for input, or after yield_time_ms; \
if it still runs then, the answer has a session ID for write_stdin and the other tools. \
Set tty for programs that talk to a terminal."""

_WRITE = """\
Types into a running session and answers with what it printed since; without chars it only waits for more. \
In a tty, \\u0003 is Ctrl-C and \\u0004 is Ctrl-D; without one, exactly \\u0003 interrupts."""

_DETACH = """\
Makes a durable job of a running session: it goes on even when this server ends, and takes no more input. \
The answer has a job ID; `agent-exec tail`, `wait` and `kill` with it go on from there."""

_PATCH = """\
Changes files by a patch, all of them or none. The patch goes from `*** Begin Patch` to `*** End Patch`; \
in between: `*** Add File: PATH` and lines that begin with +; `*** Delete File: PATH`; \
`*** Update File: PATH` (then perhaps `*** Move to: PATH`) and for each place `@@`, perhaps with a line \
above it that tells where, and lines that begin with a space (unchanged), - (old) or + (new)."""


def definitions(
    terms: "Terms" = USUAL, *, sandbox: "Profile | None" = None, detaches: bool = False
) -> "dict[str, Schema]":
    """Return each tool by name: `name`, `description`, `annotations`, and `parameters` and `output_schema`.

    Fields that the terms do not allow are left out. `sandbox` confines every
    command, and `detaches` says that there is a place for jobs. The objects
    are the caller's own.
    """
    tools = [
        define("exec_command", _EXEC, _exec(terms), ("cmd",), _answer(), command_hints(sandbox)),
        define("write_stdin", _WRITE, _write(terms), ("session_id",), _answer(), command_hints(sandbox)),
        define(
            "read_output",
            "Reads any part of what a session has printed, also after its end; consumes nothing.",
            {
                "session_id": _session(),
                "from": integer("Offset of the first byte (default 0).", 0),
                "max_bytes": integer(
                    f"How many bytes at most (default {MAX_BYTES}, at most {MOST_BYTES}).", 1
                ),
            },
            ("session_id",),
            _transcript(),
            hints(reads=True, repeats=True),
        ),
        define(
            "list_sessions",
            "Lists the sessions: running ones, and ended ones that can be read.",
            {},
            (),
            _list(),
            hints(reads=True, repeats=True),
        ),
        define(
            "kill_session",
            "Ends a session with all processes that it started: politely, then by force.",
            {"session_id": _session()},
            ("session_id",),
            _answer(),
            hints(destroys=True, repeats=True),
        ),
        define(
            "resize",
            "Changes the size of a session's terminal.",
            {"session_id": _session(), "rows": _side("Rows."), "columns": _side("Columns.")},
            ("session_id", "rows", "columns"),
            _done(),
            hints(repeats=True),
        ),
        define(
            "close_stdin",
            "Ends the input of a session, as Ctrl-D does, so that a program that reads to the end can go on.",
            {"session_id": _session()},
            ("session_id",),
            _done(),
            hints(destroys=True),
        ),
        define(
            "apply_patch",
            _PATCH,
            {"input": string("The whole patch."), "workdir": string("Folder that its paths start from.")},
            ("input",),
            _patched(),
            hints(destroys=True),
        ),
    ]
    if detaches:
        tools.append(define("detach", _DETACH, {"session_id": _session()}, ("session_id",), _job(), hints()))
    return {tool["name"]: tool for tool in tools}


def _exec(terms: "Terms") -> "Schema":
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


def _write(terms: "Terms") -> "Schema":
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


def _side(description: str) -> "Schema":
    return integer(description, 1, LARGEST_SIDE)


def _session() -> "Schema":
    return integer("The session ID from exec_command.", 0)


def _tokens(terms: "Terms") -> "Schema":
    return integer(
        f"How much output to show, in tokens (default {terms.max_output_tokens}); the middle of more is cut.",
        0,
    )


def _conditions() -> "Schema":
    return {
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
        "description": "Answer earlier, as soon as one of these holds: exit, output (anything new), "
        "idle:MS (quiet for so long), match:REGEX (in the new output), port:N (something listens there, on "
        "this machine: in a sandbox with a network of its own it is not seen).",
    }


def _render(default: str) -> "Schema":
    return choice(
        f"text: readable lines; screen: what the terminal shows now; raw: every byte (default: {default}).",
        RENDERS,
    )


def _answer() -> "Schema":
    missing = {
        "session_id": _session(),
        "from": integer("Offset of the first byte.", 0),
        "to": integer("Offset behind the last byte.", 0),
        "exact": boolean("False: only some of it is missing, and where cannot be told (default true)."),
    }
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
        "streams": record({"stdout": {"type": "string"}, "stderr": {"type": "string"}}, ("stdout", "stderr")),
        "cursor": integer("Offset behind the last byte that was looked at; read_output goes on from there."),
    }
    return record(fields, ("wall_time_seconds", "output"))


def _dropped() -> "Schema":
    ends = {
        "from": integer("Offset of the first byte.", 0),
        "to": integer("Offset behind the last byte.", 0),
    }
    return {
        "output_complete": boolean("False: some of it was not kept, and cannot be read any more."),
        "dropped": {
            "type": "array",
            "items": record(ends, ("from", "to")),
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
    return record({"session_id": _session()}, ("session_id",))


def _job() -> "Schema":
    fields = {
        "session_id": _session(),
        "job_id": string("The job, for agent-exec tail, wait and kill."),
        "root": string("The folder of jobs."),
    }
    return record(fields, ("session_id", "job_id"))


def _patched() -> "Schema":
    paths = {"type": "array", "items": {"type": "string"}}
    fields = {
        "added": paths,
        "modified": paths,
        "deleted": paths,
        "output": string("The same as text."),
    }
    return record({name: dict(value) for name, value in fields.items()}, ("output",))
