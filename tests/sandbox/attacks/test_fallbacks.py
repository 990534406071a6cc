"""Landlock alone, the last resort: what it must stop it stops, and what it cannot is named, and true.

Commands share the machine's processes here, those of their own helper too:
so that one is attacked as well.
"""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_exec.sandbox.linux.calls import machine, table
from sandbox.attacks.conftest import USERS, make_runner
from sandbox.attacks.ground import NOBODY, PYTHON, Runner, World, Worlds, ended, names
from sandbox.attacks.test_counted import (
    test_a_box_is_ended_first_when_memory_is_short,
    test_descriptors_without_a_box,
    test_huge_pages,
    test_urgency_and_crashes,
    test_what_the_machine_has_once,
    test_which_clients_are_notified_of_changes,
)
from sandbox.attacks.test_files import CHANGES, test_the_kernel_cannot_be_configured
from sandbox.attacks.test_kernel import (
    test_calls_of_another_architecture,
    test_calls_that_no_command_needs,
    test_mounts_stay,
    test_no_namespaces_below,
    test_no_reaching_into_other_processes,
    test_numbers_from_elsewhere,
    test_only_three_descriptors,
)
from sandbox.attacks.test_network import (
    test_an_empty_list_is_no_network,
    test_no_process_outside_is_reached,
    test_odd_sockets_are_refused,
)
from sandbox.attacks.test_processes import (
    DAEMON,
    _marked,
    test_a_storm_ends_with_its_command,
    test_daemons_end_with_their_command,
    test_daemons_that_bear_the_name_of_a_job_end_too,
    test_nothing_outlives_a_caller_that_is_killed,
    test_output_never_reaches_the_control_socket,
)
from support import processes_marked

# Attacks on the strong backends that hold here word for word; pytest finds them by these names.
__all__ = [
    "test_a_box_is_ended_first_when_memory_is_short",
    "test_a_storm_ends_with_its_command",
    "test_an_empty_list_is_no_network",
    "test_calls_of_another_architecture",
    "test_calls_that_no_command_needs",
    "test_daemons_end_with_their_command",
    "test_daemons_that_bear_the_name_of_a_job_end_too",
    "test_descriptors_without_a_box",
    "test_huge_pages",
    "test_mounts_stay",
    "test_no_namespaces_below",
    "test_no_process_outside_is_reached",
    "test_no_reaching_into_other_processes",
    "test_nothing_outlives_a_caller_that_is_killed",
    "test_numbers_from_elsewhere",
    "test_odd_sockets_are_refused",
    "test_only_three_descriptors",
    "test_output_never_reaches_the_control_socket",
    "test_the_kernel_cannot_be_configured",
    "test_urgency_and_crashes",
    "test_what_the_machine_has_once",
    "test_which_clients_are_notified_of_changes",
]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Landlock is Linux's")

METADATA = {
    *("chmod", "fchmod", "chmod by /proc", "chown", "fchown", "utime", "futimens"),
    *("setxattr", "fsetxattr", "set flags", "folder chmod"),
}
"""What of a file outside can be changed, as `unenforced` says."""
FICKLE = {"set flags"}
"""On ext4 this turns extents into blocks, which fails when they are just being written."""


@pytest.fixture(scope="session", params=[f"{user}-landlock" for user in USERS])
def runner(request: pytest.FixtureRequest, ground: Path) -> Iterator[Runner]:
    user, backend = request.param.split("-")
    found = make_runner(user, backend, ground)
    yield found
    found.close()


def _contents(folder: Path) -> dict[str, object]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else path.stat().st_mode >> 12
        for path in folder.rglob("*")
    }


