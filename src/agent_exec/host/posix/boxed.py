"""Makes a box of a keeper, before it serves: whoever fails at that runs nothing."""

import os
import sys

from agent_exec.host.posix import tree, wire
from agent_exec.host.posix.launch import STEP_BOX, LaunchError

_NEEDED = ("fcntl", "struct", "termios")

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from typing import Protocol

    class Inside(Protocol):
        """A box, as its first process has it."""

        listener: int

        def check(self) -> None:
            """Make sure that it still confines, before each command; raise what is wrong."""

        def clean(self) -> bool:
            """Take away what a command has left; tell whether the box is as it was."""


def enter(owner: "_socket.socket", requests: wire.Requests) -> "Inside":
    """Confine this process as its first request says; return only inside, as the first process of a box.

    `confine(spec)` of the entry's module forks: the original waits for the
    box and goes with it, the copy returns. What it raises has a `step` and an
    `errno`.
    """
    request = requests.first()
    if request is None or request[0] != wire.CONFINE:
        os._exit(0)
    _, entry, spec = request
    try:
        # All that may be needed inside is loaded now: the files of the interpreter may be hidden there.
        for name in (*_NEEDED, entry):
            __import__(name)
        box: Inside = sys.modules[entry].confine(spec)
    except Exception as error:
        failed = _step(error)
        wire.send_reply(owner, wire.FAILED, 0, failed.error, failed.step, -1)
        sys.excepthook(*sys.exc_info())
        os._exit(1)
    tree.own_all()  # whatever it is called: no owner of another job can be in here
    wire.send_reply(owner, wire.READY, 0, 0, 0, box.listener)
    if box.listener >= 0:
        os.close(box.listener)
    return box


def check(box: "Inside") -> None:
    """Make sure that a box still confines; raise a LaunchError if it does not."""
    try:
        box.check()
    except Exception as error:
        raise _step(error) from None


def _step(error: Exception) -> LaunchError:
    return LaunchError(STEP_BOX + int(getattr(error, "step", 0)), getattr(error, "errno", None) or 0)
