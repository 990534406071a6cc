"""What a model reads when a tool did not do what was asked; the texts are the contract's own."""

from agent_exec.model.errors import AgentExecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 2000
"""How much of a command is repeated."""

_TEXTS = {
    "misread": "failed to parse function arguments: {problem}",
    "unknown_session": "{tool} failed: Unknown process id {session_id}",
    "no_terminal": "{tool} failed: this session has no terminal; rerun exec_command with tty=true",
    "stdin_closed": "{tool} failed: stdin is closed for this session; "
    "rerun exec_command with tty=true to keep stdin open",
    "write_failed": "{tool} failed: failed to write to stdin",
    "process_failed": "{tool} failed: Unified exec process failed: {problem}",
    "detached": "{tool} failed: session {session_id} is job {job_id} now, which has no input any more; "
    "use `agent-exec tail {job_id}`, `agent-exec wait {job_id}` or `agent-exec kill {job_id}`",
    "no_jobs": "detach failed: this server has no folder of jobs; open its tools with jobs=FOLDER, "
    "or start the command with `agent-exec run` instead",
    "taken": "another call waits for session {session_id}; nothing was typed: try again when that is over",
    "keyboard_taken": "{tool} failed: a person ({name}) has the keyboard of session {session_id}; "
    "nothing was typed: look with an empty write_stdin or read_output, and try again when it is given back",
    "escalation_refused": "approval policy is {policy}; reject command — "
    "you cannot ask for escalated permissions if the approval policy is {policy}",
    "login_refused": "login shell is disabled by config; omit `login` or set it to false.",
    "aborted_exec": "Wall time: {seconds:.1f} seconds\naborted by user",
    "aborted_write": "aborted by user after {seconds:.1f}s",
    "exec_failed": "exec_command failed for `{line}`: {problem}",
    "spawn_failed": "exec_command failed for `{line}`: Failed to create unified exec process: {problem}",
}


class ToolFailure(AgentExecError):
    """A tool did not do what was asked; the message is, word for word, what the model sees.

    `kind` is the key of its text; empty if it has a text of its own.
    """

    code = "tool_failed"
    kind = ""


def failure(kind: str, **details: object) -> ToolFailure:
    """Return a failure of the contract; its details fill its text."""
    made = ToolFailure(_TEXTS[kind].format_map(details), **details)
    made.kind = kind
    return made


def not_run(kind: str, argv: "Sequence[str]", problem: str) -> ToolFailure:
    """Return why a command was not run; of a long one, only its ends are repeated."""
    import shlex

    line = shlex.join(argv)
    if len(line) > _LONGEST:
        half = _LONGEST // 2
        line = f"{line[:half]} … {len(line) - 2 * half} characters … {line[-half:]}"
    return failure(kind, line=line, problem=problem)
