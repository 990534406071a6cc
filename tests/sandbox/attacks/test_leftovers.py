"""Between two commands of one box nothing is left, but what is in the roots."""

import os

import pytest

from sandbox.attacks.ground import World

LEAVE = r"""
for path in ("/tmp", "/var/tmp", "/dev/shm"):
    spill(path + "/left")
    os.makedirs(path + "/a/b/c")
    spill(path + "/a/b/c/left")
    os.chmod(path + "/a/b", 0)
    os.symlink(ROOT, path + "/link")
    os.mkfifo(path + "/fifo")
os.umask(0)
os.chdir("/usr")
os.environ["LEFT"] = "1"
"""
LOOK = r"""
say("files", [os.listdir(path) for path in ("/tmp", "/var/tmp", "/dev/shm")])
say("modes", ["%o" % (os.stat(path).st_mode & 0o7777) for path in ("/tmp", "/var/tmp", "/dev/shm")])
say("cwd", os.getcwd() == ROOT)
say("umask", os.umask(0))
say("env", os.environ.get("LEFT"))
say("pids", len([name for name in os.listdir("/proc") if name.isdigit()]))
"""
CLEAN = {
    "files": "[[], [], []]",
    "modes": "['1777', '1777', '1777']",
    "cwd": "True",
    "env": "None",
    "pids": "2",
}


def _looks_clean(world: World) -> None:
    found = world.python(LOOK).results
    found.pop("umask")
    assert found == CLEAN


def test_files_and_surroundings(warm: World) -> None:
    fresh = warm.python(LOOK).results
    umask = fresh.pop("umask")
    assert fresh == CLEAN
    assert warm.python(LEAVE).exit_code == 0
    assert warm.python(LOOK).results == {**CLEAN, "umask": umask}
    assert (warm.root / "mine").read_text() == "mine\n"


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])
def test_a_folder_that_was_closed(warm: World, folder: str) -> None:
    """Who forbids everybody to enter a private folder must not keep the next one from having a clean one."""
    for _ in range(5):
        assert warm.python(f"spill({folder!r} + '/left'); os.chmod({folder!r}, 0)").exit_code == 0
        _looks_clean(warm)


def test_folders_too_deep_to_be_removed_simply(warm: World) -> None:
    """Deeper than a path may be long, than Python recurses, than descriptors last."""
    code = r"""
os.chdir("/tmp")
for _ in range(1500):
    os.mkdir("a" * 60)
    os.chdir("a" * 60)
spill("left")
"""
    for _ in range(2):
        assert warm.python(code).exit_code == 0
        _looks_clean(warm)


def test_shared_memory_and_queues(warm: World) -> None:
    """Case 53: those of the machine are not seen, those of one command are not there for the next."""
    args = {"mq": 180 if os.uname().machine == "aarch64" else 240, "key": os.getpid() << 8 | 1}
    use = r"""
libc.shmget.argtypes = (ctypes.c_int, ctypes.c_size_t, ctypes.c_int)
flags = 0o1600 if ARGS["make"] else 0
attempt("shm", lambda: checked(libc.shmget(ARGS["key"], 4096, flags)))
attempt("msg", lambda: checked(libc.msgget(ARGS["key"], flags)))
attempt("sem", lambda: checked(libc.semget(ARGS["key"], 1, flags)))
attempt("mq", lambda: os.close(syscall(ARGS["mq"], b"attack%d" % ARGS["key"], os.O_RDWR | (os.O_CREAT if ARGS["make"] else 0), 0o600, 0)))
"""
    remove = r"""
libc.shmctl(libc.shmget(ARGS["key"], 0, 0), 0, None)
libc.msgctl(libc.msgget(ARGS["key"], 0), 0, None)
libc.semctl(libc.semget(ARGS["key"], 0, 0), 0, 0)
syscall(ARGS["mq"] + 1, b"attack%d" % ARGS["key"])
"""
    made = warm.python(use, boxed=False, args={**args, "make": True}).results
    try:
        assert set(made.values()) == {"ok"}
        assert set(warm.python(use, boxed=False, args={**args, "make": False}).results.values()) == {"ok"}
        assert not warm.python(use, args={**args, "make": False}).made
    finally:
        warm.python(remove, boxed=False, args=args)
    warm.python(use, args={**args, "make": True})
    assert not warm.python(use, args={**args, "make": False}).made, "left for the next command"


