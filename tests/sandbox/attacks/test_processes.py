"""Processes: none outside is reached, none outlives its command, none takes more than it may (48, 55-57)."""

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from sandbox.attacks.ground import PYTHON, Runner, World, Worlds, ended, first_processes
from support import processes_marked, wait_until


def _several(mark: str) -> bool:
    return len(processes_marked(mark)) >= 3


def _gone(runner: Runner, first: int) -> bool:
    return first not in first_processes(runner)


SIGNALS = r"""
target = ARGS["target"]
attempt("kill 0", lambda: os.kill(target, 0))
attempt("kill cont", lambda: os.kill(target, signal.SIGCONT))
attempt("pidfd", lambda: signal.pidfd_send_signal(os.pidfd_open(target), signal.SIGCONT))
attempt("seen", lambda: os.stat("/proc/%d" % target))
attempt("affinity", lambda: os.sched_setaffinity(target, os.sched_getaffinity(target)))
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, target, os.getpriority(os.PRIO_PROCESS, target)))
attempt("limits", lambda: __import__("resource").prlimit(target, 7))
attempt("session", lambda: os.getsid(target))
attempt("group", lambda: os.getpgid(target))
"""


def test_no_process_outside_is_signalled(world: World) -> None:
    """Cases 48 and 50: the caller, the factory, the other boxes are not there."""
    target = world.runner.process.pid
    free = world.python(SIGNALS, boxed=False, args={"target": target})
    assert {name for name, word in free.results.items() if word != "ok"} == set()
    outside = [target, *processes_marked(world.runner.mark)]
    assert len(outside) > 2
    for pid in [pid for pid in outside if pid > 1000][:4]:  # a box has few pids, and none as high as these
        assert not world.python(SIGNALS, args={"target": pid}).made


def test_the_first_process_cannot_be_harmed(warm: World) -> None:
    """Case 48: whatever a command sends to it, and to all, the box goes on."""
    code = r"""
for number in sorted(signal.valid_signals()):
    try:
        os.kill(1, number)
    except OSError:
        pass
    try:
        signal.pidfd_send_signal(os.pidfd_open(1), number)
    except OSError:
        pass
syscall(ARGS["tgkill"], 1, 1, 9)
pid = os.fork()
if pid == 0:
    time.sleep(60)
os.setsid() if os.getpgrp() != os.getpid() else None
signal.signal(signal.SIGTERM, signal.SIG_IGN)
say("before", os.getpid())
os.kill(-1, signal.SIGSTOP)
os.kill(-1, signal.SIGKILL)
say("gone", os.waitpid(pid, 0)[1])
"""
    tgkill = 131 if os.uname().machine == "aarch64" else 234
    profile = warm.profile(tmp_mb=32)
    assert warm.python("pass", profile=profile).error == ""
    boxes = set(first_processes(warm.runner))
    found = warm.python(code, profile=profile, args={"tgkill": tgkill})
    assert found.results["gone"] == "9"
    assert warm.python("print('still here')", profile=profile).out == "still here\n"
    assert boxes <= set(first_processes(warm.runner)), "a box did not survive"


DAEMON = r"""
import sys
name = ARGS.get("name", "")
for number in range(3):
    if os.fork() == 0:
        os.setsid()
        for fd in (0, 1, 2):
            os.close(fd)
        for one in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGCHLD):
            signal.signal(one, signal.SIG_IGN)
        if os.fork() == 0:
            if name:
                libc.prctl(15, name.encode(), 0, 0, 0)
            if number == 1:
                os.kill(os.getpid(), signal.SIGSTOP)
            if number == 2:
                pid = syscall(ARGS["clone"], 0, 0, 0, 0, 0)  # no signal at its end
            spill(ROOT + "/daemon%d" % number)
            while True:
                time.sleep(60)
        os._exit(0)
while not all(os.path.exists(ROOT + "/daemon%d" % number) for number in (0, 2)):
    time.sleep(0.002)
time.sleep(60 if ARGS.get("stay") else 0)
"""


