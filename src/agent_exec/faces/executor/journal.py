"""What is written to the caller's logger: every line of the contract, at its level, in one place."""

from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.model.choices import Logger

_DEBUG = 10  # the number of that level in the standard library


class Journal:
    """The lines of the contract; without a logger nothing is written.

    A line is one line: what is not printable is escaped, so that no argument
    can forge another.
    """

    __slots__ = ("_logger",)

    def __init__(self, logger: "Logger | None") -> None:
        self._logger: Logger = _Silent() if logger is None else logger
        if not all(callable(getattr(self._logger, level, None)) for level in ("info", "debug", "error")):
            raise InvalidArgument(f"a logger needs the methods info, debug and error; got {logger!r}")

    @property
    def debugging(self) -> bool:
        """True if lines for developers are wanted, as far as the logger can say."""
        enabled = getattr(self._logger, "isEnabledFor", None)
        return enabled is None or bool(enabled(_DEBUG))

    def validating(self, command: str) -> None:
        """A command is about to be judged."""
        if self.debugging:
            self._logger.debug(f"Validating command: {_line(command)}")

    def refused(self, command: str) -> None:
        """It is not allowed."""
        self._logger.error(f"Command validation failed: {_line(command)}")

    def executing(self, command: str, args: "Sequence[str]") -> None:
        """It is about to be started."""
        self._logger.info(f"Executing command: {_line(' '.join((command, *args)))}")

    def spawned(self, pid: object) -> None:
        """It runs."""
        self._logger.debug(f"Process spawned (pid: {pid})")

    def received(self, size: int) -> None:
        """It has printed something."""
        self._logger.debug(f"Received output: {size} bytes")

    def signalled(self, name: str) -> None:
        """It was sent a signal."""
        self._logger.debug(f"Signal {name} sent to process")

    def expired(self, command: str) -> None:
        """Its time has run out, and it was asked to end."""
        self._logger.info(f"Command timeout: {_line(command)} (sent SIGTERM)")

    def executed(self, command: str, code: int, duration: int) -> None:
        """It has ended well."""
        self._logger.info(f"Command executed: {_line(command)} (exit: {code}, duration: {duration})")

    def failed(self, command: str, code: int | None) -> None:
        """It has ended badly, by itself."""
        self._logger.error(f"Command failed: {_line(command)} (exit code: {code})")

    def timed_out(self, command: str) -> None:
        """It has ended because its time ran out."""
        self._logger.error(f"Command timeout exceeded: {_line(command)}")

    def overflowed(self, command: str) -> None:
        """It has ended, or was ended, with too much output."""
        self._logger.error(f"Output size exceeded: {_line(command)}")

    def broke(self, command: str) -> None:
        """It could not be started or watched to its end."""
        self._logger.error(f"Command execution error: {_line(command)}")


class _Silent:
    """Stands for no logger."""

    __slots__ = ()

    def info(self, message: str, /) -> None:
        """Forget a line."""

    debug = error = info

    def isEnabledFor(self, _level: int) -> bool:  # noqa: N802 - the standard library's name
        return False


def _line(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)
