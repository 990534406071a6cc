"""What a model is told about the tools of a session."""

from agent_exec.faces.hints import hints
from agent_exec.faces.session.arguments import (
    COLUMNS,
    LARGEST_SIDE,
    LEAST_POLL_MS,
    LEAST_YIELD_MS,
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.faces.session.arguments import Terms

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
    terms: "Terms" = USUAL, *, reads_only: bool = False, open_world: bool = True, detaches: bool = False
) -> "dict[str, Schema]":
    """Give each tool by name: `name`, `description`, `annotations`, and `parameters` and `output_schema`.

    What the terms do not allow is not mentioned. `reads_only` says that no
    command can change anything, `open_world` that some may reach a network,
    `detaches` that there is a place for jobs.
    The objects are the caller's own.
    """
    acts = hints(reads=reads_only, destroys=not reads_only, opens=open_world)
    tools = [
        _tool("exec_command", _EXEC, _exec(terms), ("cmd",), _answer(), acts),
        _tool("write_stdin", _WRITE, _write(terms), ("session_id",), _answer(), dict(acts)),
        _tool(
            "read_output",
            "Reads any part of what a session has printed, also after its end; consumes nothing.",
            {
                "session_id": _session(),
                "from": _integer("Offset of the first byte (default 0).", 0),
                "max_bytes": _integer(
                    f"How many bytes at most (default {MAX_BYTES}, at most {MOST_BYTES}).", 1
                ),
            },
            ("session_id",),
            _transcript(),
            hints(reads=True, repeats=True),
        ),
        _tool(
            "list_sessions",
            "Lists the sessions: running ones, and ended ones that can be read.",
            {},
            (),
            _list(),
            hints(reads=True, repeats=True),
        ),
        _tool(
            "kill_session",
            "Ends a session with all processes that it started: politely, then by force.",
            {"session_id": _session()},
            ("session_id",),
            _answer(),
            hints(destroys=True, repeats=True),
        ),
        _tool(
            "resize",
            "Changes the size of a session's terminal.",
            {"session_id": _session(), "rows": _side("Rows."), "columns": _side("Columns.")},
            ("session_id", "rows", "columns"),
            _done(),
            hints(repeats=True),
        ),
        _tool(
            "close_stdin",
            "Ends the input of a session, as Ctrl-D does, so that a program that reads to the end can go on.",
            {"session_id": _session()},
            ("session_id",),
            _done(),
            hints(destroys=True),
        ),
        _tool(
            "apply_patch",
            _PATCH,
            {"input": _string("The whole patch."), "workdir": _string("Folder that its paths start from.")},
            ("input",),
            _patched(),
            hints(destroys=True),
        ),
    ]
    if detaches:
        tools.append(_tool("detach", _DETACH, {"session_id": _session()}, ("session_id",), _job(), hints()))
    return {tool["name"]: tool for tool in tools}


def _exec(terms: "Terms") -> "Schema":
    fields = {
        "cmd": _string("The command, as it would be typed into the shell."),
        "workdir": _string("Folder to run it in; by default the workspace."),
        "shell": _string(
            "Which shell reads it: bash, zsh, sh, pwsh, powershell or cmd; by default the user's."
        ),
        "login": _boolean("Let the shell read the user's profile (default true)."),
        "tty": _boolean("Give it a terminal and keep its input open (default false: no input)."),
        "yield_time_ms": _integer(
            f"How long to wait for it (default {YIELD_MS}; from {LEAST_YIELD_MS} to {MOST_YIELD_MS})."
        ),
        "max_output_tokens": _tokens(terms),
        "sandbox_permissions": {
            "type": "string",
            "enum": list(PERMISSIONS),
            "description": "require_escalated asks the user to run it outside of the sandbox.",
        },
        "justification": _string(
            "With sandbox_permissions: one short question to the user that says why it is needed."
        ),
        "prefix_rule": {
            "type": "array",
            "items": {"type": "string"},
            "description": "First words of the command that the user may allow for good, such as "
            '["npm", "install"], no wider than needed; in the sandbox, never out of it.',
        },
        "wait_for": _conditions(),
        "render": _render("text"),
        "timeout_ms": _integer("End the command after so long; by default never.", 1),
        "idle_timeout_ms": _integer("End the command when it has printed nothing for so long.", 1),
        "separate_streams": _boolean("Tell stdout and stderr apart; not with tty (default false)."),
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
        "chars": _string("What to type, as it is; a line needs its \\n. Empty to wait only."),
        "yield_time_ms": _integer(
            f"How long to wait (default {WRITE_YIELD_MS}; from {LEAST_YIELD_MS} to {MOST_YIELD_MS}, "
            f"without chars from {LEAST_POLL_MS} to {terms.background_max_ms})."
        ),
        "max_output_tokens": _tokens(terms),
        "wait_for": _conditions(),
        "render": _render("as the session was started"),
        "keys": _boolean("Read names in chars as keys: <C-c> <Up> <Enter> <F5>; <lt> is < (default false)."),
    }