@contextmanager
def bystander(runner: Runner, code: str = "") -> Iterator["subprocess.Popen[bytes]"]:
    """Return a process of the same user's outside of every box, which says so when it gets SIGURG."""
    program = (
        "import os, signal, sys\nsignal.signal(signal.SIGURG, lambda *_: os.write(1, b'hit\\n'))\n"
        "signal.signal(signal.SIGRTMIN, lambda *_: os._exit(0))\n"
    )
    argv = [PYTHON, "-IS", "-c", f"{program}{code}\nos.write(1, b'up\\n')\nwhile True: signal.pause()"]
    if runner.user == "nobody":
        argv = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--", *argv]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, cwd="/", start_new_session=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def _hits(process: "subprocess.Popen[bytes]") -> int:
    """Count the signals that a bystander has got by now: one of a higher number is heard after them."""
    assert process.stdout is not None
    os.kill(process.pid, signal.SIGCONT)
    process.send_signal(signal.SIGRTMIN)
    return process.stdout.read().count(b"hit")


def test_nothing_outside_is_written(worlds: Worlds) -> None:
    """Cases 1-4: every way to write, but those that only change what is known about a file (5)."""
    free = worlds().python(CHANGES, boxed=False).results
    assert {name for name, word in free.items() if word != "ok"} <= FICKLE
    world = worlds()
    before = _contents(world.out)
    found = world.python(CHANGES, report=True)
    assert found.results.keys() == free.keys()
    assert METADATA - FICKLE <= set(found.made) <= METADATA, "more than is documented, or less"
    assert _contents(world.out) == before
    assert names(world.root) == {"mine", "a", "b", "c", "door", "window"}
    assert found.sandbox["strength"] == "degraded"
    assert any("modes, owners, times and attributes" in gap for gap in found.sandbox["unenforced"])


def test_the_root_stays_in_its_place(worlds: Worlds) -> None:
    code = r"""
attempt("rename the root", lambda: os.rename(ROOT, ROOT + "2"))
attempt("beside the root", lambda: os.mkdir(os.path.dirname(ROOT) + "/beside"))
"""
    assert len(worlds().python(code, boxed=False).made) == 2
    world = worlds()
    assert not world.python(code).made
    assert sorted(path.name for path in world.base.iterdir()) == ["out", "work"]


def test_read_only_writes_nowhere(world: World) -> None:
    """Case 36, without a private /tmp: neither there, nor in shared memory, nor in a terminal's folder."""
    code = r"""
for folder in (ROOT, OUT, "/tmp", "/var/tmp", "/dev/shm", "/dev/pts", "/dev", os.environ.get("HOME", "/")):
    attempt("create in " + folder, lambda: spill(folder + "/" + ARGS["name"] + "-new"))
for folder in (ROOT, "/tmp", "/var/tmp", "/dev/shm"):
    path = folder + "/" + ARGS["name"]
    attempt("write in " + folder, lambda: spill(path))
    attempt("truncate in " + folder, lambda: os.truncate(path, 0))
    attempt("remove from " + folder, lambda: os.unlink(path))
attempt("mine", lambda: spill(ROOT + "/mine"))
"""
    name = f"attack-{uuid.uuid4().hex}"
    paths = [Path(folder, name) for folder in (world.root, "/tmp", "/var/tmp", "/dev/shm")]
    try:
        for path in paths:
            path.write_text("precious")
            os.chown(path, world.runner.uid, -1)
        assert not world.python(code, name="read-only", args={"name": name}).made
        assert {path.read_text() for path in paths} == {"precious"}
        made = world.python(code, boxed=False, args={"name": name}).made
        assert {"write in /tmp", "write in /dev/shm", "truncate in /var/tmp", "mine"} <= made.keys()
    finally:
        for folder in {path.parent for path in paths} | {world.out, world.runner.home}:
            for left in folder.glob(f"{name}*"):
                left.unlink()


