"""Types of arguments, for annotations: choices as Literals, and callbacks; loaded only when asked for."""

from collections.abc import Callable
from typing import Literal, Protocol


class Path(Protocol):
    """Anything with a file system path."""

    def __fspath__(self) -> str | bytes: ...


Approval = Literal["once", "session", "always", "no"]
"""An approver's answer."""

ApprovalPolicy = Literal["never", "on-request", "untrusted"]
"""When an approver is asked: never, if a rule asks, or for all that no rule allows."""

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

ProfileName = Literal["read-only", "workspace-write", "full-access"]
"""What a sandbox lets commands write."""

Provider = Literal["openai", "anthropic", "mcp"]
"""A form of tool definitions."""

ShellMode = Literal["default", "direct"]
"""Whether a toolkit's command goes through a shell."""

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
