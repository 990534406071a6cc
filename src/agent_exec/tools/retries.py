"""Calls that were cut off: a client that tries again gets the work that runs, never a second one."""

from _thread import allocate_lock
from time import monotonic

from agent_exec.model.jsonline import dump
from agent_exec.tools.tool import shows_progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.model.cancel import Cancel

PATIENCE = 4.0
"""Seconds that a call may be silent by default: clients are known to give up after five."""
REMEMBERED = 600.0
"""Seconds for which the work of a cut-off call is found by the same call."""
_MOST = 256


class Retries:
    """What calls have started and did not report, by tool and arguments; any thread may use it.

    A call is cut off if its client has cancelled it. It counts as cut off too if it has been silent
    for longer than `PATIENCE`, since not every client says that it gave up; one that shows progress
    is not silent. Two equal calls within that time are two: a client may want both.
    """

    __slots__ = ("_lock", "_started")

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._started: dict[str, tuple[object, float, Cancel]] = {}

    def find(self, key: str) -> object:
        """Return what an equal call that was cut off has started; None if there is none."""
        with self._lock:
            work, began, call = self._started.get(key, (None, 0.0, None))
        age = monotonic() - began
        cut_off = call is not None and (call.is_set() or (age > PATIENCE and not shows_progress(call)))
        return work if cut_off and age < REMEMBERED else None

    def began(self, key: str, work: object, call: "Cancel") -> None:
        """Remember what a call has started, until `answered`."""
        with self._lock:
            self._started[key] = work, monotonic(), call
            while len(self._started) > _MOST:
                del self._started[next(iter(self._started))]

    def answered(self, key: str, call: "Cancel") -> None:
        """Forget what a call has started once its answer is on its way; a cancelled call has none."""
        with self._lock:
            if not call.is_set() and self._started.get(key, (None,))[-1] is call:
                del self._started[key]


def key_of(tool: str, arguments: "dict[str, Any]") -> str:
    """Return the key of a call: equal for equal tools and arguments, in any order."""
    return f"{tool} {dump(dict(sorted(arguments.items())))}"