def test_devices_of_the_machine(world: World) -> None:
    """Case 8: root owns the nodes of the disks, and so only a wall keeps it from them."""
    code = r"""
usual = {"null", "zero", "full", "random", "urandom", "tty", "ptmx"}
for name in sorted(os.listdir("/dev") + ["net/tun", "cpu/0/msr", "input/event0"]):
    path = "/dev/" + name
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
    except OSError:
        continue
    if os.path.islink(path) or name in usual or name.startswith("watchdog"):
        continue
    if kind in (stat.S_IFCHR, stat.S_IFBLK):
        for word, flags in (("write", os.O_WRONLY), ("both", os.O_RDWR)):
            attempt(word + " " + name, lambda: os.close(os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)))
say("count", counter)
"""
    control = r"""
for name in ("loop0", "kmsg", "loop-control", "tty0", "net/tun", "fuse"):
    attempt(name, lambda: os.close(os.open("/dev/" + name, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)))
say("x", "")
"""
    if world.runner.uid == 0 and not world.python(control, boxed=False).made:
        pytest.skip("root reaches no device here")
    assert not world.python(code).made
    made = r"""
attempt("make char", lambda: os.mknod(ROOT + "/c", 0o20666, os.makedev(1, 3)))
attempt("make block", lambda: os.mknod(ROOT + "/b", 0o60666, os.makedev(7, 0)))
attempt("make whiteout", lambda: os.mknod(ROOT + "/w", 0o20666, 0))
attempt("make in tmp", lambda: os.mknod("/tmp/attack-whiteout-%d" % os.getpid(), 0o20666, 0))
attempt("make in /dev", lambda: spill("/dev/attack-new"))
attempt("remove from /dev", lambda: os.unlink("/dev/attack-none"))
attempt("disk control", lambda: fcntl.ioctl(os.open("/dev/loop0", os.O_RDONLY), 0x4C05, bytes(232)))
"""
    assert not world.python(made).made
    assert names(world.root) == {"mine"}
    usual = r"""
for name in ("null", "zero", "urandom"):
    attempt(name, lambda: spill("/dev/" + name))
attempt("terminal", lambda: os.openpty())
attempt("output", lambda: spill("/dev/stderr"))
"""
    assert len(world.python(usual).made) == 5
    assert "up" in world.python("print('up' if os.isatty(0) else 'down')", tty=True).out


SIGNALS = r"""
target, calls = ARGS["target"], ARGS["calls"]
attempt("kill", lambda: os.kill(target, signal.SIGURG))
attempt("kill 0", lambda: os.kill(target, 0))
attempt("group", lambda: os.killpg(target, signal.SIGURG))
attempt("pidfd", lambda: signal.pidfd_send_signal(os.pidfd_open(target), signal.SIGURG))
attempt("pidfd of a folder", lambda: signal.pidfd_send_signal(os.open("/proc/%d" % target, os.O_RDONLY), signal.SIGURG))
attempt("tgkill", lambda: syscall(calls["tgkill"], target, target, signal.SIGURG))
attempt("tkill", lambda: syscall(calls["tkill"], target, signal.SIGURG))
info = struct.pack("iiiiii104x", signal.SIGURG, 0, -1, 0, os.getpid(), os.getuid())
attempt("sigqueue", lambda: syscall(calls["rt_sigqueueinfo"], target, signal.SIGURG, info))
attempt("tgsigqueue", lambda: syscall(calls["rt_tgsigqueueinfo"], target, target, signal.SIGURG, info))
def owned():
    ours, theirs = socket.socketpair()
    fcntl.fcntl(ours, fcntl.F_SETOWN, target)
    fcntl.fcntl(ours, fcntl.F_SETSIG, signal.SIGURG)
    fcntl.fcntl(ours, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    theirs.send(b"x")
owned()
"""
_X86 = {"tgkill": 234, "tkill": 200, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297}
_ARM = {"tgkill": 131, "tkill": 130, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240}


