"""Refuses to go on with a command of another process: here its tree and its streams die with that."""

from agent_exec.model.errors import Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from agent_exec.host.ports import Loop, Sink
    from agent_exec.host.windows.process import Process
    from agent_exec.model.command import Command, Launch


class Adopted:
    """What would give the process that was handed to us."""

    gone = True
    current = None
    stdin = -1
    lock = -1

    def __init__(self, fds: "Sequence[int]", facts: "Mapping[str, Any]") -> None:  # noqa: ARG002
        raise not_here()

    def wait_for_word(self, _fd: int) -> bool:
        """Wait for nothing."""
        raise not_here()

    def start(self, _argv: "Sequence[Any]", _cwd: str | bytes, _env: "Mapping[Any, Any]") -> None:
        """Own nothing."""
        raise not_here()

    def prepare(self, _command: "Command") -> "Launch":
        """Return nothing."""
        raise not_here()

    def process(self, _launch: "Launch", _loop: "Loop", _sink: "Sink") -> "Process":
        """Return nothing."""
        raise not_here()

    def abandon(self) -> None:
        """End nothing."""

    def close(self) -> None:
        """Close nothing."""


def not_here() -> Unsupported:
    """Return why, and what to do."""
    return Unsupported(
        "a running command cannot be handed over on this system; run it as a job from the start, "
        "with agent-exec run"
    )
