"""What is written to the caller's logger: every line of the contract, at its level, in one place."""

from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.choices import Logger

_DEBUG = 10  # the number of that level in the standard library
_LINES = {
    "validating": ("debug", "Validating command: {}"),
    "refused": ("error", "Command validation failed: {}"),
    "executing": ("info", "Executing command: {}"),
    "spawned": ("debug", "Process spawned (pid: {})"),
    "received": ("debug", "Received output: {} bytes"),
    "signalled": ("debug", "Signal {} sent to process"),
    "expired": ("info", "Command timeout: {} (sent SIGTERM)"),
    "executed": ("info", "Command executed: {} (exit: {}, duration: {})"),
    "failed": ("error", "Command failed: {} (exit code: {})"),
    "timed_out": ("error", "Command timeout exceeded: {}"),
    "overflowed": ("error", "Output size exceeded: {}"),
    "broke": ("error", "Command execution error: {}"),
}


class Journal:
    """Writes the lines of the contract; nothing without a logger.

    A line is one line: what is not printable is escaped, so that no argument
    can forge another.
    """

    __slots__ = ("_logger",)

    def __init__(self, logger: "Logger | None") -> None:
        levels = ("info", "debug", "error")
        if logger is not None and not all(callable(getattr(logger, level, None)) for level in levels):
            raise InvalidArgument(f"a logger needs the methods info, debug and error; got {logger!r}")
        self._logger = logger

    def write(self, event: str, *values: object) -> None:
        """Write the line of an event; one for developers only if the logger wants it."""
        if self._logger is None:
            return
        level, form = _LINES[event]
        if level == "debug" and not getattr(self._logger, "isEnabledFor", lambda _: True)(_DEBUG):
            return
        getattr(self._logger, level)(form.format(*(_line(str(value)) for value in values)))


def _line(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)