def test_no_process_outside_is_signalled(world: World) -> None:
    """Case 48: by none of the ways, nor by a signal to everybody (one that harms nobody if it arrives)."""
    calls = _ARM if machine() == "aarch64" else _X86
    with bystander(world.runner) as process:
        free = world.python(SIGNALS, boxed=False, args={"target": process.pid, "calls": calls}).results
        assert {name for name, word in free.items() if word != "ok"} == set()
        assert _hits(process) > 0
    with bystander(world.runner) as process:
        for target in (process.pid, world.runner.process.pid):
            found = world.python(SIGNALS, args={"target": target, "calls": calls})
            assert not found.made, found.made
        everybody = "attempt('all', lambda: os.kill(-1, signal.SIGURG))\nsay('x', '')"
        assert world.python(everybody).exit_code == 0
        assert _hits(process) == 0
    assert world.python("print('usable')").out == "usable\n"


LOOKS = r"""
def reads(path):
    with open(path, "rb") as file:
        if not file.read(100):
            raise OSError(errno.EACCES, "nothing there")
def parent(pid):
    with open("/proc/%d/stat" % pid) as file:
        return int(file.read().rpartition(")")[2].split()[1])
targets = {"caller": ARGS["target"]}
if ARGS["above"]:
    targets["helper"] = parent(os.getpid())
    targets["outer"] = parent(targets["helper"])
    targets["factory"] = parent(targets["outer"])
for who, target in targets.items():
    P = "/proc/%d/" % target
    say("name of " + who, open(P + "comm").read().strip())
    for name in ("environ", "maps", "smaps", "auxv", "io", "stack", "syscall"):
        attempt(who + " " + name, lambda: reads(P + name))
    attempt(who + " mem", lambda: os.close(os.open(P + "mem", os.O_RDONLY)))
    attempt(who + " mem written", lambda: os.close(os.open(P + "mem", os.O_RDWR)))
    attempt(who + " task mem", lambda: os.close(os.open(P + "task/%d/mem" % target, os.O_RDWR)))
    for name in ("root", "cwd", "exe", "ns/net"):
        attempt(who + " " + name, lambda: os.readlink(P + name))
    attempt(who + " through root", lambda: os.listdir(P + "root/"))
    attempt(who + " map_files", lambda: os.listdir(P + "map_files"))
    for number in range(12):
        for word, flags in (("r", os.O_RDONLY), ("w", os.O_WRONLY)):
            path = P + "fd/%d" % number
            attempt(who + " fd %d %s" % (number, word), lambda: os.close(os.open(path, flags | os.O_NONBLOCK)))
    for name in ("oom_score_adj", "comm", "coredump_filter", "clear_refs", "timerslack_ns", "autogroup"):
        attempt(who + " writes " + name, lambda: os.close(os.open(P + name, os.O_WRONLY)))
"""


def test_no_process_is_inspected(world: World) -> None:
    """Case 49: not the caller, not the factory, not the command's own helper, which has the caller's secrets."""
    target = world.runner.process.pid
    free = world.python(LOOKS, boxed=False, args={"target": target, "above": False}).made
    assert {"caller environ", "caller maps", "caller root", "caller mem"} <= free.keys()
    found = world.python(LOOKS, args={"target": target, "above": True})
    assert found.results["name of helper"] == found.results["name of factory"] == "agent-exec"
    assert not found.made