def _tool(
    name: str,
    description: str,
    fields: "Schema",
    required: tuple[str, ...],
    output: "Schema",
    annotations: "Schema",
) -> "Schema":
    return {
        "name": name,
        "description": description,
        "parameters": {
            "type": "object",
            "properties": fields,
            "required": list(required),
            "additionalProperties": False,
        },
        "output_schema": output,
        "annotations": annotations,
    }


def _string(description: str) -> "Schema":
    return {"type": "string", "description": description}


def _boolean(description: str) -> "Schema":
    return {"type": "boolean", "description": description}


def _integer(description: str, least: int | None = None) -> "Schema":
    schema: Schema = {"type": "integer", "description": description}
    return schema if least is None else schema | {"minimum": least}


def _side(description: str) -> "Schema":
    return _integer(description, 1) | {"maximum": LARGEST_SIDE}


def _session() -> "Schema":
    return _integer("The session ID from exec_command.")


def _tokens(terms: "Terms") -> "Schema":
    return _integer(
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
    return {
        "type": "string",
        "enum": list(RENDERS),
        "description": "text: readable lines; screen: what the terminal shows now; raw: every byte "
        f"(default: {default}).",
    }


def _object(fields: "Schema", required: tuple[str, ...]) -> "Schema":
    return {"type": "object", "properties": fields, "required": list(required)}


def _answer() -> "Schema":
    missing = {
        "session_id": _session(),
        "from": _integer("Offset of the first byte.", 0),
        "to": _integer("Offset behind the last byte.", 0),
        "exact": _boolean("False: only some of it is missing, and where cannot be told (default true)."),
    }
    fields: Schema = {
        "chunk_id": _string("Names this answer."),
        "wall_time_seconds": {"type": "number", "description": "How long this call has waited."},
        "exit_code": _integer("If it has ended; 128 + n if signal n ended it."),
        "session_id": _integer("If it still runs."),
        "original_token_count": _integer("About how many tokens were printed."),
        "output": _string("What was printed, perhaps cut."),
        "awaiting_input": _boolean("It waits for input."),
        "evidence": {"type": "string", "enum": ["exact", "likely"], "description": "How sure that is."},
        "echo": _boolean("Whether the terminal shows what is typed; false when a secret is asked for."),
        "signal": _string("The signal that ended it."),
        "timed_out": _boolean("It was ended because its time was over."),
        "omitted": {
            "type": "array",
            "items": _object(missing, ("from", "to")),
            "description": "Ranges of the transcript that are not in output; read_output can give them.",
        },
        **_dropped(),
        "notes": {"type": "array", "items": {"type": "string"}, "description": "What else to know."},
        "streams": _object(
            {"stdout": {"type": "string"}, "stderr": {"type": "string"}}, ("stdout", "stderr")
        ),
        "cursor": _integer("Offset behind the last byte that was looked at; read_output goes on from there."),
    }
    return _object(fields, ("wall_time_seconds", "output"))


def _dropped() -> "Schema":
    ends = {
        "from": _integer("Offset of the first byte.", 0),
        "to": _integer("Offset behind the last byte.", 0),
    }
    return {
        "output_complete": _boolean("False: some of it was not kept, and cannot be read any more."),
        "dropped": {
            "type": "array",
            "items": _object(ends, ("from", "to")),
            "description": "Ranges that were not kept.",
        },
    }


def _transcript() -> "Schema":
    fields = {
        "session_id": _session(),
        "output": _string("The bytes as text."),
        "from": _integer("Offset of its first byte."),
        "to": _integer("Offset behind its last byte; go on from there."),
        "size": _integer("How many bytes were printed until now."),
        **_dropped(),
    }
    return _object(fields, ("output", "from", "to", "size"))


def _list() -> "Schema":
    entry = {
        "session_id": _session(),
        "cmd": _string("Its command."),
        "workdir": _string("Its folder."),
        "tty": _boolean("Whether it has a terminal."),
        "running": _boolean("Whether it still runs."),
        "exit_code": _integer("If it has ended."),
        "job_id": _string("If it is a job now."),
        "awaiting_input": _boolean("It waits for input."),
        "age_seconds": {"type": "number", "description": "Since it was started."},
    }
    sessions = {"type": "array", "items": _object(entry, ("session_id", "cmd", "running"))}
    return _object({"sessions": sessions}, ("sessions",))


def _done() -> "Schema":
    return _object({"session_id": _session()}, ("session_id",))


def _job() -> "Schema":
    fields = {
        "session_id": _session(),
        "job_id": _string("The job, for agent-exec tail, wait and kill."),
        "root": _string("The folder of jobs."),
    }
    return _object(fields, ("session_id", "job_id"))


def _patched() -> "Schema":
    paths = {"type": "array", "items": {"type": "string"}}
    fields = {
        "added": paths,
        "modified": paths,
        "deleted": paths,
        "output": _string("The same as text."),
    }
    return _object({name: dict(value) for name, value in fields.items()}, ("output",))
