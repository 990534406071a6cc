"""Many commands: one after the other in one box, at once in several, from callers that die or fork."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import agent_exec
from agent_exec import Command, Engine
from sandbox.work.boxes import SOURCE, Space, left, need
from support import descriptors, processes_marked, wait_until


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_two_hundred_one_after_the_other_grow_nothing(room: Space) -> None:
    for _ in range(20):
        assert room.run("true").ok
    before, memory = descriptors(), _resident()
    pids = []
    for number in range(200):
        out = room.run("sh", "-c", f"echo {number}; exit {number % 7}", tty=number % 10 == 0)
        assert (out.stdout_text.strip(), out.exit_code, out.leaked) == (str(number), number % 7, False)
        pids.append(out.pid or 0)
    assert descriptors() == before
    assert _resident() - memory < 4 << 20
    assert max(pids) > 200, "it was one box"


@pytest.mark.parametrize("threaded", [True, False])
def test_twenty_at_once_in_boxes_of_one_profile(room: Space, threaded: bool) -> None:
    with Engine(slots=20, threaded=threaded) as engine:
        runs = [
            engine.start(Command(["cat"], cwd=room.root, interactive=True), sandbox=room.profile)
            for _ in range(20)
        ]
        for index, run in enumerate(runs):
            run.write(f"{index}".encode())
        if threaded:
            wait_until(lambda: all(run.stdout for run in runs))
            assert engine.running == 20
        for run in runs:
            run.end_input()
        outcomes = [run.outcome() for run in runs]
        assert [out.stdout for out in outcomes] == [f"{index}".encode() for index in range(20)]
        assert not any(out.leaked for out in outcomes)


def test_twenty_at_once_of_several_profiles_and_none(room: Space, hidden: Path) -> None:
    other = hidden / "other"
    other.mkdir()
    spaces = [room, Space(other), room.wearing(name="read-only"), room.wearing(git="commit")]
    with Engine() as engine:
        runs = []
        for index in range(20):
            space = spaces[index % 5] if index % 5 < 4 else None
            where = room.root if space is None else space.root
            line = f"echo {index} > {index} 2>/dev/null && echo wrote; readlink /proc/self/ns/mnt"
            sandbox = None if space is None else space.profile
            runs.append(engine.start(Command(["sh", "-c", line], cwd=where), sandbox=sandbox))
        outcomes = [run.outcome() for run in runs]
    for index, out in enumerate(outcomes):
        words = out.stdout_text.split()
        assert (words[0] == "wrote") is (index % 5 != 2), (index, out)
        own = os.readlink("/proc/self/ns/mnt")
        assert (words[-1] == own) is (index % 5 == 4)
    assert len(list(room.root.iterdir())) == 12
    assert len(list(other.iterdir())) == 4


def test_the_same_box_serves_again_and_another_profile_has_another(room: Space) -> None:
    reader = room.wearing(name="read-only")
    same = {room.sh("readlink /proc/self/ns/mnt") for _ in range(3)}
    other = {reader.sh("readlink /proc/self/ns/mnt") for _ in range(3)}
    assert (len(same), len(other), len(same | other)) == (1, 1, 2)
    assert room.sh("readlink /proc/self/ns/mnt") in same


def test_more_profiles_than_keepers_may_wait(room: Space) -> None:
    from agent_exec.sandbox.profile import BoxLimits

    spaces = [room.wearing(limits=BoxLimits(open_files=100 + n)) for n in range(12)]
    for _ in range(2):
        for n, space in enumerate(spaces):
            assert space.sh("ulimit -n") == f"{100 + n}\n"
    assert room.run("true").ok
    plain = agent_exec.run(["echo", "plain"])
    assert plain.stdout == b"plain\n"


def test_closing_the_engine_in_the_middle(room: Space, nothing_left: str) -> None:
    command = Command(room.child("tree", "daemon", 2), cwd=room.root)
    with Engine() as engine:
        runs = [engine.start(command, sandbox=room.profile) for _ in range(3)]
        wait_until(lambda: all(run.stdout.count(b"\n") == 3 for run in runs))
        fresh = engine.start(command, sandbox=room.profile)
        engine.close()
        assert left(nothing_left, "tree.py") == {}
    assert {run.outcome().cause for run in (*runs, fresh)} == {"stopped"}


KILLED = """
import os, sys, time
sys.path.append(sys.argv[1])
import agent_exec
from agent_exec.sandbox.profile import Profile
root, how = sys.argv[2:4]
profile = Profile("workspace-write", [root])
say = lambda s, c: (os.write(1, c), None)
if how == "run":
    agent_exec.run(sys.argv[4:], cwd=root, on_output=say, sandbox=profile)