def test_no_rights(world: World) -> None:
    """Case 54: no capability, no new privilege, a filter; no set-id bit, not even in a root."""
    code = r"""
with open("/proc/self/status") as file:
    found = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
for name in ("CapInh", "CapPrm", "CapEff", "CapAmb", "NoNewPrivs", "Seccomp"):
    say(name, int(found[name], 16))
spill(ROOT + "/tool", "#!/bin/sh")
for mode in (0o4755, 0o2755):
    attempt("chmod %o" % mode, lambda: os.chmod(ROOT + "/tool", mode))
    attempt("chmod outside %o" % mode, lambda: os.chmod(victim(), mode))
    attempt("open %o" % mode, lambda: os.close(os.open(ROOT + "/tool2", os.O_CREAT | os.O_WRONLY, mode)))
    attempt("mkdir %o" % mode, lambda: syscall(ARGS["mkdirat"], -100, (ROOT + "/d").encode(), mode))
attempt("file capability", lambda: os.setxattr(ROOT + "/tool", b"security.capability", struct.pack("<IIIII", 0x2000001, 1, 0, 0, 0)))
attempt("setuid", lambda: os.setuid(1234))
attempt("setgroups", lambda: os.setgroups([0]))
attempt("another rule", lambda: syscall(ARGS["mount"], 0, 0, 0, 0, 0))
"""
    numbers = {name: table(machine())[name] for name in ("mkdirat", "mount")}
    found = world.python(code, args=numbers).results
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert found.pop(name) == "0", name
    assert (found.pop("NoNewPrivs"), found.pop("Seccomp")) == ("1", "2")
    assert {name for name, word in found.items() if word == "ok"} == set()
    assert (world.root / "tool").stat().st_mode & 0o7000 == 0


ESCAPE = r"""
helper = os.getppid()
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    for fd in (0, 1, 2):
        os.close(fd)
    libc.prctl(15, b"agent-exec/job", 0, 0, 0)  # whom the factory would leave alone
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    pipes = []
    try:
        for number in range(3, 20):  # the one by which helpers say that they leave
            try:
                fd = os.open("/proc/%d/fd/%d" % (helper, number), os.O_WRONLY | os.O_NONBLOCK)
                os.write(fd, helper.to_bytes(4, "little"))
            except OSError:
                pass
    finally:
        spill(ROOT + "/up")
    os.kill(helper, ARGS["signal"])
    while True:
        time.sleep(60)
while True:
    time.sleep(60)
"""


def test_a_command_that_kills_its_helper_ends_too(warm: World) -> None:
    """The helper is in the same domain, so a command may kill it; nothing is won by that."""
    for number in (signal.SIGKILL, signal.SIGSTOP):
        key, value = (mark := f"ATTACK_MARK=e{uuid.uuid4().hex}").split("=")
        env = {"PATH": "/usr/bin:/bin", key: value}
        found = warm.python(ESCAPE, args={"signal": number}, env=env, timeout=1)
        assert found.error == "keeper_lost" or found.timed_out, found
        gone = ended(mark)
        for pid in processes_marked(mark):
            os.kill(pid, signal.SIGKILL)
        assert gone, f"a command outlived its helper, which it sent {number!r}"
        assert warm.python("print('usable')").out == "usable\n"


def test_a_command_that_stops_its_helper_repeatedly(warm: World) -> None:
    """It cannot keep its end from coming: it is timed out, or the helper is given up."""
    code = r"""
helper = os.getppid()
for _ in range(2):
    os.fork()
while True:
    os.kill(helper, signal.SIGSTOP)
"""
    key, value = (mark := f"ATTACK_MARK=s{uuid.uuid4().hex}").split("=")
    found = warm.python(code, env={"PATH": "/usr/bin:/bin", key: value}, timeout=1)
    assert found.error == "keeper_lost" or found.timed_out, found
    assert ended(mark)
    assert warm.python("print('usable')").out == "usable\n"


def test_everybody_of_the_box_killed_by_one(warm: World) -> None:
    """Which is the helper too: the command is lost, and the next one has another."""
    found = warm.python("os.kill(-1, signal.SIGKILL)\ntime.sleep(60)", timeout=20)
    assert found.error == "keeper_lost"
    assert warm.python("print('usable')").out == "usable\n"
    mark, _ = _marked(warm, DAEMON)
    assert ended(mark)


def test_a_helper_that_was_slowed_down_is_not_reused(warm: World) -> None:
    """What a command does to its helper, the next command would inherit."""
    tell = (
        "print(os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0), sorted(os.sched_getaffinity(0)))"
    )
    before = warm.python(tell).out
    for harm in (
        "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
        "os.sched_setscheduler(os.getppid(), os.SCHED_IDLE, os.sched_param(0))",
        "os.sched_setaffinity(os.getppid(), [min(os.sched_getaffinity(0))])",
    ):
        assert warm.python(harm).exit_code == 0
        assert warm.python(tell).out == before, harm