def _marked(
    world: World, code: str, name: str = "", *, stay: bool = False, timeout: float = 20
) -> tuple[str, object]:
    mark = f"ATTACK_MARK=m{time.monotonic_ns()}"
    key, value = mark.split("=")
    for file in world.root.glob("daemon*"):
        file.unlink()
    clone = 220 if os.uname().machine == "aarch64" else 56
    answer = world.python(
        code,
        args={"name": name, "stay": stay, "clone": clone},
        env={"PATH": "/usr/bin:/bin", key: value},
        timeout=timeout,
    )
    return mark, answer


def test_daemons_end_with_their_command(warm: World) -> None:
    """Case 56: by its end and by its timeout, whatever they do to stay."""
    for stay, timeout in ((False, 20), (True, 1)):
        mark, answer = _marked(warm, DAEMON, stay=stay, timeout=timeout)
        assert ended(mark), (stay, answer)


def test_daemons_that_bear_the_name_of_a_job_end_too(warm: World) -> None:
    """A process may call itself what it likes: in a box, nobody is exempt."""
    for stay, timeout in ((False, 20), (True, 1)):
        mark, answer = _marked(warm, DAEMON, "agent-exec/job", stay=stay, timeout=timeout)
        gone = ended(mark)
        for pid in processes_marked(mark):
            os.kill(pid, signal.SIGKILL)
        assert gone, (stay, answer)


def test_a_storm_ends_with_its_command(warm: World) -> None:
    """Case 56: who forks all the time is ended as well."""
    storm = r"""
if os.fork() == 0:
    os.setsid()
    for fd in (0, 1, 2):
        os.close(fd)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if os.fork() != 0:
            os._exit(0)
spill(ROOT + "/daemon0")
"""
    mark, _ = _marked(warm, storm)
    assert ended(mark)


def test_nothing_outlives_a_caller_that_is_killed(worlds: Worlds, new_runner: Callable[[], Runner]) -> None:
    """Case 56: not a second longer; and nothing is left in the workspace but what the command wrote (25)."""
    for tty in (False, True):
        world = worlds()
        world.runner = runner = new_runner()
        (world.root / ".git").mkdir()
        world.own()
        key, value = (mark := f"ATTACK_MARK=k{time.monotonic_ns()}").split("=")
        code = (
            f"trap '' TERM HUP INT; setsid {PYTHON} -c 'import time; time.sleep(60)' & echo >ready; sleep 60"
        )
        runner.send(
            {
                "argv": ["/bin/sh", "-c", code],
                "cwd": str(world.root),
                "profile": world.profile(),
                "env": {"PATH": "/usr/bin:/bin", key: value},
                "tty": tty,
            }
        )
        wait_until((world.root / "ready").exists)
        wait_until(partial(_several, mark))
        runner.kill()
        assert ended(mark, runner.mark), (processes_marked(mark), processes_marked(runner.mark))
        assert sorted(path.name for path in world.root.iterdir()) == [".git", "mine", "ready"]


def test_a_box_that_was_killed_is_replaced(world: World, new_runner: Callable[[], Runner]) -> None:
    """Case 62: between commands, the next one gets a new box; during one, that one is lost, and says so."""
    world.runner = runner = new_runner()
    assert world.shell("true").exit_code == 0
    for _ in range(5):
        (first,) = first_processes(runner)
        os.kill(first, signal.SIGKILL)
        wait_until(partial(_gone, runner, first))
        script = f"echo $AGENT_EXEC_SANDBOX; touch {world.out}/evil 2>&1 | grep -c ."
        found = world.shell(script)
        if found.error == "keeper_lost":  # the factory had not heard of its end yet
            found = world.shell(script)
        assert (found.error, found.out) == ("", f"{runner.backend}\n1\n"), found
    (first,) = first_processes(runner)
    runner.send(
        {
            "argv": ["/bin/sh", "-c", "echo >ready; sleep 60"],
            "cwd": str(world.root),
            "profile": world.profile(),
        }
    )
    wait_until((world.root / "ready").exists)
    os.kill(first, signal.SIGKILL)
    assert runner.process.stdout is not None
    assert "error" in runner.process.stdout.readline()
    assert world.shell("echo again").out == "again\n"