else:
    engine = agent_exec.Engine(threaded=how != "inline")
    run = engine.start(agent_exec.Command(sys.argv[4:], cwd=root, tty=True, on_output=say), sandbox=profile)
    if how == "forked" and os.fork() == 0:
        time.sleep(3600)
    run.outcome()
"""


@pytest.mark.parametrize("how", ["run", "threaded", "inline", "forked"])
@pytest.mark.parametrize("kind", ["daemon", "deaf"])
def test_a_caller_killed_by_sigkill_leaves_nothing_of_its_box(
    room: Space, how: str, kind: str, nothing_left: str
) -> None:
    argv = [sys.executable, "-c", KILLED, SOURCE, str(room.root), how, *room.child("tree", kind, 3)]
    try:
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as caller:
            try:
                assert caller.stdout is not None
                seen = b""
                while b"ready" not in seen or seen.count(b"\n") < 4:
                    piece = os.read(caller.stdout.fileno(), 4096)
                    assert piece, "the caller has ended"
                    seen += piece
                assert len(_boxed(nothing_left)) >= 4
            finally:
                caller.kill()
        wait_until(lambda: not _boxed(nothing_left))
    finally:
        for pid, line in processes_marked(nothing_left).items():
            if how == "forked" and "run.outcome()" in line:
                os.kill(pid, signal.SIGKILL)  # the copy, which sleeps


def _boxed(mark: str) -> set[int]:
    """Return the processes of this test that are in a namespace of their own."""
    own = Path("/proc/self/ns/pid").readlink()
    found = set()
    for pid in processes_marked(mark):
        try:
            if Path(f"/proc/{pid}/ns/pid").readlink() != own:
                found.add(pid)
        except OSError:
            continue
    return found


FORKED = """
import os, sys
sys.path.append(sys.argv[1])
import agent_exec
from agent_exec.sandbox.profile import Profile
root = sys.argv[2]
p = Profile("workspace-write", [root])
echo = lambda word: agent_exec.run(["echo", word], cwd=root, sandbox=p).stdout
engine = agent_exec.Engine(); engine.start(agent_exec.Command(["true"], cwd=root), sandbox=p).outcome()
echo("x")
pid = os.fork()
if pid == 0:
    out = echo("copy")
    try:
        engine.start(agent_exec.Command(["true"]), sandbox=p)
    except agent_exec.AgentExecError as error:
        os.write(1, out + error.code.encode() + b"\\n")
    os._exit(0)
