"""The system calls that Python has no name for, each checked: an error names the call and the path."""

import ctypes
import os
import stat
import struct
from errno import EIO, ELOOP, ESTALE

from agent_exec.sandbox.linux.numbers import machine, table

AT_FDCWD = -100
AT_EMPTY_PATH = 0x1000
AT_RECURSIVE = 0x8000

MS_REC = 1 << 14
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

MOUNT_RDONLY = 1
MOUNT_NOSUID = 2
MOUNT_NODEV = 4
MOUNT_NOEXEC = 8

RESOLVE_NO_SYMLINKS = 4

_OPEN_TREE_CLONE = 1
_MOVE_FROM_EMPTY = 0x04
_MOVE_TO_EMPTY = 0x40
_FSOPEN_CLOEXEC = 1
_FSMOUNT_CLOEXEC = 1
_FSCONFIG_SET_STRING = 1
_FSCONFIG_CREATE = 6
_CAPABILITY_VERSION = 0x20080522

_syscall = ctypes.CDLL(None, use_errno=True).syscall
_syscall.restype = ctypes.c_long
_numbers: dict[str, int] = {}


def check(result: int, call: str, path: str | None = None) -> int:
    """Return the result of a call, or raise what the kernel said with the call's name and the path."""
    if result == -1:
        raise failure(ctypes.get_errno() or EIO, call, path)
    return result


def failure(number: int, call: str, path: str | None = None, why: str | None = None) -> OSError:
    """Make the error of a call that did not do what it was asked for."""
    text = f"{call}: {why or os.strerror(number)}"
    return OSError(number, text) if path is None else OSError(number, text, path)


def invoke(call: str, *arguments: object, path: str | None = None) -> int:
    """Make a system call by its name; whole numbers are passed as whole registers."""
    if not _numbers:
        _numbers.update(table(machine()))
    words = [_word(value) for value in (_numbers[call], *arguments)]
    return check(_syscall(*words), call, path)


def _word(value: object) -> object:
    """Return an argument as the C library takes it, which cannot see how wide it is."""
    if isinstance(value, int):
        return ctypes.c_long(value)
    return ctypes.c_char_p(value) if value is None or isinstance(value, bytes) else value


def prctl(option: int, first: int = 0, second: int = 0) -> int:
    """Set or get something of this process."""
    return invoke("prctl", option, first, second, 0, 0)


def unshare(flags: int) -> None:
    """Leave namespaces for new ones."""
    invoke("unshare", flags)


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Mount in the old way, by paths."""
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    invoke("mount", *texts[:3], flags, texts[3], path=target)


def umount(path: str, flags: int = MNT_DETACH) -> None:
    """Detach what is mounted at a path."""
    invoke("umount2", os.fsencode(path), flags, path=path)


def openat2(path: str, flags: int, resolve: int, at: int = AT_FDCWD) -> int:
    """Open a path under rules for every part of it."""
    how = struct.pack("QQQ", flags | os.O_CLOEXEC, 0, resolve)
    return invoke("openat2", at, os.fsencode(path), how, len(how), path=path)


def open_path(path: str, *, identity: tuple[int, int] | None = None) -> int:
    """Open a path for its place only; ELOOP if a symbolic link is in it, ESTALE if it is not who is expected.

    `identity` is the device and the inode.
    """
    flags = os.O_PATH | os.O_NOFOLLOW
    fd = openat2(path, flags, RESOLVE_NO_SYMLINKS)
    try:
        found = os.fstat(fd)
        if stat.S_ISLNK(found.st_mode):  # the last part, which O_PATH opens itself
            raise failure(ELOOP, "openat2", path)
        if identity is not None and (found.st_dev, found.st_ino) != identity:
            raise failure(ESTALE, "openat2", path, "another one has its place")
    except BaseException:
        os.close(fd)
        raise
    return fd


def open_tree(fd: int, *, recursive: bool = True, path: str | None = None) -> int:
    """Return a detached copy of the mounts at a descriptor; `path` is for the error only."""
    flags = AT_EMPTY_PATH | _OPEN_TREE_CLONE | os.O_CLOEXEC | (AT_RECURSIVE if recursive else 0)
    return invoke("open_tree", fd, b"", flags, path=path)


def move_mount(tree: int, at: int, name: str = "", *, path: str | None = None) -> None:
    """Attach a detached tree at a descriptor, or at a name below it; `path` is for the error only."""
    flags = _MOVE_FROM_EMPTY | (0 if name else _MOVE_TO_EMPTY)
    invoke("move_mount", tree, b"", at, os.fsencode(name), flags, path=path)


def mount_setattr(
    where: int | str, set_: int = 0, clear: int = 0, *, recursive: bool = True, path: str | None = None
) -> None:
    """Change attributes of mounts, at a path or at a descriptor."""
    attributes = struct.pack("QQQQ", set_, clear, 0, 0)
    flags = AT_RECURSIVE if recursive else 0
    if isinstance(where, int):
        at, name, flags = where, b"", flags | AT_EMPTY_PATH
    else:
        at, name, path = AT_FDCWD, os.fsencode(where), where
    invoke("mount_setattr", at, name, flags, attributes, len(attributes), path=path)


def new_filesystem(kind: str, options: dict[str, str], attributes: int) -> int:
    """Make a filesystem that is mounted nowhere yet, and return its detached mount."""
    context = invoke("fsopen", kind.encode(), _FSOPEN_CLOEXEC, path=kind)
    try:
        for key, value in {"source": kind, **options}.items():
            what = f"{kind} {key}={value}"
            invoke("fsconfig", context, _FSCONFIG_SET_STRING, key.encode(), value.encode(), 0, path=what)
        invoke("fsconfig", context, _FSCONFIG_CREATE, None, None, 0, path=kind)
        return invoke("fsmount", context, _FSMOUNT_CLOEXEC, attributes, path=kind)
    finally:
        os.close(context)


def capset(effective: int, permitted: int, inheritable: int) -> None:
    """Set the capabilities of this thread."""
    low, high = 0xFFFFFFFF, 32
    sets = (effective, permitted, inheritable)
    header = struct.pack("Ii", _CAPABILITY_VERSION, 0)
    invoke("capset", header, struct.pack("6I", *(s & low for s in sets), *(s >> high for s in sets)))


def prlimit(resource: int, limits: tuple[int, int] | None = None) -> tuple[int, int]:
    """Return the soft and hard limit of this process as they were, and set others if any are given."""
    old = ctypes.create_string_buffer(16)
    new = None if limits is None else struct.pack("QQ", *limits)
    invoke("prlimit64", 0, resource, new, old)
    soft, hard = struct.unpack("QQ", old.raw)
    return soft, hard


def sethostname(name: str) -> None:
    """Name the machine, as this namespace sees it."""
    data = os.fsencode(name)
    invoke("sethostname", data, len(data))


def setdomainname(name: str) -> None:
    """Name the machine's domain, as this namespace sees it."""
    data = os.fsencode(name)
    invoke("setdomainname", data, len(data))
