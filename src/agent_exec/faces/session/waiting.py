"""What a call waits for: its turn, and its conditions."""

from time import monotonic

from agent_exec.faces.session.failures import aborted_exec, aborted_write, taken
from agent_exec.sessions.wanted import NOTHING, Wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.session.arguments import Condition
    from agent_exec.model.cancel import Cancel
    from agent_exec.sessions.session import Session


def wanted(conditions: "tuple[Condition, ...]") -> Wanted:
    """Return the conditions as the session takes them; any of them ends the wait."""
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
    cancelled: "Cancel | None",
    longest: float | None = None,
    *,
    first: bool = False,
) -> None:
    """Wait until no other call types and waits; the caller calls `give_turn` at last.

    Raise if `cancelled` is set first, or if that takes longer than `longest`.
    """
    if not session.take_turn(longest, cancelled):
        waited = monotonic() - began
        if cancelled is None or not cancelled.is_set():
            raise taken(session.number)
        raise aborted_exec(waited) if first else aborted_write(waited)
