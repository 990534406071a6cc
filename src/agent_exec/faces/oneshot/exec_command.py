"""exec_command: one command, run once to its end, and what it printed."""

from time import time_ns

from agent_exec.faces.oneshot.definitions import BOUNDS, MAX_OUTPUT_CHARS, TIMEOUT_MS, TOOL_DEFINITIONS
from agent_exec.faces.oneshot.secure import ToolError, secure_tool
from agent_exec.model.command import Command, Limits
from agent_exec.model.errors import CommandNotExecutable, CommandNotFound, InvalidArgument
from agent_exec.model.output import Head
from agent_exec.requests.shells import resolve_command
from agent_exec.tools.define import reads_only
from agent_exec.tools.tool import tally
from agent_exec.views.reader import mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from agent_exec.faces.oneshot.secure import Arguments, Context

GRACE = 0.5
TIMED_OUT = 124
WIDEST = 4
"""How many bytes a character takes at most."""
_DEFINITION = TOOL_DEFINITIONS["exec_command"]
_DEFAULTS = {
    name: field["default"]
    for name, field in _DEFINITION["parameters"]["properties"].items()
    if "default" in field
}


def execute(
    context: "Context",
    command: "Sequence[str]",
    cwd: str,
    *,
    argv: "Sequence[str] | None" = None,
    env: "Mapping[str, str] | None" = None,
    stdin: bytes | None = None,
    timeout_ms: int = TIMEOUT_MS,
    max_output_chars: int = MAX_OUTPUT_CHARS,
) -> "dict[str, Any]":
    """Run a command, by an `argv` of its own if it has one, and return the nine fields of the contract.

    The environment is ours unless it is given. Nothing of the command is left
    when this returns or raises. In a sandbox there is a tenth field,
    `sandbox`: what the command was kept from. `notes` are there if there are
    any: a failure that the exit code hides, how many processes were ended.
    """
    reporting = _reporting(command) if env is None and "bash" in command[0] else None
    asked = Command(
        command if argv is None else argv,
        cwd=cwd,
        env=reporting or env,
        stdin=stdin,
        limits=Limits(timeout_ms / 1000, GRACE),
        keep=Head(WIDEST * max_output_chars),
    )
    began = time_ns() // 1_000_000
    outcome, guard = context.dispatcher.run(asked, context.cancelled)
    ended = time_ns() // 1_000_000
    errors, observed, notes = outcome.stderr, outcome.stderr_observed, []
    if reporting is not None:
        from agent_exec.requests.shells import Pipeline

        report = Pipeline()
        errors = report.strip(errors) + report.rest()
        observed -= len(outcome.stderr) - len(errors)
        notes = report.notes(outcome.exit_code)
    printed, errors = (mask(data, context.secrets) for data in (outcome.stdout, errors))
    stdout, stdout_truncated = cut(printed, outcome.stdout_observed, max_output_chars)
    stderr, stderr_truncated = cut(errors, observed, max_output_chars)
    timed_out = outcome.timed_out
    told: dict[str, Any] = {
        "cwd": cwd,
        "command": list(command),
        "exit_code": TIMED_OUT if timed_out else outcome.exit_code,
        "stdout": stdout,
        "stderr": stderr,
        "stdout_truncated": stdout_truncated,
        "stderr_truncated": stderr_truncated,
        "timed_out": timed_out,
        "duration_ms": max(0, ended - began),  # the clock may have been set back
    }
    if notes := [*notes, *filter(None, [tally(*outcome.tally)])]:
        told["notes"] = notes
    if guard is not None:
        from agent_exec.sandbox.report.report import block

        told["sandbox"] = block(guard.plan, outcome, cwd)
    return told


def _reporting(command: "Sequence[str]") -> "Mapping[bytes, bytes] | None":
    """Return our environment with what has bash report a failure that its exit code hides, or None."""
    from agent_exec.host import own_environment
    from agent_exec.requests.shells import asked_for, shell_line

    environ = own_environment()
    more = asked_for("bash", shell_line(command), environ)
    return {**environ, **more} if more else None


def cut(kept: bytes, observed: int, characters: int) -> tuple[str, bool]:
    """Return the first characters of a stream, and True if there were more.

    A character is a code point; invalid UTF-8 becomes U+FFFD. Of the stream,
    WIDEST bytes for each character were kept: if they were cut, perhaps
    within a character, then all that were asked for lie before the cut.
    """
    text = kept.decode("utf-8", "replace")
    return text[:characters], len(text) > characters or observed > len(kept)


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
            context,
            asked["command"],
            asked["cwd"],
            argv=argv,
            stdin=asked["stdin"],
            timeout_ms=min(asked["timeout_ms"], context.longest_ms),
            max_output_chars=asked["max_output_chars"],
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
    """True if a command may write: the kernel does not prevent it."""
    return not (reads_only(context.sandbox) or context.exec_in_read_only)


EXEC_COMMAND = secure_tool(
    _DEFINITION,
    _act,
    path="cwd",
    writes=_may_write,
    check=_check,
    words=lambda asked: asked["command"],
    bounds=BOUNDS,
)
