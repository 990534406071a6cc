"""Runs a piece of a test in a forked child, alone or as the first process of namespaces of its own."""

import os
import pickle
import signal
import struct
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

from agent_exec.sandbox.linux import calls, landlock, mounts, namespaces, privileges

T = TypeVar("T")
NOBODY = 65534
_SET_DUMPABLE = 4
_SECONDS = 30


class Killed(Exception):
    """The child was ended by a signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run(function: Callable[[], T], *, user: bool = False) -> T:
    """Return what a function gives in a child, as nobody if asked for; raise if it raises or is killed."""
    reader, writer = os.pipe()
    pid = _fork()
    if pid == 0:
        _child(function, writer, user=user)
    os.close(writer)
    data = b""
    while piece := os.read(reader, 1 << 16):
        data += piece
    os.close(reader)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        raise Killed(os.WTERMSIG(status))
    assert data, f"the child said nothing, and ended with {status}"
    good, result = pickle.loads(data)
    assert good, result
    return result  # type: ignore[no-any-return]


def inside(
    function: Callable[[], T],
    *,
    before: Callable[[], object] | None = None,
    user: bool = False,
    network: bool = True,
) -> T:
    """Give what a function gives as the first process of new namespaces; `before` runs in them, before that fork."""

    def outer() -> T:
        namespaces.unshare_all(network=network)
        mounts.make_private()
        if before is not None:
            before()
        return run(first)

    def first() -> T:
        privileges.die_with_parent(0)
        return function()

    if not have_namespaces(user=user):
        pytest.skip("no user namespaces here")
    return run(outer, user=user)


@cache
def have_namespaces(*, user: bool) -> bool:
    return run(lambda: errno_of(namespaces.unshare_all) == 0, user=user)


def memory_folder(path: str | os.PathLike[str], *, size: int, inodes: int = 0) -> None:
    """Cover a folder with an empty one in memory."""
    options = {"size": str(size), "mode": "1777", "nr_inodes": str(inodes)}
    mounts.attach(calls.new_filesystem("tmpfs", options, mounts.BARE), str(path))


needs_landlock = pytest.mark.skipif(landlock.abi() == 0, reason="no Landlock here")


def errno_of(function: Callable[..., object], *arguments: object) -> int:
    """Return the errno of what fails, 0 for what does not."""
    try:
        function(*arguments)
    except OSError as problem:
        return problem.errno or -1
    return 0


def errno_of_writing(path: object) -> int:
    """Return the errno of opening a file for writing."""
    try:
        os.close(os.open(str(path), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC))
    except OSError as problem:
        return problem.errno or -1
    return 0


def errno_of_call(number: int, *arguments: int) -> int:
    """Return the errno of a bare system call."""
    import ctypes

    ctypes.set_errno(0)
    words = [ctypes.c_ulong(value) for value in (number, *arguments, *[0] * (6 - len(arguments)))]
    return 0 if calls._syscall(*words) != -1 else ctypes.get_errno()


def become_nobody() -> None:
    """Be an ordinary user, as one who was never root would be."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    calls.prctl(_SET_DUMPABLE, 1)  # which a change of user undoes


@contextmanager
def ground(*, user: bool = False) -> Iterator[Path]:
    """Return a folder that belongs to who runs the test, or to nobody; all can reach it."""
    with tempfile.TemporaryDirectory(prefix="agent-exec-", dir="/tmp", ignore_cleanup_errors=False) as name:
        os.chmod(name, 0o755)
        if user and os.getuid() == 0:
            os.chown(name, NOBODY, NOBODY)
        yield Path(name)


def _fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # the runner has threads; the child uses none of theirs
        return os.fork()


def _child(function: Callable[[], object], writer: int, *, user: bool) -> None:
    try:
        signal.alarm(_SECONDS)
        if user:
            become_nobody()
        try:
            data = pickle.dumps((True, function()))
        except Killed as problem:
            os.kill(os.getpid(), problem.number)
            data = b""
        except BaseException:
            data = pickle.dumps((False, traceback.format_exc()))
        view = memoryview(data)
        while view:
            view = view[os.write(writer, view) :]
    finally:
        os._exit(0)


def judge(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """Return the verdict of a filter on a call, as the kernel would find it."""
    words = [*arguments, *[0] * (6 - len(arguments))]
    mask = (1 << 64) - 1
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, architecture, 0, *(word & mask for word in words))
    code = [struct.unpack_from("<HBBI", program, at) for at in range(0, len(program), 8)]
    taken = here = 0
    while True:
        operation, yes, no, value = code[here]
        here += 1
        if operation == 0x20:
            taken = struct.unpack_from("<I", data, value)[0]
        elif operation == 0x54:
            taken &= value
        elif operation == 0x06:
            return int(value)
        else:
            true = {0x15: taken == value, 0x35: taken >= value, 0x45: bool(taken & value)}[operation]
            here += yes if true else no
