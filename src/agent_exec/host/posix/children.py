"""Tells of the end of children by a descriptor that can be waited for beside others."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal


def listen_for_children() -> int:
    """Give a descriptor that becomes readable whenever a child has exited."""
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    former = _signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    if former >= 0:
        os.close(former)
    _signal.signal(_signal.SIGCHLD, lambda _number, _frame: None)
    return reader
