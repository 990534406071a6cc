"""The filter of system calls: what no command needs, and what gets around the other walls.

    what                                                  the command sees
    a call of another architecture (int 0x80)             killed by SIGSYS
    a number above NEWEST, x32's too; a call in ABSENT    ENOSYS, so libraries use the older call
    a call in REFUSED                                     EPERM
    namespaces by clone or unshare                        EPERM
    set-user-id or set-group-id bits in a mode            EPERM
    typing into a terminal (TIOCSTI, TIOCLINUX), TIOCSETD EPERM
    personality, but to ask for it or for the plain one   EPERM
    a lease, for which others that open a file must wait   EPERM
    signals that tell of changes in a folder              EPERM
    a device left behind by a rename                      EPERM
    pages from the machine's store of huge ones           ENOMEM
    limits, urgency and memory pages of other processes   EPERM
    a socket of another family, AF_UNIX too               EAFNOSUPPORT
    a socket of another type; a pair of datagram sockets  ESOCKTNOSUPPORT
    a socket of another protocol                          EPROTONOSUPPORT

Arguments that the kernel takes as int are compared by their low halves, as
the kernel does. clone3 and openat2 keep their flags in memory, where a filter
cannot look; a program that is refused them falls back on what it can see.
Others are not there because they use up what is counted for the whole machine
(io_setup), or for the user.
"""

import ctypes
import struct
from errno import EAFNOSUPPORT, EINVAL, ENOMEM, ENOSYS, EPERM, EPROTONOSUPPORT, ESOCKTNOSUPPORT

from agent_exec.sandbox.linux.calls import AUDIT, NEWEST, failure, invoke, machine, table

NUMBER = 0
ARCHITECTURE = 4

ALLOW = 0x7FFF0000
KILL = 0x80000000
ERRNO = 0x00050000

_LOAD = 0x20
_AND = 0x54
_EQUAL = 0x15
_AT_LEAST = 0x35
_ANY_BIT = 0x45
_RETURN = 0x06
_FARTHEST = 255
_LONGEST = 4096

REFUSED = (
    "acct add_key adjtimex bpf chroot clock_adjtime clock_settime delete_module fanotify_init "
    "finit_module fsconfig fsmount fsopen fspick init_module io_uring_enter io_uring_register "
    "io_uring_setup ioperm iopl kcmp kexec_file_load kexec_load keyctl mount mount_setattr move_mount "
    "open_by_handle_at open_tree "
    "open_tree_attr perf_event_open pidfd_getfd pivot_root process_madvise process_vm_readv "
    "process_vm_writev ptrace quotactl quotactl_fd reboot request_key setdomainname sethostname setns "
    "settimeofday swapoff swapon syslog umount2 userfaultfd"
).split()
ABSENT = ("clone3", "openat2", "io_setup", "memfd_secret", "modify_ldt")

_NAMESPACES = 0x7E020000
_NEW_TIME = 0x80  # for unshare only: in clone, these bits are the signal at the end
_SET_ID = 0o6000
_MAKES = 0o100 | 0o20000000  # O_CREAT, and what is O_TMPFILE beyond O_DIRECTORY
_TYPE = 0xF
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _DGRAM, _SEQPACKET = 1, 2, 5
_PROTOCOLS = (0, 1, 6, 17, 58)  # any, ICMP (by datagram), TCP, UDP, ICMPv6
_TERMINAL = (0x5412, 0x541C, 0x5423)  # TIOCSTI, TIOCLINUX, TIOCSETD
_ASK = 0xFFFFFFFF
_ONE_PROCESS = 1
_COMMANDS = (1024, 1026)  # F_SETLEASE, F_NOTIFY
_WHITEOUT = 4
_HUGE = {"mmap": (3, 0x40000), "memfd_create": (1, 4), "shmget": (2, 0o4000)}
"""The calls that can ask for huge pages: in which argument, by which bit."""

_MODE_OF = {"chmod": 1, "creat": 1, "fchmod": 1, "mkdir": 1, "mknod": 1}
_MODE_OF |= {"fchmodat": 2, "fchmodat2": 2, "mkdirat": 2, "mknodat": 2}

_SET_MODE_FILTER = 1
_FLAG_TSYNC = 1


