"""How long a run may take and how much it may print, with the bounds of each."""

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.choices import Overflow

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

    __slots__ = ("drain", "grace", "overflow", "timeout")

    def __init__(
        self,
        timeout: float | None = None,
        grace: float = 0.5,
        drain: float = 0.1,
        overflow: "Overflow" = "cut",
    ) -> None:
        if timeout is not None:
            _seconds("timeout", timeout)
            if timeout == 0:
                raise InvalidArgument("timeout must be more than 0 seconds; leave it out for no limit")
        _seconds("grace", grace)
        _seconds("drain", drain)
        if overflow not in OVERFLOWS:
            raise InvalidArgument(f"overflow must be one of {', '.join(OVERFLOWS)}; got {overflow!r}")
        self.timeout = timeout
        self.grace = grace
        self.drain = drain
        self.overflow = overflow


def _seconds(name: str, value: object) -> None:
    """Refuse what is not a finite, sane number of seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidArgument(f"{name} must be a number of seconds; got {value!r}")
    if not 0 <= value <= LONGEST:
        raise InvalidArgument(f"{name} must be between 0 and {LONGEST:.0f} seconds; got {value!r}")