def test_a_stopped_box_does_not_stop_the_caller(world: World, new_runner: Callable[[], Runner]) -> None:
    """Whoever stops the first process from outside while it waits delays nothing for ever."""
    world.runner = runner = new_runner()
    assert world.shell("true").exit_code == 0
    (first,) = first_processes(runner)
    parent = int(Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(parent, signal.SIGSTOP)
    assert world.shell("echo fine").out == "fine\n"
    os.kill(first, signal.SIGSTOP)
    runner.send(
        {
            "argv": ["/bin/sh", "-c", "echo ok"],
            "cwd": str(world.root),
            "profile": world.profile(),
            "timeout": 3,
        }
    )
    os.kill(first, signal.SIGCONT)
    assert runner.process.stdout is not None
    assert "ok" in runner.process.stdout.readline()


def test_limits(warm: World) -> None:
    """Case 57: processes, memory, size of files, descriptors and time of a processor are bounded."""
    bomb = r"""
pids = []
try:
    while len(pids) < 2000:
        pid = os.fork()
        if pid == 0:
            signal.pause()
            os._exit(0)
        pids.append(pid)
except OSError as problem:
    say("error", errno.errorcode[problem.errno])
say("count", len(pids))
"""
    found = warm.python(bomb, limits={"procs": 350}).results
    assert found["error"] == "EAGAIN"
    assert int(found["count"]) <= 350 + 301, "those that the kernel hands out only once"
    assert warm.python("print('usable')", limits={"procs": 350}).out == "usable\n"
    bounds = {"memory_mb": 128, "file_mb": 1, "open_files": 32}
    code = r"""
import resource
def grow():
    return bytearray(256 << 20)
attempt("memory", grow)
attempt("mapped", lambda: mmap.mmap(-1, 256 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
attempt("file", lambda: spill(ROOT + "/big", "x" * (2 << 20)))
attempt("truncated", lambda: os.truncate(ROOT + "/mine", 2 << 20))
def many():
    kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(64)]
attempt("descriptors", many)
for name in ("RLIMIT_DATA", "RLIMIT_FSIZE", "RLIMIT_NOFILE"):
    attempt(name, lambda: resource.setrlimit(getattr(resource, name), (resource.RLIM_INFINITY,) * 2))
say("core", resource.getrlimit(resource.RLIMIT_CORE)[1] <= 1)
"""
    found = warm.python(code, limits=bounds).results
    assert found.pop("core") == "True"
    assert {name for name, word in found.items() if word == "ok"} == set()
    assert (warm.root / "big").stat().st_size <= 1 << 20
    start = time.monotonic()
    spin = warm.python("while True: pass", limits={"cpu": 1}, timeout=20)
    assert spin.signal in {"SIGXCPU", "SIGKILL"}
    assert time.monotonic() - start < 15


def test_few_processes_are_still_enough_after_many(warm: World) -> None:
    """A small limit means so many at once, and not so many in all."""
    code = r"""
for number in range(330):
    pid = os.fork()
    if pid == 0:
        inner = os.fork()
        if inner == 0:
            os._exit(0)
        os.waitpid(inner, 0)
        os._exit(0)
    if os.waitpid(pid, 0)[1]:
        raise SystemExit("the fork below number %d failed" % number)
say("count", 330)
"""
    answer = warm.python(code, limits={"procs": 64})
    assert answer.exit_code == 0, answer.err
    assert warm.python("print('usable')", limits={"procs": 64}).out == "usable\n"


def test_output_never_reaches_the_control_socket(world: World) -> None:
    """Case 62: whatever a command prints, and whatever it asks of its descriptors, is only its output."""
    code = r"""
data = struct.pack("<iiqi", 3, os.getpid(), 0, 1) * 100 + os.urandom(4096)
os.write(1, data)
os.write(2, data)
for fd in range(3, 1024):
    try:
        os.write(fd, data)
    except OSError:
        continue
    os.write(2, b"WROTE")
for fd in (1, 2):
    for flag in (os.O_NONBLOCK, 0):
        fcntl.fcntl(fd, fcntl.F_SETFL, flag)
    try:
        fcntl.fcntl(fd, 1031, 4096)  # its size
    except OSError:
        pass
"""
    found = world.python(code)
    assert found.exit_code == 0
    assert "WROTE" not in found.err
    assert world.python("print('usable')").out == "usable\n"
