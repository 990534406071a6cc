"""How sessions live and end: limits, tombstones, what can be read again, and that nothing is left.

Reference §1.7, §1.10, §3; issue 6, better 2 and 3.
"""

import gc
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from shlex import quote

import pytest

import agent_exec
from agent_exec.faces.session.storage import Storage
from agent_exec.faces.session.tools import open_tools
from agent_exec.model.errors import InvalidArgument, StoreFailed
from agent_exec.sessions.transcript import View
from faces.session.calling import Caller, in_turn
from support import descriptors, exists, peak_memory, processes_marked, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
SOURCE = Path(agent_exec.__file__).parent.parent


def state(call: Caller, number: int) -> str:
    return "running" if call.listed()[number]["running"] else "exited"


def test_the_limit_protects_the_newest(opened: Callable[..., Caller]) -> None:
    """Reference §3: beyond the limit the oldest goes, never one of the 8 used last."""
    call = opened(limit=10)
    numbers = [call.background(f"sleep 60{at}", wait_for="idle:1") for at in range(10)]
    call.told("read_output", session_id=numbers[0])  # used again: the second is the oldest now
    newest = call.background("sleep 700", wait_for="idle:1")
    listed = call.listed()
    assert listed[numbers[1]]["exit_code"] == 137
    assert all(listed[one]["running"] for one in (*numbers[2:], numbers[0], newest))
    told = call.told("write_stdin", session_id=numbers[1])
    assert (told["exit_code"], told["signal"]) == (137, "SIGKILL")


def test_those_that_ended_go_first(opened: Callable[..., Caller], work: Path) -> None:
    """Reference §3: an exited one, if it is not one of the 8 used last, before one that runs."""
    call = opened(limit=10)
    oldest = call.background("sleep 600", wait_for="idle:1")
    ended = call.background("while ! test -e go; do sleep 0.005; done; echo over", wait_for="idle:1")
    rest = [call.background(f"sleep 60{at}", wait_for="idle:1") for at in range(8)]
    (work / "go").touch()
    wait_until(lambda: state(call, ended) == "exited")
    call.tools.sessions.registry._kept[ended].used = 1.0
    call.tools.sessions.registry._kept[oldest].used = 0.5
    call.background("sleep 700", wait_for="idle:1")
    assert [state(call, one) for one in (oldest, *rest)] == ["running"] * 9
    told = call.told("write_stdin", session_id=ended)
    assert (told["exit_code"], told["output"]) == (0, "over\n")


def test_a_limit_of_one(opened: Callable[..., Caller]) -> None:
    """Issue 6: the number is configurable."""
    call = opened(limit=1)
    first = call.background("sleep 600", wait_for="idle:1")
    second = call.background("sleep 601", wait_for="idle:1")
    assert [state(call, first), state(call, second)] == ["exited", "running"]
    for bad in (0, -1, True, "3", 1.5, 10**9):
        with pytest.raises(InvalidArgument):
            open_tools(limit=bad)  # type: ignore[arg-type]


def test_tombstones(call: Caller) -> None:
    """Issue 6, better 2: finished ids stay readable, instead of "Unknown process id"."""
    line = "echo one; until [ -e go ]; do sleep 0.01; done; echo two; exit 3"
    number = call.run(line, wait_for="output", yield_time_ms=30_000)["session_id"]
    call.run("touch go")
    told = call.told("write_stdin", session_id=number, wait_for="exit")
    assert (told["exit_code"], told["output"]) == (3, "two\n")
    for _ in range(2):
        result = call("write_stdin", session_id=number, chars="more\n")
        assert not result.is_error
        assert "Note: this session had ended already" in result.text
        assert result.structured is not None
        assert (result.structured["exit_code"], result.structured["output"]) == (3, "one\ntwo\n")
    assert call.told("read_output", session_id=number)["output"] == "one\ntwo\n"
    assert call.told("kill_session", session_id=number)["exit_code"] == 3
    assert state(call, number) == "exited"


