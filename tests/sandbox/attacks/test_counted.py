"""What the kernel counts for a user, or for the machine, and not for a box: no command uses it up for others."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_exec.sandbox.linux.calls import machine, table
from sandbox.attacks.ground import PYTHON, Runner, World, Worlds, attack, request, with_prelude
from support import wait_until

NUMBERS = table(machine())

SEND = r"""
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
null, kept, count = os.open("/dev/null", os.O_RDONLY), [], 0
try:
    while count < ARGS["most"]:
        kept.append(socket.socketpair())
        kept[-1][0].setblocking(False)
        try:
            for _ in range(50):
                socket.send_fds(kept[-1][0], [b"x"], [null] * min(250, ARGS["most"] - count))
                count += min(250, ARGS["most"] - count)
                if count == ARGS["most"]:
                    break
        except BlockingIOError:
            pass
except OSError as problem:
    say("stopped", errno.errorcode[problem.errno])
say("limit", hard)
say("sent", count)
if ARGS["stay"]:
    spill(ROOT + "/sent")
    while not os.path.exists(ROOT + "/enough"):
        time.sleep(0.01)
"""


@pytest.fixture
def crowded(
    ground: Path, worlds: Worlds, new_runner: Callable[[], Runner]
) -> Iterator[tuple[World, Runner, int]]:
    """A world whose commands belong to a user of their own, and another runner of that user; how many it may send."""
    world = worlds()
    made: list[Runner] = []
    if os.getuid() == 0 and world.runner.user != "nobody":
        pytest.skip("root may always send")
    for number in range(2):
        home = ground / f"crowded-{number}-{world.base.name}"
        home.mkdir()
        if os.getuid() == 0:
            uid = 60000 + os.getpid() % 5000  # whom no other test needs
            os.chown(home, uid, uid)
            made.append(Runner("nobody", ground, home, world.runner.kind, uid=uid))
        else:
            made.append(Runner(world.runner.user, ground, home, world.runner.kind))
    world.runner = made[0]
    world.own()
    yield world, made[1], 20000 if os.getuid() == 0 else 400
    for one in made:
        one.close()


def test_descriptors_under_way(crowded: tuple[World, Runner, int]) -> None:
    """Whoever has more of them under way than it may have open can send none, and all of a user's count."""
    world, other, most = crowded
    limits = {} if most > 400 else {"open_files": 64}
    args = {"root": str(world.root), "out": "", "most": most, "stay": True}
    argv = [PYTHON, "-IS", "-c", with_prelude(SEND), json.dumps(args)]
    world.runner.send(request(argv, world.root, world.profile(limits=limits)))
    wait_until((world.root / "sent").exists)
    # As most have it: few, unless one raises it oneself.
    hard = other.do("few descriptors", soft=64)["hard"]
    plain = {"argv": ["echo", "fine"], "cwd": "/", "timeout": 20}
    try:
        answers = {
            "plain": other.ask({**plain, "profile": None}),
            "terminal": other.ask({**plain, "profile": None, "tty": True}),
            "box": other.ask({**plain, "profile": {"name": "read-only"}}),
            "hosts": other.ask({**plain, "profile": {"name": "read-only", "net": ["example.invalid"]}}),
            "own": other.ask({**plain, "profile": {"name": "read-only"}, "tty": True}),
        }
    finally:
        (world.root / "enough").touch()
    assert world.runner.process.stdout is not None
    found = dict(
        line.split("\t") for line in json.loads(world.runner.process.stdout.readline())["out"].splitlines()
    )
    assert found["stopped"] == "ETOOMANYREFS"
    assert int(found["limit"]) <= min(4096, hard // 2)
    assert int(found["sent"]) <= int(found["limit"]) + 250
    # A terminal of a box comes from inside, where no more is allowed than to a command: it is refused, at once.
    own = answers.pop("own")
    assert own.get("error") == "launch_failed" or own["out"].strip() == "fine", own
    assert {name: answer.get("out", answer).strip() for name, answer in answers.items()} == dict.fromkeys(
        answers, "fine"
    )


def test_descriptors_without_a_box(world: World) -> None:
    """The control: nothing stops them but what the user may have open."""
    found = world.python(SEND, boxed=False, args={"most": 400, "stay": False}).results
    assert found["sent"] == "400"
    stopped = world.python(SEND, limits={"open_files": 64}, args={"most": 400, "stay": False}).results
    assert (stopped["stopped"], stopped["limit"]) == ("ETOOMANYREFS", "64")


NOTICES = r"""
def instances(count):
    kept = [libc.inotify_init1(0) for _ in range(count)]
    if -1 in kept:
        raise OSError(ctypes.get_errno(), "")
attempt("instances", lambda: instances(20))
folder = os.open(OUT, os.O_RDONLY)
attempt("dnotify", lambda: fcntl.fcntl(folder, fcntl.F_NOTIFY, fcntl.DN_MODIFY))
attempt("fanotify", lambda: os.close(syscall(ARGS["fanotify_init"], 0x200, os.O_RDONLY)))
"""


def test_which_clients_are_notified_of_changes(worlds: Worlds) -> None:
    """There are 128 of each for a user, and a program that gets none does not start."""
    world = worlds()
    found = world.python(NOTICES, args=NUMBERS).results
    free = world.python(NOTICES, boxed=False, args=NUMBERS).results
    assert free == dict.fromkeys(free, "ok")
    bounded = world.runner.backend == "ns"
    assert found == {"instances": "EMFILE" if bounded else "ok", "dnotify": "EPERM", "fanotify": "EPERM"}
    assert world.python("checked(libc.inotify_init1(0))").exit_code == 0, "some are left for work"


def test_terminals(world: World, new_runner: Callable[[], Runner]) -> None:
    """The machine has some thousands for all boxes together."""
    if world.runner.backend != "ns":
        pytest.skip("among what is not enforced")
    code = r"""
kept = []
try:
    while len(kept) < 200:
        kept.append(os.openpty())
except OSError as problem:
    say("stopped", errno.errorcode[problem.errno])
say("count", len(kept))
"""
    assert world.python(code, boxed=False).results == {"count": "200"}
    assert world.python(code).results == {"stopped": "ENOSPC", "count": "64"}
    assert "works" in world.python("print('works')", tty=True).out


MACHINE = r"""
context = ctypes.c_ulong(0)
def aio():
    syscall(ARGS["io_setup"], 1, ctypes.byref(context))
    syscall(ARGS["io_setup"] + 1, context.value)
attempt("aio", aio)
def locked():
    size = 4 << 20
    libc.mmap.restype = ctypes.c_void_p
    place = ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(size), 3, 0x22, -1, ctypes.c_long(0)))
    checked(libc.mlock(place, ctypes.c_size_t(size)))
attempt("locked memory", locked)
spill(ROOT + "/old")
attempt("whiteout", lambda: syscall(ARGS["renameat2"], -100, (ROOT + "/old").encode(), -100, (ROOT + "/new").encode(), 4))
"""


def test_what_the_machine_has_once(worlds: Worlds) -> None:
    """Requests for the disk, memory that is never swapped; and no device is left behind by a rename."""
    world, answer = attack(worlds, MACHINE, args=NUMBERS)
    assert answer.results == {"aio": "ENOSYS", "locked memory": "ENOMEM", "whiteout": "EPERM"}
    assert (world.root / "old").exists()


def test_huge_pages(world: World) -> None:
    """Even one that is never touched is taken from the machine's store, if it has one."""
    code = r"""
attempt("memfd", lambda: os.close(os.memfd_create("x", os.MFD_HUGETLB)))
libc.mmap.restype = ctypes.c_long
attempt("mmap", lambda: checked(libc.mmap(None, ctypes.c_size_t(2 << 20), 3, 0x40022, -1, ctypes.c_long(0))))
libc.shmget.argtypes = (ctypes.c_int, ctypes.c_size_t, ctypes.c_int)
attempt("shmget", lambda: checked(libc.shmget(0, 2 << 20, 0o4600)))
"""
    assert world.python(code).results == dict.fromkeys(("memfd", "mmap", "shmget"), "ENOMEM")
    if Path("/sys/kernel/mm/hugepages").exists():
        assert "memfd" in world.python(code, boxed=False).made


def test_the_folders_in_memory_together(world: World) -> None:
    """What is in one of them is missing in the others: bytes and entries."""
    if world.runner.backend != "ns":
        pytest.skip("among what is not enforced")
    code = r"""
FOLDERS = ("/tmp", "/var/tmp", "/dev/shm")
total = 0
for folder in FOLDERS:
    fd = os.open(folder + "/big", os.O_CREAT | os.O_WRONLY)
    try:
        while True:
            total += os.write(fd, bytes(65536))
    except OSError as problem:
        say("bytes " + folder, errno.errorcode[problem.errno])
    if folder == FOLDERS[0]:
        os.truncate(folder + "/big", 1 << 20)
        total = 1 << 20
say("bytes", total)
for folder in FOLDERS:
    os.unlink(folder + "/big")
count = 0
for folder in FOLDERS:
    try:
        for _ in range(500 if folder != FOLDERS[-1] else 5000):
            os.mkdir(folder + "/%d" % count)
            count += 1
    except OSError as problem:
        say("entries " + folder, errno.errorcode[problem.errno])
say("entries", count)
"""
    found = world.python(code, tmp_mb=4).results
    assert int(found["bytes"]) <= 4 << 20
    assert int(found["entries"]) <= 1024
    assert found["entries /dev/shm"] == "ENOSPC"
    # Whatever is asked for, it is never more than a part of the machine's memory.
    room = r"""
for path in ("/tmp", "/var/tmp", "/dev/shm"):
    found = os.statvfs(path)
    say(path, found.f_blocks * found.f_frsize)
"""
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 8
    (given,) = set(map(int, world.python(room, tmp_mb=1 << 20).results.values()))
    assert most <= given < most + os.sysconf("SC_PAGE_SIZE")


def test_a_box_is_ended_first_when_memory_is_short(world: World) -> None:
    """No limit of a process bounds the memory of many; so the machine must know whom to end."""
    code = r"""
say("score", open("/proc/self/oom_score_adj").read().strip())
say("first", open("/proc/1/oom_score_adj").read().strip())
attempt("less", lambda: spill("/proc/self/oom_score_adj", "0"))
"""
    found = world.python(code)
    if world.runner.backend == "bwrap":
        assert found.results["less"] != "ok"
        return
    assert found.results["score"] == "1000"
    assert found.results["less"] != "ok"


def test_urgency_and_crashes(world: World) -> None:
    """What an operator lets the user do, such as to run before all others, is not for a command."""
    code = r"""
import resource
for name in ("RTPRIO", "NICE", "CORE", "MEMLOCK", "SIGPENDING", "MSGQUEUE"):
    say(name, resource.getrlimit(getattr(resource, "RLIMIT_" + name))[1])
attempt("first in, first out", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
"""
    found = world.python(code).results
    assert found.pop("first in, first out") == "EPERM"
    # One byte of core: with none, the machine's own handler of crashes would still be started.
    most: dict[str, Any] = {
        "RTPRIO": 0,
        "NICE": 0,
        "CORE": 1,
        "MEMLOCK": 1 << 20,
        "SIGPENDING": 1024,
        "MSGQUEUE": 0,
    }
    assert {name: int(found[name]) <= bound for name, bound in most.items()} == dict.fromkeys(most, True)
    assert found["CORE"] == "1"


def test_devices_in_what_is_protected(world: World) -> None:
    """A device file there, of whoever made it, is no device."""
    for name in (".git", ".vscode"):
        (world.root / name).mkdir()
    world.own()
    code = r"""
for name in ("", "/.git", "/.vscode"):
    say("nodev " + name, bool(os.statvfs(ROOT + name).f_flag & os.ST_NODEV))
"""
    assert set(world.python(code).results.values()) == {"True"}
