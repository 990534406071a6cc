"""How long a run may take and how much it may print, with the bounds of each."""

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.choices import Overflow

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

LONGEST = 366 * 86400.0
"""No clock of ours runs longer than a year: longer is a mistake of units."""

OVERFLOWS = ("cut", "stop")


class Limits(Value):
    """The clocks and the overflow rule of one run; seconds throughout.

    `timeout` counts from the spawn. `grace` is the time between the polite
    signal and the forced one. `drain` is how long what a finished command
    left behind may go on writing. `overflow` says what happens when a stream
    outgrows its keeping: "cut" goes on counting, "stop" ends the run.
    """

    timeout: float | None = None
    grace: float = 0.5
    drain: float = 0.1
    overflow: "Overflow" = "cut"

    def __post_init__(self) -> None:
        if self.timeout is not None:
            _check("timeout", self.timeout)
            if self.timeout == 0:
                raise InvalidArgument("timeout must be more than 0 seconds; leave it out for no limit")
        _check("grace", self.grace)
        _check("drain", self.drain)
        if self.overflow not in OVERFLOWS:
            raise InvalidArgument(f"overflow must be one of {', '.join(OVERFLOWS)}; got {self.overflow!r}")


def _check(name: str, value: object) -> None:
    """Raise InvalidArgument unless a value is a number of seconds within a year."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidArgument(f"{name} must be a number of seconds; got {value!r}")
    if not 0 <= value <= LONGEST:
        raise InvalidArgument(f"{name} must be between 0 and {LONGEST:.0f} seconds; got {value!r}")


def seconds(text: str, *, bare: str) -> float:
    """Return a span in seconds; a number without a unit is in the unit `bare`."""
    word = text.strip().lower()
    number = word.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = word[len(number) :] or bare
    try:
        # Not every text that Python takes for a number looks like one to people.
        value = float(number) if number and set(number) <= set("0123456789.") else -1.0
    except ValueError:
        value = -1.0
    if value < 0 or unit not in _UNITS:
        raise InvalidArgument(f"{text!r} is no span of time; write 250ms, 2s, 5m, 1h or 30d")
    span = value * _UNITS[unit]
    if span > LONGEST:
        raise InvalidArgument(f"{text!r} is longer than a year; write 250ms, 2s, 5m, 1h or 30d")
    return span