def test_a_helper_is_used_again_after_misdeeds(warm: World) -> None:
    """Its folder, its input, its signals: the next command finds all as ever."""
    tell = r"""
say("cwd", os.getcwd())
say("ignored", [one for one in signal.valid_signals() if signal.getsignal(one) == signal.SIG_IGN and one not in (13, 25)])
say("mask", signal.pthread_sigmask(signal.SIG_BLOCK, ()))
say("fds", sorted(os.listdir("/proc/self/fd"))[:-1])
say("umask", os.umask(0o22))
say("limits", [__import__("resource").getrlimit(one) for one in range(16)])
"""
    misdeed = r"""
for number in sorted(signal.valid_signals() - {9, 19}):
    for target in (os.getppid(), -1):
        try:
            if target != -1 or number in (signal.SIGCHLD, signal.SIGURG, signal.SIGCONT, signal.SIGWINCH):
                os.kill(target, number)
        except OSError:
            pass
os.umask(0)
os.chdir("/")
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
for fd in (0, 1, 2):
    os.close(fd)
"""
    before = warm.python(tell).results
    for _ in range(3):
        assert warm.python(misdeed).error == ""
        assert warm.python(tell).results == before


def test_a_helper_does_not_use_up_the_time_of_commands(warm: World) -> None:
    """A limit of CPU seconds counts for the helper too, which serves many: it is given up in time."""
    for _ in range(3):
        found = warm.python("os.kill(os.getppid(), signal.SIGCHLD)\nprint('fine')", limits={"cpu": 1})
        assert (found.error, found.out) == ("", "fine\n")
    spin = warm.python("while True: pass", limits={"cpu": 1}, timeout=30)
    assert spin.signal in {"SIGXCPU", "SIGKILL"}


def _gap(answer: Any, word: str) -> bool:
    return any(word in gap for gap in answer.sandbox["unenforced"])


def test_the_gaps_are_reported_and_true(world: World) -> None:
    """Case 60: what is not enforced is in `unenforced`; should it be enforced one day, the words must go."""
    (world.root / ".git").mkdir()
    (world.root / ".git" / "config").write_text("")
    (world.root / "hidden").write_text("secret")
    world.own()
    name = f"/tmp/attack-{uuid.uuid4().hex}"
    segment = r"""
IPC_CREAT = 0o1000
found = checked(libc.shmget(ARGS["key"], 4096, IPC_CREAT | 0o600))
"""
    key = 0x10000000 | (time.monotonic_ns() & 0xFFFFFFF)
    code = r"""
attempt("protect", lambda: spill(ROOT + "/.git/config"))
attempt("deny_read", lambda: open(ROOT + "/hidden").read())
attempt("tmp", lambda: spill(ARGS["name"]))
def forks():
    for _ in range(20):
        if os.fork() == 0:
            signal.pause()
            os._exit(0)
attempt("procs", forks)
attempt("seen", lambda: open("/proc/%d/cmdline" % ARGS["target"]).read())
attempt("slowed", lambda: os.setpriority(os.PRIO_PROCESS, ARGS["target"], 19))
attempt("shared memory", lambda: checked(libc.shmget(ARGS["key"], 4096, 0)))
def loopback():
    server = socket.create_server(("127.0.0.1", 0))
    socket.create_connection(server.getsockname()).close()
attempt("loopback", loopback)
"""
    fields: dict[str, Any] = {"deny_read": ["hidden"], "limits": {"procs": 10}}
    try:
        assert world.python(segment, boxed=False, args={"key": key}).exit_code == 0
        with bystander(world.runner) as process:
            args = {"name": name, "target": process.pid, "key": key}
            found = world.python(code, args=args, report=True, **fields)
            slowed = os.getpriority(os.PRIO_PROCESS, process.pid)
    finally:
        Path(name).unlink(missing_ok=True)
        world.python("libc.shmctl(libc.shmget(ARGS['key'], 0, 0), 0, 0)", boxed=False, args={"key": key})
    results = found.results
    assert results.pop("loopback") == "EAFNOSUPPORT"
    if world.runner.uid == 0:
        results.pop("slowed")  # who has capabilities is safe from root without any
    else:
        assert slowed == 19
    assert {name for name, word in results.items() if word != "ok"} == set()
    assert found.sandbox["backend"] == "landlock"
    assert found.sandbox["strength"] == "degraded"
    for word in (
        str(world.root / ".git"),
        str(world.root / "hidden"),
        "no private /tmp",
        "limits.procs",
        "other processes can be seen",
        "System V",
        "loopback",
        "terminals",
    ):
        assert _gap(found, word), word


