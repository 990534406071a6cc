"""What the system tells of processes, of this one's environment, and of ports."""

import os

from agent_exec.host.windows import console, kernel, signals
from agent_exec.model.identity import Ancestor, Identity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def boot_id() -> str:
    """Return a name of this boot of the system; empty, for creation times are absolute here."""
    return ""


def identify(pid: int) -> Identity | None:
    """Return the identity of the process that has this pid now; None if there is none.

    One that we may not look at, such as the system's own, has the start 0.
    """
    try:
        handle = kernel.open_process(pid, kernel.LOOK)
    except PermissionError:
        return Identity(pid, 0, "")
    if handle is None:
        return None
    try:
        return None if kernel.wait(handle, 0) else _identity(pid, handle)
    finally:
        kernel.close(handle)


def moment_of_start(identity: Identity) -> float | None:
    """Return when a process was started, in seconds since 1970; None if unknown."""
    return identity.start / 10_000_000 - 11_644_473_600 if identity.start else None


def is_alive(identity: Identity) -> bool:
    """True if exactly this process still runs."""
    return identify(identity.pid) == identity


def send_signal(identity: Identity, number: int) -> bool:
    """Signal exactly this process; False if it is gone, even if another has its pid now.

    An open handle pins the process while its identity is checked. INT and
    BREAK become a break on its console, which reaches it if it was started
    as a group of its own; TERM and KILL end it; 0 only looks.
    """
    handle = kernel.open_process(identity.pid, kernel.CONTROL)
    if handle is None:
        return False
    try:
        if kernel.wait(handle, 0) or _identity(identity.pid, handle) != identity:
            return False
        if number in (signals.INT, signals.BREAK):
            console.send_break({identity.pid: handle}, identity.pid)
        elif number:
            return kernel.terminate(handle, 128 + number)
        return True
    finally:
        kernel.close(handle)


def _identity(pid: int, handle: int) -> Identity:
    return Identity(pid, kernel.creation_time(handle), "")


def own_processes() -> tuple[Ancestor, ...]:
    """Return this process and the one that started it."""
    return Ancestor(os.getpid(), parent=os.getppid()), Ancestor(os.getppid())


def own_environment() -> dict[bytes, bytes]:
    """Return a snapshot of our own environment, without the nameless entry that a parent may have made."""
    return {os.fsencode(name): os.fsencode(value) for name, value in os.environ.items() if name}


def inherited_environment() -> dict[bytes, bytes]:
    """Return the environment that this process was started with."""
    return own_environment()


def shell(line: str) -> list[str]:
    """Return the argv that has the system's shell run a line."""
    return ["cmd.exe", "/d", "/c", line]


def keep_loopback(name: str, fds: "Sequence[int]") -> None:
    """Do nothing: there are no boxes here that could share a network."""


def close_loopback(name: str) -> None:
    """Do nothing: there are no boxes here that could share a network."""


def hide_arguments(title: str) -> None:
    """Do nothing: only a process that may read our memory may read our arguments here."""
