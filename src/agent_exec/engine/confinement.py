"""What the engine expects of a sandbox, which it knows neither by profiles nor by plans.

Types only: nothing here exists while a program runs.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from agent_exec.engine.loop import Loop
from agent_exec.host import Spawner
from agent_exec.model.command import Command, Launch, Outcome

Plan = TypeVar("Plan")
_Made_co = TypeVar("_Made_co", covariant=True)


class Change(Protocol):
    """What became of a protected path."""

    def to_json(self) -> dict[str, str]:
        """Return its fields by name."""


class Watch(Protocol):
    """The watch over one confined command."""

    def confine(self, command: Command, launch: Launch) -> tuple[Command, Launch]:
        """Return the command within its bounds, and its launch in a box."""

    def watch(self, loop: Loop, exposed: Callable[[str], object]) -> None:
        """Watch from now on; call `exposed` with the reason when the box no longer holds."""

    def end(self) -> None:
        """Watch no longer, since the command has ended."""

    def look(self) -> Sequence[Change]:
        """Return what became of protected paths until now."""

    def report(self, outcome: Outcome | None) -> Outcome | None:
        """Return an outcome with what became of protected paths."""

    def to_fields(self) -> dict[str, Any]:
        """Return the watch in a form that another process can take over."""


class Confinement(Protocol):
    """A profile, a plan, or a watch that was begun: what a command can be confined by."""

    def guarded(self, spawner: Spawner, /) -> Watch:
        """Return a watch over one command, with its box planned."""


class Warmable(Protocol[_Made_co]):
    """A profile or a plan: what boxes can wait for."""

    def warmed(self, spawner: Spawner, boxes: int) -> _Made_co:
        """Return the plan for which so many boxes wait."""
