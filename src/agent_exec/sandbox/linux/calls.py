"""The system calls that Python has no name for, each checked: an error names the call and the path."""

import ctypes
import os
import stat
import struct
from errno import EIO, ELOOP, ENOSYS, ESTALE

from agent_exec.sandbox.closing import Closing

AT_FDCWD = -100
AT_EMPTY_PATH = 0x1000
AT_RECURSIVE = 0x8000
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

_ARCHITECTURES = ("x86_64", "aarch64")
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""What the kernel calls an architecture when it shows a call to a filter."""

NEWEST = 469
"""The last number this table was made for; from 424 on, all architectures share them."""

_TABLE = """
acct 163 89 | add_key 248 217 | adjtimex 159 171 | bpf 321 280 | capset 126 91 | chmod 90 -
chroot 161 51 | clock_adjtime 305 266 | clock_settime 227 112 | clone 56 220 | clone3 435 435
creat 85 - | delete_module 176 106 | fanotify_init 300 262 | fchmod 91 52 | fchmodat 268 53
fchmodat2 452 452 | fcntl 72 25 | finit_module 313 273 | fsconfig 431 431 | fsmount 432 432
fsopen 430 430 | fspick 433 433 | init_module 175 105 | io_setup 206 0 | io_uring_enter 426 426
io_uring_register 427 427 | io_uring_setup 425 425 | ioctl 16 29 | ioperm 173 - | iopl 172 -
ioprio_set 251 30 | kcmp 312 272 | kexec_file_load 320 294 | kexec_load 246 104 | keyctl 250 219
landlock_add_rule 445 445 | landlock_create_ruleset 444 444 | landlock_restrict_self 446 446
memfd_create 319 279 | memfd_secret 447 447 | migrate_pages 256 238 | mkdir 83 - | mkdirat 258 34
mknod 133 - | mknodat 259 33 | mmap 9 222 | modify_ldt 154 - | mount 165 40 | mount_setattr 442 442
move_mount 429 429 | move_pages 279 239 | open 2 - | open_by_handle_at 304 265 | open_tree 428 428
open_tree_attr 467 467 | openat 257 56 | openat2 437 437 | perf_event_open 298 241
personality 135 92 | pidfd_getfd 438 438 | pivot_root 155 41 | prctl 157 167 | prlimit64 302 261
process_madvise 440 440 | process_vm_readv 310 270 | process_vm_writev 311 271 | ptrace 101 117
quotactl 179 60 | quotactl_fd 443 443 | reboot 169 142 | renameat2 316 276 | request_key 249 218
sched_setattr 314 274 | seccomp 317 277 | setdomainname 171 162 | sethostname 170 161
setns 308 268 | settimeofday 164 170 | shmget 29 194 | socket 41 198 | socketpair 53 199
swapoff 168 225 | swapon 167 224 | syslog 103 116 | umount2 166 39 | unshare 272 97
userfaultfd 323 282
"""
"""Each call with its numbers on x86_64 and on aarch64."""

_syscall = ctypes.CDLL(None, use_errno=True).syscall
_syscall.restype = ctypes.c_long
_numbers: dict[str, int] = {}


class UnknownArchitecture(OSError):
    """The system calls of this machine are not in the table, so nothing can be confined on it."""


def machine() -> str:
    """Return this process's architecture; raise if its calls are not known."""
    name = os.uname().machine
    if name not in _ARCHITECTURES or struct.calcsize("P") != 8:  # a 32-bit program has other numbers
        raise UnknownArchitecture(ENOSYS, f"the system calls of {name} are not known: use x86_64 or aarch64")
    return name


def table(architecture: str) -> dict[str, int]:
    """Return the numbers of the calls that an architecture has."""
    if architecture not in _ARCHITECTURES:
        raise UnknownArchitecture(ENOSYS, f"the system calls of {architecture} are not known")
    column = 1 + _ARCHITECTURES.index(architecture)
    rows = [entry.split() for line in _TABLE.strip().split("\n") for entry in line.split("|")]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


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


def setns(fd: int, kind: int) -> None:
    """Enter the namespace of this kind that a descriptor stands for."""
    invoke("setns", fd, kind)


def umount(path: str) -> None:
    """Detach what is mounted at a path."""
    invoke("umount2", os.fsencode(path), MNT_DETACH, path=path)


def openat2(path: str, flags: int, resolve: int, at: int = AT_FDCWD) -> int:
    """Open a path under rules for every part of it."""
    how = struct.pack("QQQ", flags | os.O_CLOEXEC, 0, resolve)
    return invoke("openat2", at, os.fsencode(path), how, len(how), path=path)


def open_path(path: str, *, identity: tuple[int, int] | None = None) -> int:
    """Open a path with O_PATH; ELOOP if it contains a symbolic link, ESTALE if it is not the expected file.

    `identity` is the device and the inode.
    """
    fd = openat2(path, os.O_PATH | os.O_NOFOLLOW, RESOLVE_NO_SYMLINKS)
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
    with Closing(invoke("fsopen", kind.encode(), _FSOPEN_CLOEXEC, path=kind)) as context:
        for key, value in {"source": kind, **options}.items():
            what = f"{kind} {key}={value}"
            invoke("fsconfig", context, _FSCONFIG_SET_STRING, key.encode(), value.encode(), 0, path=what)
        invoke("fsconfig", context, _FSCONFIG_CREATE, None, None, 0, path=kind)
        return invoke("fsmount", context, _FSMOUNT_CLOEXEC, attributes, path=kind)


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