def argument(index: int, *, high: bool = False) -> int:
    """Return where half of an argument is; both architectures put the low half first."""
    return 16 + 8 * index + (4 if high else 0)


class Assembler:
    """Instructions in order; a test without a label for an answer goes on with the next instruction."""

    __slots__ = ("_code", "_labels")

    def __init__(self) -> None:
        self._code: list[tuple[int, int, str | None, str | None]] = []
        self._labels: dict[str, int] = {}

    def label(self, name: str) -> None:
        """Name the next instruction."""
        if name in self._labels:
            raise ValueError(f"label {name} is there twice")
        self._labels[name] = len(self._code)

    def load(self, offset: int) -> None:
        """Take 32 bits of what the kernel shows."""
        self._code.append((_LOAD, offset, None, None))

    def mask(self, bits: int) -> None:
        """Keep these bits only."""
        self._code.append((_AND, bits, None, None))

    def equal(self, value: int, yes: str | None = None, no: str | None = None) -> None:
        """Go on by whether what was taken is this value."""
        self._code.append((_EQUAL, value, yes, no))

    def at_least(self, value: int, yes: str | None = None, no: str | None = None) -> None:
        """Go on by whether what was taken is this value or more, without a sign."""
        self._code.append((_AT_LEAST, value, yes, no))

    def any_bit(self, bits: int, yes: str | None = None, no: str | None = None) -> None:
        """Go on by whether one of these bits is set in what was taken."""
        self._code.append((_ANY_BIT, bits, yes, no))

    def give(self, verdict: int) -> None:
        """End with a verdict."""
        self._code.append((_RETURN, verdict, None, None))

    def assemble(self) -> bytes:
        """Return the program; raise ValueError for one that the kernel would refuse or misread."""
        if not self._code or self._code[-1][0] != _RETURN:
            raise ValueError("a program ends with a verdict")
        if len(self._code) > _LONGEST:
            raise ValueError("the program is too long")
        return b"".join(
            struct.pack("=HBBI", code, self._jump(here, yes), self._jump(here, no), value)
            for here, (code, value, yes, no) in enumerate(self._code)
        )

    def _jump(self, here: int, label: str | None) -> int:
        if label is None:
            return 0
        if label not in self._labels:
            raise ValueError(f"label {label} is nowhere")
        distance = self._labels[label] - here - 1
        if not 0 <= distance <= _FARTHEST:
            raise ValueError(f"label {label} is out of reach: {distance}")
        return distance


def program(*, net: str = "off", architecture: str | None = None) -> bytes:
    """Return the filter for a way to use sockets.

    `net` "off" allows no socket of the internet, "loopback" and "on" allow
    TCP and UDP and the asking of routes, which names need; where that leads
    to is the network namespace's to say. Of unix sockets only connected pairs
    are allowed.
    """
    if net not in {"off", "loopback", "on"}:
        raise ValueError(f"no such way to use sockets: net={net!r}")
    architecture = architecture or machine()
    calls = table(architecture)
    code = Assembler()
    code.load(ARCHITECTURE)
    code.equal(AUDIT[architecture], no="kill")
    code.load(NUMBER)
    for name in ("mmap", "openat", "fcntl", "ioctl", "clone"):  # often called, and looked at more closely
        code.equal(calls[name], yes=name)
    code.at_least(NEWEST + 1, yes="absent")
    for name in (
        *("open", "unshare", "socket", "socketpair", "personality", "prlimit64", "ioprio_set"),
        *("renameat2", "memfd_create", "shmget"),
    ):
        if name in calls:
            code.equal(calls[name], yes=name)
    for name in ("move_pages", "migrate_pages", "sched_setattr"):
        code.equal(calls[name], yes="other pid")
    for name, index in _MODE_OF.items():
        if name in calls:
            code.equal(calls[name], yes=f"mode {index}")
    for name in ABSENT:
        if name in calls:
            code.equal(calls[name], yes="absent")
    for name in REFUSED:
        if name in calls:
            code.equal(calls[name], yes="refused")
    code.give(ALLOW)
    _files(code, calls)
    _processes(code)
    _sockets(code, net=net)
    for label, verdict in (
        ("allowed", ALLOW),
        ("refused", ERRNO | EPERM),
        ("absent", ERRNO | ENOSYS),
        ("memory", ERRNO | ENOMEM),
        ("family", ERRNO | EAFNOSUPPORT),
        ("type", ERRNO | ESOCKTNOSUPPORT),
        ("protocol", ERRNO | EPROTONOSUPPORT),
        ("kill", KILL),
    ):
        code.label(label)
        code.give(verdict)
    return code.assemble()


