"""Waiting for a session, as long as the caller does: for its turn, and for what it wants to hear of."""

from time import monotonic

from agent_exec.faces.session.failures import aborted_exec, aborted_write, taken
from agent_exec.sessions.wanted import NOTHING, Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from agent_exec.faces.session.arguments import Condition
    from agent_exec.sessions.session import Ending, Session

    class Cancelled(Protocol):
        """Whether the caller has lost interest; one who wants to hear how it goes on has a method `watch`."""

        def is_set(self) -> bool:
            """Tell whether it has."""


_SLICE = 0.25
"""How often it is asked whether the caller is still there."""


def wanted(conditions: "tuple[Condition, ...]") -> Wanted:
    """Give what is waited for; each condition counts, and any of them ends the wait."""
    if not conditions:
        return NOTHING
    kinds = {condition.kind for condition in conditions}
    return Wanted(
        only_exit=kinds == {"exit"},
        output="output" in kinds,
        idle=min((one.seconds for one in conditions if one.seconds is not None), default=None),
        ports=tuple(one.port for one in conditions if one.port is not None),
    )


def take_turn(
    session: "Session",
    began: float,
    cancelled: "Cancelled | None",
    longest: float | None = None,
    *,
    first: bool = False,
) -> None:
    """Wait until no other call types and waits; the caller gives the turn back.

    Raise if it has gone, or if that takes longer than `longest`.
    """
    if cancelled is None:
        session.turn.acquire()
        return
    while not session.turn.acquire(timeout=_SLICE):
        if longest is not None and monotonic() - began > longest:
            raise taken(session.number)
        if cancelled.is_set():
            waited = monotonic() - began
            raise aborted_exec(waited) if first else aborted_write(waited)


def wait(session: "Session", deadline: float, wanted: Wanted, cancelled: "Cancelled | None") -> "Ending":
    """Wait until there is something to say, until a moment, or until the caller has gone."""
    while True:
        left = max(0.0, deadline - monotonic())
        ending = session.wait(left if cancelled is None else min(left, _SLICE), wanted)
        if ending.cause != "deadline" or left <= _SLICE or cancelled is None or cancelled.is_set():
            return ending
