"""What a detached process tells whoever started it, for as long as that one listens."""

import os

from agent_exec.host.windows import kernel, namedpipe
from agent_exec.host.windows.interrupts import wait_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.cancel import Cancel


class Report:
    """The listener's side; `fd` is for the process that is to tell."""

    __slots__ = ("_reader", "fd")

    def __init__(self) -> None:
        self._reader, end = kernel.pipe(reading=True)
        self.fd = kernel.descriptor(end)

    def listen(self) -> None:
        """Give up our copy of the teller's side, once it has been handed on."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def hear(self, seconds: float | None, cancel: "Cancel | None" = None) -> bytes | None:
        """Return the next message; nothing when the time is over or `cancel` is set, None at the end."""
        try:
            told = namedpipe.read(self._reader, 4096, lambda event: wait_for(event, seconds, cancel))
        except OSError:
            return None
        return told or b""

    def close(self) -> None:
        """Listen no more; harmless when repeated."""
        self.listen()
        if self._reader:
            kernel.close(self._reader)
            self._reader = 0


def tell(fd: int, word: bytes) -> None:
    """Tell the listener something; say nothing if it has gone."""
    try:
        os.write(fd, word)
    except OSError:
        return
