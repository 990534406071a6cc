"""exec_command: one command, run once to its end, and what it printed."""

from time import time_ns

from agent_exec.engine.engine import run_command
from agent_exec.faces.oneshot.cut import bytes_for, cut
from agent_exec.faces.oneshot.definitions import BOUNDS, MAX_OUTPUT_CHARS, TIMEOUT_MS, TOOL_DEFINITIONS
from agent_exec.faces.oneshot.secure import ToolError, secure_tool
from agent_exec.model.command import Command
from agent_exec.model.errors import CommandNotExecutable, CommandNotFound, InvalidArgument
from agent_exec.model.limits import Limits
from agent_exec.model.output import Head
from agent_exec.requests.shells import resolve_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from agent_exec.faces.oneshot.secure import Arguments, Context
    from agent_exec.model.outcome import Outcome
    from agent_exec.sandbox.plan.ours import Ours
    from agent_exec.sandbox.profile import Profile

GRACE = 0.5
TIMED_OUT = 124
_DEFINITION = TOOL_DEFINITIONS["exec_command"]
_DEFAULTS = {
    name: field["default"]
    for name, field in _DEFINITION["parameters"]["properties"].items()
    if "default" in field
}


def execute(
    command: "Sequence[str]",
    cwd: str,
    *,
    argv: "Sequence[str] | None" = None,
    env: "Mapping[str, str] | None" = None,
    stdin: bytes | None = None,
    timeout_ms: int = TIMEOUT_MS,
    max_output_chars: int = MAX_OUTPUT_CHARS,
    sandbox: "Profile | None" = None,
    ours: "Ours | None" = None,
    run: "Callable[..., Outcome] | None" = None,
) -> "dict[str, Any]":
    """Run a command, by an `argv` of its own if it has one, and return the nine fields of the contract.

    What other tools are built on. The environment is ours unless it is
    given. Nothing of the command is left when this returns or raises. In a
    sandbox, `ours` are files that it may not change and folders that it may
    not see, by default this program's own, and there is a tenth field,
    `sandbox`, with what it was kept from. `run` is who runs it, if not the
    caller's own thread.
    """
    asked = Command(
        command if argv is None else argv,
        cwd=cwd,
        env=env,
        stdin=stdin,
        limits=Limits(timeout_ms / 1000, GRACE),
        keep=Head(bytes_for(max_output_chars)),
    )
    began = time_ns() // 1_000_000
    told = {}
    if sandbox is None:
        outcome = (run or run_command)(asked)
    else:
        from agent_exec.faces.sandbox import run_confined
        from agent_exec.sandbox.plan.ours import ours as usual

        outcome, block = run_confined(asked, sandbox, cwd=cwd, ours=ours or usual(), run=run)
        told = {"sandbox": block}
    ended = time_ns() // 1_000_000
    stdout, stdout_truncated = cut(outcome.stdout, outcome.stdout_observed, max_output_chars)
    stderr, stderr_truncated = cut(outcome.stderr, outcome.stderr_observed, max_output_chars)
    timed_out = outcome.timed_out
    return {
        "cwd": cwd,
        "command": list(command),
        "exit_code": TIMED_OUT if timed_out else outcome.exit_code,
        "stdout": stdout,
        "stderr": stderr,
        "stdout_truncated": stdout_truncated,
        "stderr_truncated": stderr_truncated,
        "timed_out": timed_out,
        "duration_ms": max(0, ended - began),  # the clock may have been set back
        **told,
    }


def _check(asked: "Arguments") -> "Arguments":
    """Return the arguments, complete; stdin in bytes."""
    if not asked["command"][0]:
        raise InvalidArgument("command[0] must name a program; got an empty string", argument="command[0]")
    stdin = asked.get("stdin")
    try:
        asked["stdin"] = None if stdin is None else stdin.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(
            f"stdin must be text that UTF-8 can hold; character {error.start} is half of a surrogate pair",
            argument="stdin",
        ) from None
    return _DEFAULTS | asked


def _act(context: "Context", asked: "Arguments") -> "dict[str, Any]":
    argv = resolve_command(asked["command"], asked["shell_mode"], context.shell)
    try:
        return execute(
            asked["command"],
            asked["cwd"],
            argv=argv,
            stdin=asked["stdin"],
            timeout_ms=min(asked["timeout_ms"], context.longest_ms),
            max_output_chars=asked["max_output_chars"],
            sandbox=context.sandbox,
            ours=context.ours,
            run=context.run,
        )
    except (CommandNotFound, CommandNotExecutable) as error:
        if asked["shell_mode"] == "direct":
            raise
        # Not the caller's command, which the shell would have looked for, but the shell itself.
        raise ToolError(
            "INTERNAL",
            f'the shell of shell_mode "default" cannot be started: {error.message}. '
            'Install it, or use shell_mode "direct"',
            **error.details,
        ) from error


def _may_write(context: "Context") -> bool:
    """Return True if a command may write: the kernel does not prevent it."""
    confined = context.sandbox is not None and context.sandbox.name == "read-only"
    return not (confined or context.exec_in_read_only)


EXEC_COMMAND = secure_tool(
    _DEFINITION,
    _act,
    path="cwd",
    writes=_may_write,
    check=_check,
    words=lambda asked: asked["command"],
    bounds=BOUNDS,
)
