"""What a model is told when a tool did not do what was asked; the texts are the contract's own."""

from agent_exec.model.errors import AgentExecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 2000
"""How much of a command its author is shown again."""

NETWORK_DENIED = "Network access was denied by the sandbox network proxy."


class ToolFailure(AgentExecError):
    """A tool did not do what was asked; the message is, word for word, what the model sees."""

    code = "tool_failed"


def misread(problem: str, **details: object) -> ToolFailure:
    """Return what is wrong with the arguments of a call."""
    return ToolFailure(f"failed to parse function arguments: {problem}", **details)


def unknown_session(session_id: int, tool: str = "write_stdin") -> ToolFailure:
    """Say that there is no session of this id, and that none is remembered."""
    return ToolFailure(f"{tool} failed: Unknown process id {session_id}", session_id=session_id)


def stdin_closed(tool: str = "write_stdin") -> ToolFailure:
    """Say that a session takes no input."""
    return ToolFailure(
        f"{tool} failed: stdin is closed for this session; "
        "rerun exec_command with tty=true to keep stdin open"
    )


def write_failed(tool: str = "write_stdin") -> ToolFailure:
    """Say that nobody reads the input any more."""
    return ToolFailure(f"{tool} failed: failed to write to stdin")


def process_failed(message: str, tool: str = "write_stdin") -> ToolFailure:
    """Say that the session broke while it was used."""
    return ToolFailure(f"{tool} failed: Unified exec process failed: {message}")


def network_denied(tool: str = "write_stdin") -> ToolFailure:
    """Say that the session was ended because of what it wanted from the network."""
    return process_failed(NETWORK_DENIED, tool)


def detached(session_id: int, job_id: str, tool: str) -> ToolFailure:
    """Say that a session is a job now, and how to go on with that."""
    return ToolFailure(
        f"{tool} failed: session {session_id} is job {job_id} now, which has no input any more; "
        f"use `agent-exec tail {job_id}`, `agent-exec wait {job_id}` or `agent-exec kill {job_id}`",
        session_id=session_id,
        job_id=job_id,
    )


def no_jobs() -> ToolFailure:
    """Say that there is no place for jobs."""
    return ToolFailure(
        "detach failed: this server has no folder of jobs; open its tools with jobs=FOLDER, "
        "or start the command with `agent-exec run` instead"
    )


def taken(session_id: int) -> ToolFailure:
    """Say that others talk to a session."""
    return ToolFailure(
        f"another call waits for session {session_id}; nothing was typed: try again when that is over",
        session_id=session_id,
    )


def exec_failed(argv: "Sequence[str]", problem: str) -> ToolFailure:
    """Return why a command was not run; of a long one, only its ends are repeated."""
    import shlex

    line = shlex.join(argv)
    if len(line) > _LONGEST:
        half = _LONGEST // 2
        line = f"{line[:half]} … {len(line) - 2 * half} characters … {line[-half:]}"
    return ToolFailure(f"exec_command failed for `{line}`: {problem}")


def spawn_failed(argv: "Sequence[str]", message: str) -> ToolFailure:
    """Return why a command could not be started."""
    return exec_failed(argv, f"Failed to create unified exec process: {message}")


def missing_command_line() -> ToolFailure:
    """Say that there is nothing to run."""
    return ToolFailure("missing command line for unified exec request")


def foreign_path(path: str, system: str) -> ToolFailure:
    """Say that a path means nothing on this system."""
    return ToolFailure(f"{path} is not valid on {system}")


def escalation_refused(approval_policy: str) -> ToolFailure:
    """Say that nobody may be asked to run a command without the sandbox."""
    return ToolFailure(
        f"approval policy is {approval_policy}; reject command — "
        f"you cannot ask for escalated permissions if the approval policy is {approval_policy}"
    )


def login_refused() -> ToolFailure:
    """Say that login shells are not to be used here."""
    return ToolFailure("login shell is disabled by config; omit `login` or set it to false.")


def aborted_exec(seconds: float) -> ToolFailure:
    """Say that the user did not wait for exec_command to answer."""
    return ToolFailure(f"Wall time: {seconds:.1f} seconds\naborted by user")


def aborted_write(seconds: float) -> ToolFailure:
    """Say that the user did not wait for write_stdin to answer."""
    return ToolFailure(f"aborted by user after {seconds:.1f}s")
