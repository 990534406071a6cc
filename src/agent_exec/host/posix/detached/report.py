"""What a detached process tells whoever started it, for as long as that one listens."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.cancel import Cancel


class Report:
    """The listener's side; `fd` is for the process that is to tell."""

    __slots__ = ("_reader", "fd")

    def __init__(self) -> None:
        self._reader, self.fd = os.pipe()

    def listen(self) -> None:
        """Give up our copy of the teller's side, once it has been handed on."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def hear(self, seconds: float | None, cancel: "Cancel | None" = None) -> bytes | None:
        """Return the next message; nothing when the time is over or `cancel` is set, None at the end."""
        from agent_exec.host.posix.poller import READ, wait_for

        if self._reader in wait_for([(self._reader, READ)], seconds, cancel):
            return os.read(self._reader, 4096) or None
        return b""

    def close(self) -> None:
        """Listen no more; harmless when repeated."""
        self.listen()
        if self._reader >= 0:
            os.close(self._reader)
            self._reader = -1


def tell(fd: int, word: bytes) -> None:
    """Tell the listener something; say nothing if it has gone."""
    try:
        os.write(fd, word)
    except OSError:
        return
