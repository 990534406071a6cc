"""Makes a box of a keeper, before it serves: a keeper that fails at that runs nothing."""

import os
import sys

from agent_exec.host.posix.keeper import tree, wire
from agent_exec.host.posix.keeper.launch import STEP_BOX, LaunchError, spawn
from agent_exec.places import PACKAGE

_NEEDED = ("fcntl", "resource", "struct", "termios")
_AGAIN = "import sys; sys.path.append(sys.argv[1]); from agent_exec.host.posix.keeper.box import main; main()"

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from typing import Any, NoReturn, Protocol

    class Inside(Protocol):
        """A box, as its first process has it."""

        listener: int

        def variables(self, env: dict[bytes, bytes]) -> dict[bytes, bytes]:
            """Return the variables of a command as they must be in here."""

        def check(self) -> None:
            """Make sure that it still confines, before each command; raise what is wrong."""

        def clean(self) -> bool:
            """Take away what a command has left; True if the box is as it was."""


def load(entry: str) -> None:
    """Load all that a box needs: the files of the interpreter may be hidden inside."""
    for name in (*_NEEDED, entry):
        __import__(name)


def enter(owner: "_socket.socket", requests: wire.Requests, pidfd: int) -> "Inside":
    """Confine this process as its first request says; return only inside, as the first process of a box.

    What cannot be done from inside, the `wrap(spec, words)` of the entry's
    module has done by a program that then starts our `main`; `pidfd` goes
    along, which tells when the owner is gone.
    """
    request = requests.first()
    if request is None or request[0] != wire.CONFINE:
        os._exit(0)
    _, entry, spec = request
    spec["loopback"] = requests.take_fds()
    try:
        load(entry)
        if hasattr(sys.modules[entry], "wrap"):
            _go_through(entry, spec, owner, pidfd)
    except Exception as error:
        _fail(owner, error)
    return _confine(owner, entry, spec)


def make_loopback(owner: "_socket.socket", entry: str) -> "NoReturn":
    """Make a loopback network by the entry's module, send the descriptors that keep it, and exit."""
    try:
        load(entry)
        fds = sys.modules[entry].make_loopback()
    except Exception as error:
        _fail(owner, error)
    wire.send_fds(owner, wire.REPLY.pack(wire.READY, 0, 0, 0), fds)
    os._exit(0)


def main() -> None:
    """Go on as a keeper behind the walls that another program has put up; the arguments say with what."""
    from agent_exec.host.posix.keeper.keeper import Keeper

    sock, pidfd, order = map(int, sys.argv[2:])
    owner = wire.from_descriptor(sock)
    try:
        for fd in (sock, pidfd):
            if fd >= 0:
                os.set_inheritable(fd, False)
        with open(order, "rb") as file:
            entry, spec = wire.loads(file.read())
        load(entry)
    except Exception as error:
        _fail(owner, error)
    tree.become_reaper()
    Keeper(owner, pidfd, -1, _confine(owner, entry, spec)).serve(wire.Requests(owner))


def _go_through(entry: str, spec: "Any", owner: "_socket.socket", pidfd: int) -> "NoReturn":
    """Become the program that puts up outer walls and starts us anew behind them."""
    order = os.memfd_create("agent-exec", 0)
    os.write(order, wire.dumps((entry, spec)))
    os.lseek(order, 0, os.SEEK_SET)
    kept = (owner.fileno(), pidfd, order)
    for fd in kept:
        if fd >= 0:
            os.set_inheritable(fd, True)
    words = [sys.executable, "-IS", "-c", _AGAIN, os.path.dirname(PACKAGE), *map(str, kept)]
    argv = sys.modules[entry].wrap(spec, words)
    os.execv(argv[0], argv)


def _confine(owner: "_socket.socket", entry: str, spec: "Any") -> "Inside":
    """Have this process confined, and say so; what its module raises has a `step` and an `errno`."""
    try:
        box: Inside = sys.modules[entry].confine(spec)
    except Exception as error:
        _fail(owner, error)
    tree.own_all()  # no supervisor of another job can be in here
    wire.send_reply(owner, wire.READY, 0, 0, 0, box.listener)
    if box.listener >= 0:
        os.close(box.listener)
        box.listener = -1
    if not spec["reuse"]:
        _rehearse(box)
    return box


def _rehearse(box: "Inside") -> None:
    """Do once what the only command will need, up to the start of a program: the first time takes longer."""
    check(box)
    try:
        spawn(b"/", (b"/",), b"/", wire.loads(wire.dumps({b"PATH": b"/"})), (0, 1))
    except LaunchError:
        return


def _fail(owner: "_socket.socket", error: Exception) -> "NoReturn":
    failed = _step(error)
    wire.send_reply(owner, wire.FAILED, 0, failed.error, failed.step, -1)
    sys.excepthook(*sys.exc_info())
    os._exit(1)


def check(box: "Inside") -> None:
    """Make sure that a box still confines; raise a LaunchError if it does not."""
    try:
        box.check()
    except Exception as error:
        raise _step(error) from None


def _step(error: Exception) -> LaunchError:
    return LaunchError(STEP_BOX + int(getattr(error, "step", 0)), getattr(error, "errno", None) or 0)