def test_the_first_process_is_not_slowed_down_for_the_next(warm: World) -> None:
    """Its priority, processors and schedule are what every later command inherits."""
    look = r"""
say("nice", os.getpriority(os.PRIO_PROCESS, 0))
say("processors", sorted(os.sched_getaffinity(0)))
say("schedule", os.sched_getscheduler(0))
say("io", syscall(ARGS["ioprio_get"], 1, 0))
"""
    harm = r"""
attempt("nice", lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
attempt("nice of all", lambda: os.setpriority(os.PRIO_USER, os.getuid(), 18))
attempt("processors", lambda: os.sched_setaffinity(1, {min(os.sched_getaffinity(0))}))
attempt("schedule", lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))
attempt("io", lambda: syscall(ARGS["ioprio_set"], 1, 1, 3 << 13))
"""
    arm = os.uname().machine == "aarch64"
    args = {"ioprio_set": 30 if arm else 251, "ioprio_get": 31 if arm else 252}
    profile = warm.profile(tmp_mb=64)
    before = warm.python(look, profile=profile, args=args).results
    tried = warm.python(harm, profile=profile, args=args).results
    assert warm.python(look, profile=profile, args=args).results == before, tried


def test_times_and_flags_of_the_folders(warm: World) -> None:
    """What a command does to the folders themselves, beside their content."""
    look = r"""
for path in ("/tmp", "/var/tmp", "/dev/shm"):
    fd = os.open(path, os.O_RDONLY)
    say(path, (os.stat(path).st_mtime_ns, fcntl.ioctl(fd, 0x80086601, bytes(8))[0] if ARGS["flags"] else 0))
"""
    leave = r"""
for path in ("/tmp", "/var/tmp", "/dev/shm"):
    attempt("time " + path, lambda: os.utime(path, (1, 1)))
    fd = os.open(path, os.O_RDONLY)
    attempt("flag " + path, lambda: fcntl.ioctl(fd, 0x40086602, struct.pack("l", 0x40)))
"""
    made = warm.python(leave).made
    flags = "flag /tmp" in made
    assert "time /tmp" in made or warm.runner.uid != 0
    found = warm.python(look, args={"flags": flags}).results
    for word in found.values():
        time, flag = word.strip("()").split(", ")
        assert int(time) > 10**18
        assert int(flag) & 0x40 == 0


def test_connections_that_were_closed(warm: World) -> None:
    """Their ports are free for the next command, which does not see them either."""
    if warm.runner.backend != "ns":
        pytest.skip("among what is not enforced")
    leave = r"""
listener = socket.create_server(("127.0.0.1", 4567))
ends = [socket.create_connection(("127.0.0.1", 4567))]
ends.append(listener.accept()[0])
ends[1].close()
ends[0].recv(1)
ends[0].close()
listener.close()
say("now", len(open("/proc/net/tcp").readlines()) - 1)
"""
    look = r"""
say("seen", len(open("/proc/net/tcp").readlines()) - 1)
bare = socket.socket()
attempt("bind", lambda: bare.bind(("127.0.0.1", 4567)))
"""
    assert warm.python(leave).exit_code == 0
    assert warm.python(look).results == {"seen": "0", "bind": "ok"}


def test_nothing_is_left_by_locks_and_leases(warm: World) -> None:
    """A lock on a file outside ends with the command that took it."""
    code = "attempt('lock', lambda: fcntl.flock(os.open(OUT + '/v01', os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB))"
    warm.python(code)
    assert warm.python(code, boxed=False).made
