"""Types of arguments, for annotations: choices as Literals, and callbacks; loaded only when asked for."""

from collections.abc import Callable
from typing import Any, Literal, Protocol


class Path(Protocol):
    """Anything with a file system path."""

    def __fspath__(self) -> str | bytes: ...


class Logger(Protocol):
    """Anything that takes finished lines at three levels, such as a logging.Logger."""

    def info(self, message: str, /) -> object:
        """Take a line."""

    def debug(self, message: str, /) -> object:
        """Take a line for developers."""

    def error(self, message: str, /) -> object:
        """Take a line about an error."""


class Sink(Protocol):
    """A file opened for text, in UTF-8."""

    def write(self, text: str, /) -> object:
        """Take some text."""


Answer = dict[str, Any]
"""An answer of jobs or of a toolkit: what would be sent as a JSON object."""

Definition = dict[str, Any]
"""The definition of a tool, for a model."""


Approval = Literal["once", "session", "always", "no"]
"""An approver's answer."""

ApprovalPolicy = Literal["never", "on-request", "untrusted"]
"""When an approver is asked: never, if a rule asks, or for all that no rule allows."""

Arguments = dict[str, Any]
"""The arguments of a tool call."""

Basis = Literal["rule", "guard", "none"]
"""What a verdict rests on: a rule, a guard that no rule overrides, or nothing."""

Cause = Literal["timeout", "stopped", "overflow"]
"""Why agent-exec ended a command."""

GitAccess = Literal["read-only", "commit"]
"""What commands in a sandbox may do to a `.git`."""

JobState = Literal["created", "running", "exited", "killed", "failed"]
"""The state of a job."""

Leftovers = Literal["kill", "leave"]
"""What becomes of the processes that a command leaves behind."""

OnEvent = Callable[[str, int | str | None], object]
"""A callback for events of a run: "spawned", "terminate", "kill"."""

OnLimit = Literal["raise", "queue"]
"""What an executor does with a command beyond its limit."""

Overflow = Literal["cut", "stop"]
"""What happens when a stream outgrows its keeping."""

Permission = Literal["allow", "deny"]
"""What a toolkit's policy says about a tool."""

Phase = Literal["queued", "running", "stopping", "killing", "lingering", "ended"]
"""The phase of a run."""

ProfileName = Literal["read-only", "workspace-write", "full-access"]
"""What a sandbox lets commands write."""

Provider = Literal["openai", "anthropic", "mcp"]
"""A form of tool definitions."""

ShellMode = Literal["default", "direct"]
"""Whether a toolkit's command goes through a shell."""

Status = Literal["success", "error", "timeout"]
"""How a command of an executor ended."""

Stream = Literal["stdout", "stderr"]
"""An output stream."""

OnOutput = Callable[[Stream, bytes], object]
"""A callback for output: the stream and the chunk."""

Unmatched = Literal["run", "ask"]
"""What becomes of a command that no rule matches."""

VerdictKind = Literal["allow", "ask", "deny"]
"""What the rules say to a command."""

Word = str | bytes | Path
"""A program, an argument or a path."""

WriteScope = Literal["read-only", "workspace-write", "unrestricted"]
"""What the tools of a toolkit may write."""