os.waitpid(pid, 0)
os.write(1, echo("original"))
engine.close()
"""


def test_a_forked_copy_of_the_caller_makes_its_own_boxes(room: Space) -> None:
    out = agent_exec.run([sys.executable, "-c", FORKED, SOURCE, str(room.root)])
    assert out.stdout == b"copy\ninvalid_state\noriginal\n", out.stderr_text
    assert not out.leaked


def test_a_keyboard_interrupt_ends_the_box_s_tree(room: Space, nothing_left: str) -> None:
    def note(_stream: str, _chunk: bytes) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        agent_exec.run(
            ["sh", "-c", "setsid sleep 600.75 & echo up; sleep 600.75"],
            cwd=str(room.root),
            on_output=note,
            sandbox=room.profile,
        )
    assert left(nothing_left, "600.75") == {}


def test_the_first_process_of_a_box_killed_from_outside(room: Space, nothing_left: str) -> None:
    with Engine() as engine:
        run = engine.start(Command(["sleep", "600.125"], cwd=room.root), sandbox=room.profile)
        wait_until(lambda: left(nothing_left, "600.125"))
        (sleeper,) = left(nothing_left, "600.125")
        first = int(Path(f"/proc/{sleeper}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(first, signal.SIGKILL)
        with pytest.raises(agent_exec.AgentExecError) as caught:
            run.outcome()
        assert caught.value.code == "keeper_lost"
        assert left(nothing_left, "600.125") == {}
        again = engine.start(Command(["echo", "new"], cwd=room.root), sandbox=room.profile).outcome()
        assert again.stdout == b"new\n"


@pytest.mark.parametrize(
    "line", ["kill -9 -1", "kill -9 1; kill -STOP 1; kill -TERM 1; exit 3", "pkill -9 agent-exec; exit 3"]
)
def test_a_command_cannot_end_its_box(room: Space, line: str) -> None:
    room.run("bash", "-c", line)
    assert room.run("echo", "alive").stdout == b"alive\n"


def test_a_root_that_is_gone_or_another_is_refused_and_comes_back(room: Space) -> None:
    inner = room.root / "inner"
    inner.mkdir()
    space = Space(inner)
    assert space.run("true").ok
    inner.rename(room.root / "old")
    with pytest.raises(agent_exec.AgentExecError):
        space.run("true", cwd="/")
    (room.root / "old").rename(inner)
    assert space.sh("echo x > new; cat new") == "x\n"
    assert (inner / "new").exists()


def test_a_box_serves_on_after_many_others_have(room: Space) -> None:
    """Helpers that wait for other profiles must not take the places of those that are used."""
    from agent_exec.sandbox.profile import BoxLimits

    for n in range(10):
        assert room.wearing(limits=BoxLimits(open_files=100 + n)).run("true").ok
    first = room.run("true").pid
    # One that is not clean in time is left for a new one, so on a busy machine not every command has it.
    wait_until(lambda: room.run("true").pid != first)


DEEP = """
import os
os.chdir("/tmp")
for _ in range(int(os.environ["DEPTH"])): os.mkdir("d"); os.chdir("d")
open("file", "w").write("x" * 1000)
"""


@pytest.mark.parametrize(("depth", "files"), [(3000, None), (100, 32)])
def test_a_deep_tree_in_tmp_is_gone_and_the_next_command_runs(
    room: Space, depth: int, files: int | None
) -> None:
    from agent_exec.sandbox.profile import BoxLimits

    space = room.wearing(limits=BoxLimits(open_files=files))
    for _ in range(3):
        out = space.run(room.python, "-IS", "-c", DEEP, env={"DEPTH": str(depth), "PATH": "/usr/bin:/bin"})
        assert out.ok, out
        assert space.sh("ls -A /tmp") == ""


def test_what_a_command_leaves_in_memory_is_gone_for_the_next(room: Space) -> None:
    need("ipcmk")
    room.sh(
        "ipcmk -M 1000000 >/dev/null; ipcmk -S 1 >/dev/null; ipcmk -Q >/dev/null; echo x > /dev/shm/x; echo x > /var/tmp/y; mkdir -m 0 /tmp/z"
    )
    assert room.sh("ls -A /dev/shm /var/tmp /tmp | grep -v : || true").strip() == ""
    assert (
        room.sh("cat /proc/sysvipc/shm /proc/sysvipc/sem /proc/sysvipc/msg | grep -vc key || true").strip()
        == "0"
    )


def test_the_work_of_the_helper_is_not_charged_to_the_commands(room: Space) -> None:
    """Whoever limits processor time means the commands'; the helper lives longer than any of them."""
    from agent_exec.sandbox.profile import BoxLimits

    space = room.wearing(limits=BoxLimits(cpu=1))
    code = "import os\nfor n in range(20000): os.mkdir(f'/dev/shm/{n}')"  # which costs less to make than to take away
    for _ in range(6):
        assert space.run(room.python, "-IS", "-c", code).ok
        assert space.run("true").ok


def test_an_agent_in_a_box_may_use_agent_exec_itself(room: Space) -> None:
    code = f"""
import sys
sys.path.append({str(room.package())!r})
import agent_exec
from agent_exec.sandbox.profile import Profile
out = agent_exec.run(["sh", "-c", "setsid sleep 600 & echo inner"])
print(out.stdout, out.leaked)
try: agent_exec.run(["true"], sandbox=Profile("workspace-write", [{str(room.root)!r}]))
except agent_exec.AgentExecError as error: print(error.code)
"""
    assert room.py(code) == "b'inner\\n' True\nsandbox_unavailable\n"


def test_threads_of_a_caller_with_many_profiles(room: Space) -> None:
    from concurrent.futures import ThreadPoolExecutor

    from agent_exec.sandbox.profile import BoxLimits

    spaces = [room, *(room.wearing(limits=BoxLimits(open_files=200 + n)) for n in range(20))]

    def work(number: int) -> bytes:
        space = spaces[number % 21] if number % 3 else room
        return space.run("echo", number).stdout

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(work, range(120))) == [b"%d\n" % number for number in range(120)]