def apply(filter_: bytes) -> None:
    """Apply a filter to this process and all its children, irrevocably; needs no_new_privs."""
    buffer = ctypes.create_string_buffer(filter_, len(filter_))
    header = struct.pack("HxxxxxxQ", len(filter_) // 8, ctypes.addressof(buffer))
    thread = invoke("seccomp", _SET_MODE_FILTER, _FLAG_TSYNC, header)
    if thread != 0:
        raise failure(EINVAL, "seccomp", why=f"thread {thread} has a filter of its own")


def _files(code: Assembler, calls: dict[str, int]) -> None:
    """Deny chmod with set-uid or set-gid bits."""
    code.label("openat")
    code.load(argument(2))
    code.any_bit(_MAKES, yes="mode 3", no="allowed")
    if "open" in calls:
        code.label("open")
        code.load(argument(1))
        code.any_bit(_MAKES, yes="mode 2", no="allowed")
    for index in (1, 2, 3):
        code.label(f"mode {index}")
        code.load(argument(index))
        code.any_bit(_SET_ID, yes="refused", no="allowed")
    code.label("fcntl")
    code.load(argument(1))
    for command in _COMMANDS:
        code.equal(command, yes="refused")
    code.give(ALLOW)
    code.label("renameat2")
    code.load(argument(4))
    code.any_bit(_WHITEOUT, yes="refused", no="allowed")
    for name, (index, bit) in _HUGE.items():
        code.label(name)
        code.load(argument(index))
        code.any_bit(bit, yes="memory", no="allowed")
    code.label("ioctl")
    code.load(argument(1))
    for request in _TERMINAL:
        code.equal(request, yes="refused")
    code.give(ALLOW)


def _processes(code: Assembler) -> None:
    """Deny new namespaces, which would give capabilities back, and access to other processes."""
    code.label("unshare")
    code.load(argument(0))
    code.any_bit(_NAMESPACES | _NEW_TIME, yes="refused", no="allowed")
    code.label("clone")
    code.load(argument(0))
    code.any_bit(_NAMESPACES, yes="refused", no="allowed")
    code.label("personality")
    code.load(argument(0))
    code.equal(0, yes="allowed")
    code.equal(_ASK, yes="allowed", no="refused")
    code.label("ioprio_set")
    code.load(argument(0))
    code.equal(_ONE_PROCESS, no="refused")
    code.load(argument(1))
    code.equal(0, yes="allowed", no="refused")
    code.label("prlimit64")
    code.load(argument(2))
    code.equal(0, no="other pid")
    code.load(argument(2, high=True))
    code.equal(0, yes="allowed")
    code.label("other pid")
    code.load(argument(0))
    code.equal(0, yes="allowed", no="refused")


def _sockets(code: Assembler, *, net: str) -> None:
    """Only families whose every way out is known; a namespace of the network does not hold all of them."""
    code.label("socket")
    code.load(argument(0))
    if net == "off":
        code.give(ERRNO | EAFNOSUPPORT)
    else:
        code.equal(_INET, yes="internet")
        code.equal(_INET6, yes="internet")
        code.equal(_NETLINK, no="family")
        code.load(argument(2))
        code.equal(0, yes="allowed", no="protocol")  # NETLINK_ROUTE
        code.label("internet")
        code.load(argument(1))
        code.mask(_TYPE)
        code.equal(_STREAM, yes="protocols")
        code.equal(_DGRAM, no="type")
        code.label("protocols")
        code.load(argument(2))
        for protocol in _PROTOCOLS:
            code.equal(protocol, yes="allowed")
        code.give(ERRNO | EPROTONOSUPPORT)
    code.label("socketpair")
    code.load(argument(0))
    code.equal(_UNIX, no="family")
    # A datagram socket can be connected again, to any path; the others stay connected.
    code.load(argument(1))
    code.mask(_TYPE)
    code.equal(_STREAM, yes="allowed")
    code.equal(_SEQPACKET, yes="allowed", no="type")
