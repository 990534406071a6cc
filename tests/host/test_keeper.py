"""Keepers and their factory under attack: they are killed, starved and outlived, and nothing is lost."""

import os
import signal
import sys
from functools import partial
from pathlib import Path

import pytest

import agent_exec
from agent_exec import Command, Engine, Limits
from support import child, exists, processes_marked, wait_until

SOURCE = str(Path(agent_exec.__file__).parent.parent)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.parametrize("kind", ["plain", "daemon", "deaf"])
def test_a_killed_keeper_takes_its_tree_with_it_and_says_so(kind: str) -> None:
    with Engine() as engine:
        other = engine.start(Command(["cat"], interactive=True))
        run = engine.start(Command(child("tree", kind, 5)))
        wait_until(lambda: b"ready" in run.stdout and run.stdout.count(b"\n") == 6)
        pids = [int(word) for word in run.stdout.split() if word.isdigit()]
        assert run.pid is not None
        os.kill(parent_of(run.pid), signal.SIGKILL)
        with pytest.raises(agent_exec.AgentExecError) as caught:
            run.outcome()
        assert caught.value.code == "keeper_lost"
        assert not any(exists(pid) for pid in [*pids, run.pid]), "gone before we are told"
        other.write(b"unharmed")
        other.end_input()
        assert other.outcome().stdout == b"unharmed"
        assert engine.start(Command(["echo", "again"])).outcome().stdout == b"again\n"


@pytest.mark.parametrize("signals", [["TERM"], ["HUP", "INT", "USR1"], ["STOP"]])
def test_helpers_do_not_hear_what_is_meant_for_others(signals: list[str]) -> None:
    """A command that signals everything it sees ends or stops neither its keeper nor the factory."""
    sends = "; ".join(f"kill -{name} $K; kill -{name} $F" for name in signals if name != "STOP")
    sends = sends or "kill -STOP $K"
    script = f"K=$PPID; F=$(ps -o ppid= -p $K); {sends}; echo survived; setsid sleep 600 & sleep 600"
    out = agent_exec.run(["sh", "-c", script], timeout=0.5)
    assert (out.stdout, out.cause) == (b"survived\n", "timeout")
    assert b"agent-exec" in agent_exec.run(["sh", "-c", "ps -o comm= -p $PPID"]).stdout


def test_a_stopped_keeper_still_ends_with_its_owner() -> None:
    code = """
import sys
sys.path.append(sys.argv[1])
import agent_exec
agent_exec.run(["sh", "-c", "kill -STOP $PPID; echo $$; exec sleep 600"], on_output=lambda s, c: print(int(c), flush=True))
"""
    with Engine() as engine:
        owner = engine.start(Command([sys.executable, "-c", code, SOURCE], leftovers="leave"))
        wait_until(lambda: owner.stdout.endswith(b"\n"))
        os.kill(owner.pid or 0, signal.SIGKILL)
        wait_until(lambda: not exists(int(owner.stdout)))
        owner.outcome()


def test_when_keeper_and_factory_are_both_killed_the_session_is_ended(nothing_left: str) -> None:
    """Often, because the kernel says in any order that the two are gone."""
    with Engine() as engine:
        for _ in range(20):
            run = engine.start(Command(["sh", "-c", "trap '' TERM; sleep 601 & sleep 602"]))
            wait_until(partial(getattr, run, "pid"))
            keeper = parent_of(run.pid or 0)
            for helper in (parent_of(keeper), keeper):
                os.kill(helper, signal.SIGKILL)
            with pytest.raises(agent_exec.AgentExecError) as caught:
                run.outcome()
            assert caught.value.code == "keeper_lost"
            wait_until(lambda: not processes_marked(nothing_left))
    assert agent_exec.run(["true"]).ok


def test_a_keeper_killed_while_it_waits_for_work_is_replaced_without_a_word(nothing_left: str) -> None:
    with Engine(slots=3) as engine:
        runs = [engine.start(Command(["cat"], interactive=True)) for _ in range(3)]
        wait_until(lambda: all(run.pid for run in runs))
        keepers = [parent_of(run.pid or 0) for run in runs]
        for run in runs:
            run.end_input()
            run.outcome()
        for keeper in keepers:
            os.kill(keeper, signal.SIGKILL)
        wait_until(lambda: not any(Path(f"/proc/{keeper}").exists() for keeper in keepers))
        assert engine.start(Command(["echo", "fine"])).outcome().stdout == b"fine\n"


def test_helpers_that_cannot_start_are_said_and_not_tried_for_ever(tmp_path: Path) -> None:
    """An interpreter that starts and dies at once, as one whose files are damaged would."""
    code = """
import os, sys
sys.path.append(sys.argv[1])
import agent_exec
sys.executable = sys.argv[2]
for _ in range(2):
    try:
        agent_exec.run(["true"])
    except agent_exec.AgentExecError as error:
        print(error.code)
"""
    broken = tmp_path / "python"
    for script, told in (
        ("exit 3", "launch_failed"),
        ("exit 0", "launch_failed"),
        ("kill -9 $$", "launch_failed"),
    ):
        broken.write_text(f"#!/bin/sh\n{script}\n")
        broken.chmod(0o755)
        out = agent_exec.run([sys.executable, "-c", code, SOURCE, str(broken)], timeout=60)
        assert out.stdout_text.split() == [told, told], (script, out.stderr_text)