def test_it_is_never_chosen_unless_allowed(world: World) -> None:
    """A profile that does not say so gets nothing weaker than it expects."""
    found = world.runner.run(
        ["/bin/sh", "-c", "echo >ran"], world.root, {"name": "workspace-write", "roots": [str(world.root)]}
    )
    assert found.error == "sandbox_unavailable"
    assert "degraded" in found.message
    assert not (world.root / "ran").exists()


def test_a_list_of_hosts_is_refused(world: World) -> None:
    found = world.runner.run(["/bin/sh", "-c", "echo >ran"], world.root, world.profile(net=["example.org"]))
    assert found.error == "sandbox_unavailable"
    assert not (world.root / "ran").exists()


def test_a_root_that_is_another_folder_now(warm: World) -> None:
    """Case 34: between two commands, and in a box that waits."""
    assert warm.shell("echo >first").exit_code == 0
    warm.root.rename(warm.base / "kept")
    warm.root.mkdir()
    warm.own()
    found = warm.shell("echo >second")
    assert found.error == "sandbox_unavailable"
    assert not (warm.root / "second").exists()
    assert not (warm.base / "kept" / "second").exists()


def test_many_at_once_do_not_reach_each_other(world: World) -> None:
    """Two boxes are two domains, also of the same profile: neither signals the other's processes."""
    victim = r"""
signal.signal(signal.SIGURG, lambda *_: spill(ROOT + "/hit"))
spill(ROOT + "/victim.tmp", str(os.getpid()))
os.rename(ROOT + "/victim.tmp", ROOT + "/victim")
while not os.path.exists(ROOT + "/done"):
    time.sleep(0.002)
"""
    code = r"""
while not os.path.exists(ROOT + "/victim"):
    time.sleep(0.002)
target = int(open(ROOT + "/victim").read())
attempt("kill", lambda: os.kill(target, signal.SIGURG))
attempt("environ", lambda: open("/proc/%d/environ" % target).read())
attempt("root", lambda: os.listdir("/proc/%d/root/" % target))
os.kill(-1, signal.SIGURG)
spill(ROOT + "/done")
"""
    from sandbox.attacks.ground import request, with_prelude

    arguments = f'{{"root": "{world.root}", "out": "{world.out}"}}'
    asked = [
        request([PYTHON, "-IS", "-c", with_prelude(one), arguments], world.root, world.profile(), timeout=20)
        for one in (victim, code)
    ]
    first, second = world.runner.run_many(asked)
    assert first.exit_code == 0, first
    assert not second.made
    assert not (world.root / "hit").exists()


def test_no_process_outside_waits_for_a_box_to_open_a_file(world: World) -> None:
    """A lease keeps others from opening a file. A lock only tells others who ask for it, and is a known gap."""
    code = r"""
def leased():
    fcntl.fcntl(os.open(victim(), os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)
attempt("lease", leased)
"""
    assert world.python(code, boxed=False).made
    assert not world.python(code).made
