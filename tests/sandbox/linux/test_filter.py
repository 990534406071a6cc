"""What the filter says to every call that matters, on both architectures, by an interpreter of our own."""

import os
from errno import EAFNOSUPPORT, ENOMEM, ENOSYS, EPERM, EPROTONOSUPPORT, ESOCKTNOSUPPORT

import pytest

from agent_exec.sandbox.linux.calls import AUDIT, NEWEST, UnknownArchitecture, table
from agent_exec.sandbox.linux.seccomp import ABSENT, ALLOW, ERRNO, KILL, REFUSED, program
from sandbox.linux.children import judge

ARCHITECTURES = ("x86_64", "aarch64")
NETS = ("off", "loopback", "on")
HIGH = 0xDEADBEEF << 32
I386, ARM = 0x40000003, 0x40000028
EVERY_WAY = [(a, net) for a in ARCHITECTURES for net in NETS]
NAMES = 0x4000000
NAMESPACES = (0x20000, 0x2000000, NAMES, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
MUST_BE_REFUSED = """
ptrace process_vm_readv process_vm_writev io_uring_setup io_uring_enter io_uring_register bpf perf_event_open
userfaultfd keyctl add_key request_key kexec_load kexec_file_load init_module finit_module delete_module reboot
swapon swapoff open_by_handle_at quotactl quotactl_fd pidfd_getfd chroot pivot_root acct settimeofday clock_settime
adjtimex clock_adjtime sethostname setdomainname kcmp process_madvise mount umount2 open_tree open_tree_attr
move_mount fsopen fsconfig fsmount fspick mount_setattr setns syslog fanotify_init
""".split()


def verdict(architecture: str, call: str, *arguments: int, net: str = "off") -> int | str:
    """Return the errno, or "allow", or "kill"."""
    given = judge(
        program(net=net, architecture=architecture),
        AUDIT[architecture],
        table(architecture)[call],
        *arguments,
    )
    return read(given)


def read(given: int) -> int | str:
    if given & 0xFFFF0000 == ERRNO:
        return given & 0xFFFF
    return {ALLOW: "allow", KILL: "kill"}[given]


def both(call: str) -> list[str]:
    return [name for name in ARCHITECTURES if call in table(name)]


@pytest.mark.parametrize(("architecture", "net"), EVERY_WAY)
def test_every_number_gets_its_verdict(architecture: str, net: str) -> None:
    """Without arguments, all numbers: the denied ones, and no others."""
    calls = table(architecture)
    filter_ = program(net=net, architecture=architecture)
    denied: dict[int, int | str] = {}
    for number in range(NEWEST + 200):
        given = read(judge(filter_, AUDIT[architecture], number))
        if given != "allow":
            denied[number] = given
    wanted: dict[int, int | str] = {calls[name]: EPERM for name in REFUSED if name in calls}
    wanted[calls["ioprio_set"]] = EPERM  # for nobody
    wanted |= {calls[name]: ENOSYS for name in ABSENT if name in calls}
    wanted |= dict.fromkeys(range(NEWEST + 1, NEWEST + 200), ENOSYS)
    wanted |= {calls[name]: EAFNOSUPPORT for name in ("socket", "socketpair")}  # the family 0
    assert denied == wanted


def test_the_list_of_the_refused_is_whole() -> None:
    assert set(MUST_BE_REFUSED) | {"iopl", "ioperm"} == set(REFUSED)
    for architecture in ARCHITECTURES:
        assert set(MUST_BE_REFUSED) <= set(table(architecture))


@pytest.mark.parametrize("name", [*REFUSED, *ABSENT])
def test_no_argument_helps(name: str) -> None:
    for architecture in both(name):
        for words in ([0] * 6, [1] * 6, [HIGH] * 6, [(1 << 64) - 1] * 6):
            for net in NETS:
                assert verdict(architecture, name, *words, net=net) == (ENOSYS if name in ABSENT else EPERM)


@pytest.mark.parametrize(("architecture", "net"), EVERY_WAY)
def test_another_architecture_is_killed(architecture: str, net: str) -> None:
    filter_ = program(net=net, architecture=architecture)
    others = [I386, ARM, 0, 0xFFFFFFFF, *(AUDIT[name] for name in ARCHITECTURES if name != architecture)]
    for other in others:
        for number in (0, 1, 20, 102, 120, 0x40000000):
            assert judge(filter_, other, number) == KILL


@pytest.mark.parametrize(
    "number", [NEWEST + 1, 512, 547, 0x40000000, 0x40000029, 0x4000010C, 0x7FFFFFFF, 0xFFFFFFFF]
)
def test_unknown_numbers_are_absent(number: int) -> None:
    for architecture in ARCHITECTURES:
        filter_ = program(architecture=architecture)
        assert read(judge(filter_, AUDIT[architecture], number)) == ENOSYS


def test_the_disk_priority_of_others() -> None:
    for architecture in ARCHITECTURES:
        assert verdict(architecture, "ioprio_set", 1, 0, 7) == "allow"
        for words in ((1, 1), (1, HIGH | 1), (2, 0), (3, 0), (0, 0)):
            assert verdict(architecture, "ioprio_set", *words, 7) == EPERM


@pytest.mark.parametrize(
    ("call", "index", "bit"), [("mmap", 3, 0x40000), ("memfd_create", 1, 4), ("shmget", 2, 0o4000)]
)
def test_huge_pages(call: str, index: int, bit: int) -> None:
    """The machine has a fixed number of them; whoever gets none uses ordinary ones."""
    for architecture in ARCHITECTURES:
        words = [0] * 6
        for flags, wanted in (
            (0, "allow"),
            (bit, ENOMEM),
            (bit | HIGH | 1, ENOMEM),
            (HIGH, "allow"),
            (0x22, "allow"),
        ):
            words[index] = flags
            assert verdict(architecture, call, *words) == wanted


def test_renames() -> None:
    """All but those that leave a device behind."""
    for architecture in ARCHITECTURES:
        for flags, wanted in (
            (0, "allow"),
            (1, "allow"),
            (2, "allow"),
            (4, EPERM),
            (5, EPERM),
            (4 | HIGH, EPERM),
        ):
            assert verdict(architecture, "renameat2", 3, 0, 4, 0, flags) == wanted


def test_leases_and_the_urgency_of_others() -> None:
    for architecture in ARCHITECTURES:
        assert verdict(architecture, "fcntl", 3, 1024) == EPERM
        assert verdict(architecture, "fcntl", 3, 1024 | HIGH) == EPERM
        assert verdict(architecture, "fcntl", 3, 1026) == EPERM
        for command in (0, 1, 2, 3, 4, 6, 1025, 1030, 1031, 1033):
            assert verdict(architecture, "fcntl", 3, command) == "allow"
        assert verdict(architecture, "sched_setattr", 0) == "allow"
        assert verdict(architecture, "sched_setattr", 1) == EPERM


def test_namespaces() -> None:
    for architecture in ARCHITECTURES:
        for flag in NAMESPACES:
            for extra in (0, 17, 0x100, HIGH):
                assert verdict(architecture, "clone", flag | extra) == EPERM
                assert verdict(architecture, "unshare", flag | extra) == EPERM
        assert verdict(architecture, "unshare", 0x80) == EPERM
        for flags in (
            17,
            0x01200011,
            0x003D0F00,
            0x4111,
            0x80,
            HIGH | 17,
        ):  # fork, glibc's fork and threads, vfork
            assert verdict(architecture, "clone", flags) == "allow"
        for flags in (0, 0x200, 0x400, 0x40000):
            assert verdict(architecture, "unshare", flags) == "allow"


MODES = [
    ("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("fchmodat2", 2), ("creat", 1), ("mkdir", 1), ("mkdirat", 2),
    ("mknod", 1), ("mknodat", 2),
]  # fmt: skip


@pytest.mark.parametrize(("name", "index"), MODES)
def test_set_id_bits(name: str, index: int) -> None:
    for architecture in both(name):
        for mode in (0o4000, 0o2000, 0o6755, 0o104755, 0o4755 | HIGH):
            words = [0xFFFFFFFFFFFFFFFF] * 4
            words[index] = mode
            assert verdict(architecture, name, *words) == EPERM
        for mode in (0, 0o755, 0o1777, 0o100644, 0o644 | HIGH):
            words = [0xFFFFFFFFFFFFFFFF] * 4
            words[index] = mode
            assert verdict(architecture, name, *words) == "allow"


@pytest.mark.parametrize(("name", "index"), [("open", 1), ("openat", 2)])
def test_set_id_bits_of_files_that_are_made(name: str, index: int) -> None:
    for architecture in both(name):
        for flags in (
            os.O_CREAT,
            os.O_CREAT | os.O_WRONLY,
            os.O_TMPFILE | os.O_RDWR,
            os.O_CREAT | HIGH,
            0o20000000,
        ):
            words = [0] * 4
            words[index] = flags
            for mode, wanted in (
                (0o4755, EPERM),
                (0o2755 | HIGH, EPERM),
                (0o755, "allow"),
                (0o1777 | HIGH, "allow"),
            ):
                words[index + 1] = mode
                assert verdict(architecture, name, *words) == wanted
        for flags in (0, os.O_WRONLY, os.O_RDONLY | os.O_DIRECTORY, os.O_TRUNC, 0o40000, 0o200000):
            words = [0] * 4
            words[index] = flags
            words[index + 1] = 0o7777  # which says nothing, for nothing is made
            assert verdict(architecture, name, *words) == "allow"


def test_terminals() -> None:
    for architecture in ARCHITECTURES:
        for request in (0x5412, 0x541C, 0x5423, HIGH | 0x5412, 0xFFFFFFFF_0000541C):
            assert verdict(architecture, "ioctl", 0, request) == EPERM
        for request in (0x5401, 0x5413, 0x540E, 0x5414, 0x80045430, 0x8912):
            assert verdict(architecture, "ioctl", 0, request) == "allow"
        assert verdict(architecture, "ioctl", 0x5412, 0x5401, 0x5412) == "allow"


def test_personality() -> None:
    for architecture in ARCHITECTURES:
        for asked in (0, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF, HIGH):
            assert verdict(architecture, "personality", asked) == "allow"
        for asked in (8, 0x0040000, 0x0020000, 0x0400000, 0x0100000, 1):
            assert verdict(architecture, "personality", asked) == EPERM


def test_other_processes() -> None:
    for architecture in ARCHITECTURES:
        for name in ("move_pages", "migrate_pages"):
            assert verdict(architecture, name, 0, 5) == "allow"
            assert verdict(architecture, name, HIGH, 5) == "allow"  # a pid is an int
            assert verdict(architecture, name, 1) == EPERM
        for new in (0x1000, HIGH, 0x7FFF00000000):
            assert verdict(architecture, "prlimit64", 0, 7, new) == "allow"
            assert verdict(architecture, "prlimit64", 1, 7, new) == EPERM
            assert verdict(architecture, "prlimit64", 0xFFFFFFFF, 7, new) == EPERM
        assert verdict(architecture, "prlimit64", 1, 7, 0, 0x1000) == "allow"


UNIX, INET, INET6, NETLINK = 1, 2, 10, 16
STREAM, DGRAM, RAW, SEQPACKET = 1, 2, 3, 5
FLAGS = 0x80800  # close-on-exec and non-blocking


@pytest.mark.parametrize("family", [*range(64), 0xFFFF, 0xFFFFFFFF])
def test_families(family: int) -> None:
    for architecture in ARCHITECTURES:
        for high in (0, HIGH):
            for kind in (STREAM, DGRAM, RAW, SEQPACKET):
                assert verdict(architecture, "socket", family | high, kind) == EAFNOSUPPORT
                for net in ("loopback", "on"):
                    wanted: int | str = EAFNOSUPPORT
                    if family in (INET, INET6):
                        wanted = "allow" if kind in (STREAM, DGRAM) else ESOCKTNOSUPPORT
                    elif family == NETLINK:
                        wanted = "allow"
                    assert verdict(architecture, "socket", family | high, kind, net=net) == wanted


def test_types_and_protocols() -> None:
    for architecture in ARCHITECTURES:
        for family in (INET, INET6):
            for kind in range(16):
                wanted: int | str = "allow" if kind in (STREAM, DGRAM) else ESOCKTNOSUPPORT
                assert verdict(architecture, "socket", family, kind | FLAGS, net="on") == wanted
                assert verdict(architecture, "socket", family, kind | HIGH, net="on") == wanted
            for protocol in range(300):
                wanted = "allow" if protocol in (0, 1, 6, 17, 58) else EPROTONOSUPPORT
                assert verdict(architecture, "socket", family, STREAM, protocol, net="on") == wanted
        for protocol in range(32):
            wanted = "allow" if protocol == 0 else EPROTONOSUPPORT
            assert verdict(architecture, "socket", NETLINK, RAW, protocol, net="loopback") == wanted
            assert verdict(architecture, "socket", NETLINK, RAW, protocol | HIGH, net="loopback") == wanted


def test_pairs() -> None:
    for architecture in ARCHITECTURES:
        for net in NETS:
            for kind in range(16):
                wanted: int | str = "allow" if kind in (STREAM, SEQPACKET) else ESOCKTNOSUPPORT
                for extra in (0, FLAGS, HIGH):
                    assert verdict(architecture, "socketpair", UNIX, kind | extra, net=net) == wanted
                    assert verdict(architecture, "socketpair", UNIX | HIGH, kind | extra, net=net) == wanted
            for family in (0, INET, INET6, NETLINK, 30, 40):
                assert verdict(architecture, "socketpair", family, STREAM, net=net) == EAFNOSUPPORT


def test_other_wishes_are_refused() -> None:
    with pytest.raises(ValueError, match="no such way"):
        program(net="proxy")
    with pytest.raises(UnknownArchitecture):
        program(architecture="riscv64")