def test_an_owner_that_adopts_orphans_is_left_no_zombie() -> None:
    """As the first process of a container, which is the parent of whoever has lost its own."""
    code = """
import os, sys
sys.path.append(sys.argv[1])
import agent_exec
for _ in range(3):
    with agent_exec.Engine() as engine:
        engine.start(agent_exec.Command(["true"])).outcome()
print(open("/proc/self/task/1/children").read().split())
"""
    space = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    out = agent_exec.run([*space, sys.executable, "-c", code, SOURCE])
    if b"unshare" in out.stderr:
        pytest.skip("no pid namespaces for us on this machine")
    assert out.stdout == b"[]\n", out.stderr_text


def test_more_children_than_a_page_lists_are_all_seen() -> None:
    code = """
import os, signal
for _ in range(900):
    if os.fork() == 0:
        signal.pause()
os.write(1, b"ready")
signal.pause()
"""
    from agent_exec.host.posix.keeper.tree import children

    with Engine() as engine:
        run = engine.start(Command([sys.executable, "-IS", "-c", code]))
        wait_until(lambda: run.stdout == b"ready", seconds=60)
        assert len(children(run.pid or 0)) == 900


def test_a_killed_factory_is_replaced_and_its_keepers_serve_on() -> None:
    with Engine() as engine:
        run = engine.start(Command(["cat"], interactive=True))
        wait_until(lambda: run.pid)
        factory = parent_of(parent_of(run.pid or 0))
        os.kill(factory, signal.SIGKILL)
        wait_until(lambda: not exists(factory))
        more = [engine.start(Command(["echo", str(index)])) for index in range(3)]
        assert [each.outcome().stdout for each in more] == [b"0\n", b"1\n", b"2\n"]
        run.write(b"on")
        run.end_input()
        assert run.outcome().stdout == b"on"


def test_processes_left_on_purpose_survive_a_keeper_that_is_killed() -> None:
    with Engine() as engine:
        left = engine.start(
            Command(["sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"], leftovers="leave")
        ).outcome()
        run = engine.start(Command(["sleep", "600"]))
        wait_until(lambda: run.pid)
        os.kill(parent_of(run.pid or 0), signal.SIGKILL)
        with pytest.raises(agent_exec.AgentExecError):
            run.outcome()
        assert exists(int(left.stdout))
        os.kill(int(left.stdout), signal.SIGKILL)
        wait_until(lambda: not exists(int(left.stdout)))


def test_what_a_process_left_on_purpose_starts_later_survives_too() -> None:
    script = '(exec >/dev/null 2>&1; sleep 0.3; sh -c \'sleep 603 & echo $! > "$1"\' x "$0") & echo'
    with Engine() as engine:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            told = Path(folder) / "pid"
            engine.start(
                Command(["sh", "-c", script, str(told)], leftovers="leave", limits=Limits(drain=0))
            ).outcome()
            wait_until(lambda: told.exists() and told.read_text().endswith("\n"))
            late = int(told.read_text())
        victim = engine.start(Command(["sleep", "600"]))
        wait_until(lambda: victim.pid)
        os.kill(parent_of(victim.pid or 0), signal.SIGKILL)
        with pytest.raises(agent_exec.AgentExecError):
            victim.outcome()
        assert exists(late)
        os.kill(late, signal.SIGKILL)
        wait_until(lambda: not exists(late))


def test_a_command_may_kill_its_own_keeper() -> None:
    with pytest.raises(agent_exec.AgentExecError) as caught:
        agent_exec.run(["sh", "-c", "kill -9 $PPID; sleep 600"])
    assert caught.value.code == "keeper_lost"
    assert agent_exec.run(["true"]).ok


NO_DESCRIPTORS = """
import os, resource, sys
sys.path.append(sys.argv[1])
import agent_exec
agent_exec.run, agent_exec.AgentExecError  # imported while there are descriptors for that
if sys.argv[2] != "fresh":
    agent_exec.run(["true"])
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 4096))
taken = []
try:
    while True:
        taken.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
seen = set()
for free in range(12):
    try:
        out = agent_exec.run(["echo", "fine"], tty=sys.argv[2] == "tty", stdin=None if sys.argv[2] == "tty" else b"x")
        seen.add(out.stdout.strip() == b"fine")
    except agent_exec.AgentExecError as error:
        seen.add(error.code)
    os.close(taken.pop())
print(sorted(map(str, seen)))
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
print(agent_exec.run(["echo", "fine"]).stdout_text)
"""


