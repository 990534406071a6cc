"""A degraded box for machines without namespaces: Landlock and the filter, on a helper of the machine's own.

It keeps a command from writing outside of the roots and from the network. It
cannot protect paths inside of a root, hide files or processes, or give a /tmp
of its own; `unenforced` in sandbox/backends.py names it all.

Like any box it is two processes. Commands may signal the inner one, which is
restricted as they are; the outer one is out of their reach, and ends all that
is left when the inner one is gone.
"""

import os
from time import sleep

from agent_exec.sandbox.closing import Closing
from agent_exec.sandbox.linux import calls, landlock, privileges
from agent_exec.sandbox.linux.box_common import Restricted, limit, must_fail, restrict
from agent_exec.sandbox.setup_steps import At

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    import socket as _socket
    from typing import Any, NoReturn

    Spec = dict[str, Any]
else:
    import _signal
    import _socket  # without the enums

_SHARED = ("/tmp", "/var/tmp", "/dev/shm")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")
"""All that may be written to of the machine's own /dev, where root would also find its disks."""

_SET_CHILD_SUBREAPER = 36
_PAUSE = 0.0005
_PATIENCE = 1000
"""So often the inner process is continued when a command stops it."""


def confine(spec: "Spec") -> Restricted:
    """Restrict a copy of this process irrevocably; return in the copy."""
    at = At()
    with at("its first process"):
        outer = os.getpid()
        pid = os.fork()
        if pid:
            _guard(pid)
        privileges.die_with_parent(outer)
        calls.prctl(_SET_CHILD_SUBREAPER, 1)
    with at("limits"):
        limit(spec, None)
        privileges.end_first()
    with at("Landlock"):
        rules = landlock.Ruleset()
        if spec["writable"]:
            for path, device, inode in spec["roots"]:
                with Closing(calls.open_path(os.fsdecode(path), identity=(device, inode))) as fd:
                    rules.allow_write(fd)
            for folder in filter(os.path.isdir, _SHARED):
                rules.allow_write(os.path.realpath(folder))
        for device in map("/dev/{}".format, _DEVICES):
            if os.path.exists(device):
                rules.allow_devices(os.path.realpath(device))
    restrict(rules, "on" if spec["net"] else "off", at)
    box = Restricted(spec, at)
    with at("the self-check"):
        box.check_itself()
        must_fail("a folder outside of the roots", lambda: os.mkdir("/.agent-exec"))
        if rules.scope:
            must_fail("a signal to a process outside", lambda: os.kill(os.getppid(), 0))
        if not spec["net"]:
            must_fail("a socket of the internet", lambda: _socket.socket(_socket.AF_INET).close())
    os.chdir("/")
    return box


def _guard(pid: int) -> "NoReturn":
    """Be nothing but the parent of a box, end what it leaves, and go when all is gone."""
    try:
        _signal.set_wakeup_fd(-1)
        os.closerange(3, 1 << 20)
        stops = 0
        while True:
            found, status = os.waitpid(-1, os.WUNTRACED)
            if found != pid:
                continue
            if not os.WIFSTOPPED(status):
                break
            stops += 1
            os.kill(pid, _signal.SIGCONT if stops < _PATIENCE else _signal.SIGKILL)
        while True:
            doomed = _children()
            for child in doomed:
                os.kill(child, _signal.SIGKILL)  # our child, so its pid is not reused until it is reaped
            if not os.waitpid(-1, 0 if doomed else os.WNOHANG)[0]:
                sleep(_PAUSE)  # the kernel may leave one out of its list while another exits
    except ChildProcessError:
        pass
    finally:
        os._exit(0)


def _children() -> list[int]:
    """Return the children of this process; some kernels do not list them."""
    me = os.getpid()
    try:
        return [int(word) for word in _read(f"/proc/self/task/{me}/children").split()]
    except FileNotFoundError:
        found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            parent = int(_read(f"/proc/{name}/stat").rpartition(b")")[2].split()[1])
        except OSError:
            continue
        if parent == me:
            found.append(int(name))
    return found


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.readall()