def test_tombstones_are_readable_text(call: Caller) -> None:
    """Issue 6, better 2 and 4."""
    number = call.asked("printf '\\033[31mred\\033[0m\\n'; read x")
    call.type(number, "\n", wait_for="exit", yield_time_ms=20_000)
    assert call.told("write_stdin", session_id=number)["output"] == "red\n\n"


def test_only_so_many_are_remembered(call: Caller) -> None:
    """Issue 6, better 2: bounded."""
    for at in range(70):
        call.run(f"exit {at}")
    listed = call.listed()
    assert [one["exit_code"] for one in listed.values()] == list(range(6, 70))
    assert len(call.tools.sessions.registry._reserved) == 64
    gc.collect()
    assert sum(isinstance(one, View) for one in gc.get_objects()) <= 64


def test_any_range_of_much_output(call: Caller) -> None:
    """Issue 6, better 2: the full transcript, exact, also beyond memory."""
    code = "import sys; sys.stdout.buffer.write(b''.join(b'%09d\\n' % at for at in range(500_000)))"
    told = call.run(
        f"{quote(sys.executable)} -IS -c {quote(code)}; sleep 600",
        wait_for="match:000499999",
        yield_time_ms=30_000,
    )
    number = told["session_id"]
    omitted = [(one["from"], one["to"]) for one in told["omitted"]]
    assert omitted == [(20_000, 5_000_000 - 20_000)]
    for start, size in ((0, 30), (4_999_990, 10), (65_530, 20), (omitted[0][0], 1000), (2_500_000, 1 << 20)):
        read = call.told("read_output", session_id=number, **{"from": start, "max_bytes": size})
        expected = "".join(f"{at:09d}\n" for at in range(start // 10, (start + size) // 10 + 1))
        shift = start % 10
        assert read["output"] == expected[shift : shift + size]
        assert (read["from"], read["to"], read["size"]) == (start, start + size, 5_000_000)
    read = call.told("read_output", session_id=number, **{"from": 10**12, "max_bytes": 10})
    assert (read["from"], read["to"], read["output"]) == (5_000_000, 5_000_000, "")


def test_omitted_output_is_counted_and_located(call: Caller) -> None:
    """Reference §1.10, issue 6, better 2."""
    result = call(
        "exec_command",
        cmd="head -c 3000000 /dev/zero | tr '\\0' x; echo",
        wait_for="exit",
        yield_time_ms=30_000,
    )
    assert result.structured is not None
    missing = 3_000_001 - (1 << 20)
    assert result.structured["original_token_count"] == 750_001
    (located,) = result.structured["omitted"]  # the window's, and around it the budget's
    assert (located["from"], located["to"]) == (20_000, 3_000_001 - 20_000)
    assert f"... {missing} bytes omitted ..." in result.text
    assert f"Note: bytes {1 << 19} to {(1 << 19) + missing} of the output are not shown" in result.text
    assert "read_output can give them" in result.text


def test_a_flood_costs_no_memory(call: Caller) -> None:
    """Issue 6, speed: 100 MB printed, flat memory."""
    call.run("true")
    Path("/proc/self/clear_refs").write_text("5")
    before = peak_memory()
    told = call.run(
        "head -c 100000000 /dev/zero | tr '\\0' 'x'",
        wait_for="exit",
        yield_time_ms=30_000,
        max_output_tokens=100,
    )
    assert told["exit_code"] == 0
    assert told["original_token_count"] == 25_000_000
    assert peak_memory() - before < 40 << 20


def test_descriptors_do_not_grow(opened: Callable[..., Caller]) -> None:
    """Issue 6: whoever serves for long, holds no more than what runs."""
    call = opened()
    call.run("true", tty=True)
    before = len(descriptors()), threading.active_count()
    for at in range(300):
        call.run("true", tty=at % 2 == 0)
    for _ in range(5):
        call.run("seq 30000", max_output_tokens=10)
    wait_until(lambda: (len(descriptors()), threading.active_count()) == before)


def test_spawns_that_fail_leave_nothing(call: Caller) -> None:
    """Reference §1.7: freed on failure."""
    before = len(descriptors())
    for _ in range(50):
        call.refused("exec_command", cmd="true", workdir="nowhere")
    assert call.tools.sessions.registry._reserved == set()
    wait_until(lambda: len(descriptors()) <= before)


def test_listing(call: Caller, work: Path) -> None:
    """Issue 6, better 3: list_sessions."""
    assert call("list_sessions").text == "There are no sessions."
    first = call.background("echo hi; sleep 600")
    call.run("exit 2", tty=True)
    result = call("list_sessions")
    assert f"{first} running echo hi; sleep 600" in result.text.splitlines()
    told = call.listed()[first]
    assert (told["cmd"], told["workdir"], told["tty"], told["running"]) == (
        "echo hi; sleep 600",
        str(work),
        False,
        True,
    )
    assert [one["exit_code"] for one in call.listed().values() if "exit_code" in one] == [2]


def test_killing_ends_the_whole_tree(call: Caller) -> None:
    """Issue 6, better 3: TERM, then KILL, whole tree."""
    number = call.background(
        "trap 'echo bye; exit 7' TERM; (setsid sleep 600 &); while :; do sleep 0.01; done"
    )
    told = call.told("kill_session", session_id=number)
    assert told["exit_code"] == 7
    assert told["output"].endswith("bye\n")
    assert not processes_marked(f"AGENT_EXEC_SESSION_ID={number}")
    assert call.listed()[number]["exit_code"] == 7


def test_killing_by_force(call: Caller) -> None:
    """Issue 6, better 3: who does not listen is killed."""
    number = call.background("trap '' TERM HUP INT; echo up; while :; do sleep 600; done")
    call.read_until(number, "up")
    assert call.told("kill_session", session_id=number)["exit_code"] == 137
    assert not processes_marked(f"AGENT_EXEC_SESSION_ID={number}")


def test_a_program_that_kills_its_keeper(call: Caller) -> None:
    """Issue 6: whatever a command does, the others go on, and calls are answered."""
    other = call.background("sleep 600")
    code = "import os, signal, time; os.kill(os.getppid(), signal.SIGKILL); time.sleep(600)"
    result = call(
        "exec_command", cmd=f"exec {quote(sys.executable)} -IS -c {quote(code)}", yield_time_ms=20_000
    )
    assert result.text
    assert state(call, other) == "running"
    assert call.run("echo still")["output"] == "still\n"


def test_close_ends_everything(opened: Callable[..., Caller], nothing_left: str, temporary: Path) -> None:
    """Reference §3: nothing survives shutdown."""
    call = opened()
    call.background("setsid sleep 600 & (sleep 601 &) ; sleep 602")
    call.background("seq 100000; sleep 603", tty=True)
    call.tools.close()
    assert not processes_marked("AGENT_EXEC_SESSION_ID=") or not processes_marked(nothing_left)
    assert not list(temporary.glob("*/server-*"))
    assert "closed" in call.refused("exec_command", cmd="true")
    call.tools.close()


def test_close_during_a_wait(opened: Callable[..., Caller]) -> None:
    """Reference §3: also those who wait are answered."""
    call = opened()
    number = call.background("sleep 600")
    told: list[str] = []
    waiter = threading.Thread(
        target=lambda: told.append(call("write_stdin", session_id=number, yield_time_ms=300_000).text)
    )
    waiter.start()
    session = call.tools.sessions.registry.find(number)
    assert session is not None
    wait_until(lambda: in_turn(session))
    call.tools.close()
    waiter.join()
    assert "Process exited with code 143" in told[0]


SERVER = """
import sys
from agent_exec.faces.session.tools import open_tools
tools = open_tools()
usual = {"login": False, "yield_time_ms": 250}
tools.call("exec_command", {"cmd": "setsid sleep 600 & (sleep 601 &) ; sleep 602", **usual})
tools.call("exec_command", {"cmd": "trap '' HUP TERM; seq 100000; echo ok; cat", "tty": True, "login": False})
print("ready", flush=True)
sys.stdin.read()
"""


def test_a_killed_server_leaves_nothing(nothing_left: str, tmp_path: Path, temporary: Path) -> None:
    """Issue 6, done when: kill -9 of the server leaves nothing running; its folder goes with the next one."""
    environ = {**os.environ, "PYTHONPATH": str(SOURCE), "TMPDIR": str(temporary)}
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        env=environ,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        assert server.stdout.readline() == b"ready\n"
        wait_until(lambda: sum("sleep 60" in line for line in processes_marked(nothing_left).values()) >= 3)
        left = list(temporary.glob("*/server-*"))
        assert len(left) == 1
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()
        server.stdin.close()
        server.stdout.close()
    wait_until(lambda: not processes_marked(nothing_left))
    assert left[0].exists()
    Storage().close()
    assert not left[0].exists()


def test_a_server_that_goes_on_keeps_its_folder(temporary: Path) -> None:
    """Issue 6, better 2: only what the dead have left is taken away."""
    first = Storage()
    second = Storage()
    assert os.path.isdir(first.folder)
    first.close()
    first.close()
    assert os.path.isdir(second.folder)
    second.close()
    assert [path.name for path in temporary.glob("*/*")] == []


def test_a_folder_that_others_have_made(temporary: Path, tmp_path: Path) -> None:
    """Issue 6, better 2: a folder of this name that is not ours alone is refused."""
    place = temporary / f"agent-exec-sessions-{os.getuid()}"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    place.symlink_to(elsewhere)
    with pytest.raises(StoreFailed):
        Storage()
    place.unlink()
    place.mkdir(mode=0o700)
    place.chmod(0o770)
    with pytest.raises(StoreFailed):
        Storage()
    place.chmod(0o700)
    if os.getuid() == 0:
        os.chown(place, 12345, -1)
        with pytest.raises(StoreFailed):
            Storage()
        os.chown(place, 0, -1)
    Storage().close()
    assert list(elsewhere.iterdir()) == []


def test_a_folder_that_is_a_file(temporary: Path) -> None:
    """Issue 6, better 2: an error of ours, whatever is there."""
    (temporary / f"agent-exec-sessions-{os.getuid()}").write_text("")
    with pytest.raises(StoreFailed):
        Storage()


def test_links_left_in_the_folder_are_not_followed(temporary: Path, tmp_path: Path) -> None:
    """Issue 6, better 2: sweeping takes away only what is ours."""
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "lock").touch()
    (precious / "data").touch()
    place = temporary / f"agent-exec-sessions-{os.getuid()}"
    place.mkdir(mode=0o700)
    (place / "server-x").symlink_to(precious)
    Storage().close()
    assert (precious / "data").exists()


FULL = """
import os, sys
from agent_exec.faces.session.tools import open_tools
with open_tools() as tools:
    disk = os.path.dirname(os.environ["TMPDIR"] + "/")
    with open(disk + "/filler", "wb", buffering=0) as file:
        try:
            while True: file.write(bytes(4096))
        except OSError: pass
    given = {"cmd": "seq 200000; cat", "tty": True, "login": False, "max_output_tokens": 20}
    told = tools.call("exec_command", {**given, "yield_time_ms": 20000})
    assert told.structured["awaiting_input"], told
    number = told.structured["session_id"]
    for at in (0, 1000, 70000, 1000000, 5000000):
        read = tools.call("read_output", {"session_id": number, "from": at, "max_bytes": 100})
        assert not read.is_error, read.text
    told = tools.call("write_stdin", {"session_id": number, "chars": "hello\\n"})
    assert "hello" in told.text, told.text
    told = tools.call("exec_command", {"cmd": "echo fine", "login": False})
    assert told.structured["output"] == "fine\\n"
    tools.call("kill_session", {"session_id": number})
print("done")
"""


def test_a_full_disk(nothing_left: str, tmp_path: Path) -> None:
    """Issue 6, better 2: what the disk does not take is lost to later readers, and nothing else is."""
    disk = tmp_path / "disk"
    disk.mkdir()
    line = f'mount -t tmpfs -o size=256k none {quote(str(disk))} && exec "$0" -c "$1"'
    argv = ["unshare", *([] if os.getuid() == 0 else ["-Ur"]), "-m", "sh", "-c", line, sys.executable, FULL]
    environ = {**os.environ, "PYTHONPATH": str(SOURCE), "TMPDIR": str(disk)}
    done = subprocess.run(argv, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
    if "mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip(f"no mount namespace here: {done.stderr}")
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_the_folder_vanishes(call: Caller, temporary: Path) -> None:
    """Issue 6, better 2: someone cleans up the temporary files while we run."""
    number = call.background("seq 100000; sleep 600", max_output_tokens=10)
    for folder in temporary.glob("*/server-*/*"):
        if folder.is_dir():
            shutil.rmtree(folder)
    assert call("read_output", session_id=number).text
    assert call.run("seq 100000", max_output_tokens=10)["exit_code"] == 0


def test_an_end_at_the_deadline_loses_nothing(opened: Callable[..., Caller]) -> None:
    """Issue 6, better 2: whoever says that it has ended has all of its output."""
    call = opened(limit=200)
    found: list[str] = []

    def one(at: int) -> None:
        told = call.run(f"sleep 0.{240 + at % 20}; echo last", yield_time_ms=250)
        if "exit_code" not in told:
            first = told["output"]
            told = call.told("write_stdin", session_id=told["session_id"], wait_for="exit")
            told["output"] = first + told["output"]
        found.append(told["output"])

    threads = [threading.Thread(target=one, args=(at,)) for at in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["last\n"] * 60


def test_reading_while_it_is_written(call: Caller) -> None:
    """Issue 6, better 2: any range, at any time, also while the oldest goes."""
    number = call.background("yes 0123456", max_output_tokens=10)
    for at in range(0, 4000, 8):
        read = call.told("read_output", session_id=number, **{"from": at * 1000, "max_bytes": 64})
        shift = read["from"] % 8
        assert read["output"] == ("0123456\n" * 10)[shift : shift + len(read["output"])]
    call.told("kill_session", session_id=number)


def test_ids_cannot_be_guessed_into_other_servers(opened: Callable[..., Caller]) -> None:
    """Reference §1.7: ids are those of one server, in memory only."""
    first, second = opened(), opened()
    number = first.background("sleep 600")
    assert (
        second.refused("write_stdin", session_id=number) == f"write_stdin failed: Unknown process id {number}"
    )
    assert second.refused("kill_session", session_id=number)
    assert state(first, number) == "running"


def test_exec_is_gone_when_its_main_process_is(call: Caller, work: Path) -> None:
    """Reference §3: what daemonises ends with its command."""
    told = call.run(
        "sh -c 'sleep 600 & echo $! > pid' ; exit 0", tty=True, wait_for="exit", yield_time_ms=20_000
    )
    assert told["exit_code"] == 0
    pid = int((work / "pid").read_text())
    wait_until(lambda: not exists(pid))


@pytest.mark.parametrize("shell", ["bash --norc --noprofile -i", "sh -i"])
def test_a_shell_at_its_prompt_is_ended_without_force(call: Caller, shell: str) -> None:
    """Issue 6, better 3: TERM, which an interactive shell ignores, then a hang-up, and force only at last."""
    number = call.asked(f"exec {shell}")
    assert call.told("kill_session", session_id=number).get("signal") != "SIGKILL"