@pytest.mark.parametrize("state", ["fresh", "started", "tty"])
def test_too_few_descriptors_are_a_typed_error_and_nothing_is_broken(state: str) -> None:
    """One descriptor more at each attempt, until it works: every place where one is made fails once."""
    out = agent_exec.run([sys.executable, "-c", NO_DESCRIPTORS, SOURCE, state])
    assert out.stdout_text.splitlines()[:2] == ["['True', 'launch_failed']", "fine"], (
        out.stdout_text + out.stderr_text
    )


NO_PROCESSES = """
import os, signal, sys
sys.path.append(sys.argv[1])
import agent_exec
open("/proc/sys/kernel/pid_max", "w").write("400")
if sys.argv[2] == "started":
    agent_exec.run(["true"])
elif sys.argv[2] == "busy":
    engine = agent_exec.Engine()
    busy = engine.start(agent_exec.Command(["cat"], interactive=True))
    while busy.pid is None: pass
children = []
try:
    while True:
        pid = os.fork()
        if pid == 0:
            signal.pause()
        children.append(pid)
except OSError:
    pass
def attempt():
    try:
        if sys.argv[2] == "busy":
            return engine.start(agent_exec.Command(["echo", "fine"])).outcome().stdout_text.strip()
        return agent_exec.run(["echo", "fine"]).stdout_text.strip()
    except agent_exec.AgentExecError as error:
        return error.code
print(attempt(), attempt())
for pid in children:
    os.kill(pid, 9); os.waitpid(pid, 0)
print(attempt())
if sys.argv[2] == "busy":
    engine.close()
"""


@pytest.mark.parametrize("state", ["fresh", "started", "busy"])
def test_no_processes_left_is_a_typed_error_and_passes(state: str) -> None:
    """The limit is that of a pid namespace of its own; the factory, a keeper or the command cannot be forked."""
    space = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    out = agent_exec.run([*space, sys.executable, "-c", NO_PROCESSES, SOURCE, state])
    if b"unshare" in out.stderr or b"pid_max" in out.stderr:
        pytest.skip("no pid namespace with a limit of its own on this machine")
    assert out.stdout_text.split() == ["launch_failed", "launch_failed", "fine"], out.stderr_text


def test_adopted_orphans_are_reaped_while_the_command_runs() -> None:
    code = """
import os, time
for _ in range(50):
    if os.fork() == 0:
        if os.fork() == 0:
            os._exit(0)
        os._exit(0)
    os.wait()
os.write(1, b"done\\n")
time.sleep(600)
"""
    with Engine() as engine:
        run = engine.start(Command([sys.executable, "-IS", "-c", code]))
        wait_until(lambda: run.stdout == b"done\n")
        keeper = parent_of(run.pid or 0)
        children = Path(f"/proc/{keeper}/task/{keeper}/children")
        wait_until(lambda: children.read_text().split() == [str(run.pid)])


def test_an_idle_keeper_holds_no_directory(tmp_path: Path, nothing_left: str) -> None:
    agent_exec.run(["true"], cwd=tmp_path)
    wait_until(lambda: {os.readlink(f"/proc/{pid}/cwd") for pid in processes_marked(nothing_left)} == {"/"})


IMMUNE = """
import os, sys, time
# A program of another user, which our keeper may not signal.
os.setgid(65534); os.setuid(65534)
print(os.getpid(), flush=True)
time.sleep(600)
"""

UNPRIVILEGED_OWNER = """
import ctypes, os, sys
sys.path.append(sys.argv[1])
import agent_exec
class Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]
# All rights but the two to change user and group; the keeper inherits that, its child as well.
data = (ctypes.c_uint32 * 6)(*[(1 << 6) | (1 << 7)] * 2, (1 << 6) | (1 << 7), 0, 0, 0)
libc = ctypes.CDLL(None, use_errno=True)
for cap in range(41):
    if cap not in (6, 7):
        libc.prctl(24, cap, 0, 0, 0)
out = agent_exec.run([sys.executable, "-IS", "-c", sys.argv[2]], timeout=1, grace=0.1)
print(out.cause, out.leaked, flush=True)
os.write(1, out.stdout)
"""


def test_a_process_we_may_not_end_is_said_to_be_leaked() -> None:
    """Like a command that runs sudo: the system forbids us to signal it. The call ends, and does not lie."""
    if os.geteuid() != 0:
        pytest.skip("needs root to make a process of another user")
    out = agent_exec.run([sys.executable, "-c", UNPRIVILEGED_OWNER, SOURCE, IMMUNE], leftovers="leave")
    words = out.stdout_text.split()
    assert words[:2] == ["timeout", "True"], out.stdout_text + out.stderr_text
    pid = int(words[2])
    assert exists(pid)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not exists(pid))


def test_five_hundred_spawns_and_kills_in_a_storm(nothing_left: str) -> None:
    with Engine(slots=50) as engine:
        runs = [
            engine.start(Command(["sh", "-c", "setsid sleep 600 & sleep 600"], limits=Limits(grace=0)))
            for _ in range(150)
        ]
        for run in runs:
            run.stop()
        for run in runs:
            run.outcome()
        assert [line for line in processes_marked(nothing_left).values() if line.startswith("sleep")] == []
