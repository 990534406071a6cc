"""A session becomes a durable job: it outlives the server, and every byte is in one place."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from agent_exec.sandbox.profile import Profile
from cli import Cli
from faces.session.calling import Caller
from jobs.seen import Gate, at_once, kill_and_wait, printed, supervisor_of
from support import exists, processes_marked, python, wait_until

pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="a hand-over needs process descriptors")

FLOOD = "stty -opost 2>/dev/null; i=0; while [ $i -lt {0} ]; do seq $((i*20000+1)) $((i*20000+20000)); i=$((i+1)); sleep 0.01; done"

SERVER = """
import os, sys
from agent_exec.faces.session.tools import open_tools

tools = open_tools(jobs=sys.argv[1])
told = tools.call("exec_command", {"cmd": sys.argv[2], "login": False, "yield_time_ms": 20000,
                                   "tty": True, "wait_for": "match:up"}).structured
answer = tools.call("detach", {"session_id": told["session_id"]})
os.write(1, answer.structured["job_id"].encode())
sys.stdin.read()
"""


@pytest.fixture
def work(cli: Cli) -> Path:
    return cli.cwd


@pytest.fixture
def store(opened: Callable[..., Caller], cli: Cli) -> Caller:
    return opened(jobs=str(cli.root))


def waits(gate: Gate, after: str = "echo after; exit 7") -> str:
    """Return a line that says something, waits at a gate, and goes on."""
    return f"echo before; read _ < {quote(str(gate.path))}; {after}"


def log(cli: Cli, job_id: str) -> bytes:
    return (cli.folder(job_id) / "stdout.log").read_bytes()


def detach(caller: Caller, number: int) -> str:
    return str(caller.told("detach", session_id=number)["job_id"])


@pytest.mark.parametrize("tty", [False, True])
def test_a_session_goes_on_as_a_job(store: Caller, cli: Cli, tmp_path: Path, tty: bool) -> None:
    gate = Gate(tmp_path / "gate")
    number = store.background(waits(gate), tty=tty)
    store.read_until(number, "before")
    result = store("detach", session_id=number)
    assert result.structured is not None
    job_id = result.structured["job_id"]
    assert result.structured == {"session_id": number, "job_id": job_id, "root": str(cli.root)}
    assert result.text.startswith(f"Session {number} is job {job_id} now.\n")
    assert f"`agent-exec tail {job_id}`" in result.text
    store.tools.close()
    found = cli("status", job_id)
    assert (found["state"], found["tags"], found["cwd"]) == ("running", ["session"], str(cli.cwd))
    assert found["command"][-1] == waits(gate)
    assert "AGENT_EXEC_SESSION_ID" in found["env_keys"]
    gate.open()
    found = cli("wait", job_id)
    end = "\r\n" if tty else "\n"
    assert (found["exit_code"], found["output_complete"]) == (7, True)
    assert found["stdout"].replace("\r\n", "\n") == "before\nafter\n"
    assert found["stdout"].endswith(f"after{end}")


def test_what_is_left_of_the_session(store: Caller, cli: Cli, tmp_path: Path) -> None:
    number = store.background("echo before; sleep 600")
    job_id = detach(store, number)
    listed = store.listed()[number]
    assert (listed["running"], listed["job_id"]) == (False, job_id)
    assert f"{number} job {job_id} " in store("list_sessions").text
    assert store.told("read_output", session_id=number)["output"] == "before\n"
    calls: dict[str, dict[str, Any]] = {
        "write_stdin": {"chars": "x"},
        "kill_session": {},
        "resize": {"rows": 10, "columns": 20},
        "close_stdin": {},
        "detach": {},
    }
    for tool, given in calls.items():
        said = store.refused(tool, session_id=number, **given)
        assert said.startswith(f"{tool} failed: session {number} is job {job_id} now"), said
        assert f"`agent-exec kill {job_id}`" in said
    assert cli("kill", job_id)["state"] == "killed"


def test_a_shell_that_was_typed_to(store: Caller, cli: Cli) -> None:
    number = store.asked(f"{quote(sys.executable)} -q")
    store.type(number, "import time; x = 41\n")
    store.type(number, "for i in range(3): time.sleep(0.1); print('x is', x + i)\n\n", yield_time_ms=1)
    job_id = detach(store, number)
    wait_until(lambda: "x is 43" in printed(cli, job_id))
    assert cli("kill", job_id)["state"] == "killed"


@pytest.mark.parametrize("tty", [False, True])
@pytest.mark.parametrize("watched", [False, True], ids=["unwatched", "watched"])
def test_no_byte_is_lost_and_none_is_there_twice(store: Caller, cli: Cli, tty: bool, watched: bool) -> None:
    rounds = 100
    number = store.background(FLOOD.format(rounds), tty=tty, max_output_tokens=10)
    waiter = threading.Thread(
        target=store, args=("write_stdin",), kwargs={"session_id": number, "yield_time_ms": 30_000}
    )
    if watched:
        waiter.start()
    session = store.tools.sessions.find(number, "read_output")
    seen = session.transcript.total
    wait_until(lambda: session.transcript.total > seen + 100_000 or session.ended)
    job_id = detach(store, number)
    if watched:
        waiter.join(20)
        assert not waiter.is_alive()
    before = session.transcript.total
    assert cli("wait", job_id, "--until", "60s")["exit_code"] == 0
    expected = b"".join(b"%d\n" % each for each in range(1, rounds * 20_000 + 1))
    assert log(cli, job_id) == expected
    assert 0 < before < len(expected), "it was handed over while it printed"


def test_waiters_are_notified(store: Caller, cli: Cli) -> None:
    for tty in (False, True):
        number = store.background("echo before; sleep 600", tty=tty)
        said: list[Any] = []
        waiter = threading.Thread(
            target=lambda number=number, said=said: said.append(
                store("write_stdin", session_id=number, yield_time_ms=60_000, wait_for="exit")
            )
        )
        waiter.start()
        job_id = detach(store, number)
        waiter.join(20)
        assert not waiter.is_alive()
        assert said[0].is_error
        assert f"is job {job_id} now" in said[0].text
        cli("kill", job_id)


def test_more_than_is_kept_in_memory(store: Caller, cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    number = store.background(f"seq 1 100000; {waits(gate)}", max_output_tokens=10)
    store.read_until(number, "\n1000\n")
    session = store.tools.sessions.find(number, "read_output")
    wait_until(lambda: b"before" in session.read(session.transcript.total - 10, 10)[1])
    job_id = detach(store, number)
    gate.open()
    cli("wait", job_id)
    assert log(cli, job_id) == b"".join(b"%d\n" % each for each in range(1, 100_001)) + b"before\nafter\n"


def test_its_time_goes_on(store: Caller, cli: Cli) -> None:
    job_id = detach(store, store.background("sleep 600", timeout_ms=2000))
    found = cli("wait", job_id)
    assert (found["timed_out"], found["state"]) == (True, "killed")


@pytest.mark.parametrize("tty", [False, True])
def test_a_store_that_cannot_be_written(opened: Callable[..., Caller], tmp_path: Path, tty: bool) -> None:
    root = tmp_path / "file"
    root.write_text("")
    call = opened(jobs=str(root / "jobs"))
    gate = Gate(tmp_path / "gate")
    number = call.background(waits(gate), tty=tty)
    told: list[dict[str, Any]] = []
    waiter = threading.Thread(
        target=lambda: told.append(call.type(number, "", yield_time_ms=60_000, wait_for="match:after"))
    )
    waiter.start()
    for _ in range(5):
        assert "detach failed: the folder of jobs cannot be used" in call.refused("detach", session_id=number)
    gate.open()
    waiter.join(20)
    assert "after" in told[0]["output"]
    if "exit_code" not in told[0]:
        told.append(call.type(number, "", yield_time_ms=20_000, wait_for="exit"))
    assert told[-1]["exit_code"] == 7


def test_a_pipeline_says_nothing_about_a_server_that_is_gone(store: Caller, cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    number = store.background(f"{waits(gate, 'echo after | cat')}", shell="bash")
    job_id = detach(store, number)
    store.tools.close()
    gate.open()
    found = cli("wait", job_id)
    assert (found["stdout"], found["stderr"]) == ("before\nafter\n", "")


def test_what_cannot_be_detached(call: Caller, store: Caller) -> None:
    assert store.refused("detach", session_id=1) == "detach failed: Unknown process id 1"
    number = store.run("exit 3", yield_time_ms=20_000)
    assert number["exit_code"] == 3
    (ended,) = store.listed()
    assert store.refused("detach", session_id=ended) == "detach failed: this command has ended already"
    other = call.background("sleep 600")
    assert "has no folder of jobs" in call.refused("detach", session_id=other)
    assert call.told("kill_session", session_id=other)
    assert "detach" not in {one["name"] for one in call.tools.definitions()}
    assert "detach" in {one["name"] for one in store.tools.definitions()}


def test_many_at_once(store: Caller, cli: Cli, tmp_path: Path) -> None:
    gates = [Gate(tmp_path / f"gate{number}") for number in range(20)]
    numbers = at_once(
        [
            partial(store.background, waits(gate, f"echo {index}"), tty=index % 2 == 0)
            for index, gate in enumerate(gates)
        ]
    )
    jobs = at_once([partial(detach, store, number) for number in numbers])
    store.tools.close()
    for index, (gate, job_id) in enumerate(zip(gates, jobs, strict=True)):
        gate.open()
        assert cli("wait", job_id)["stdout"].split() == ["before", str(index)]


def test_a_server_that_is_killed_right_after(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    line = f"echo up; read _ < {quote(str(gate.path))}; echo after; exit 7"
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(cli.root), line],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=cli.cwd,
        env=cli.env,
    )
    assert server.stdout is not None
    job_id = os.read(server.stdout.fileno(), 100).decode()
    os.kill(server.pid, signal.SIGKILL)
    server.communicate()
    gate.open()
    found = cli("wait", job_id)
    assert (found["exit_code"], found["stdout"]) == (7, "up\r\nafter\r\n")


def test_a_supervisor_that_is_killed_takes_all_of_it_with_it(store: Caller, cli: Cli) -> None:
    mark = str(8_000_000 + os.getpid())
    number = store.background(f"(setsid sleep {mark} &) ; sleep {mark}", tty=True)
    wait_until(lambda: len(processes_marked(mark)) >= 2)
    job_id = detach(store, number)
    pid = cli("status", job_id)["pid"]
    kill_and_wait(supervisor_of(cli, job_id))
    wait_until(lambda: not exists(pid) and not processes_marked(mark))
    assert cli("status", job_id)["reason"] == "supervisor_lost"


@pytest.fixture
def boxed(opened: Callable[..., Caller], cli: Cli) -> Caller:
    return opened(jobs=str(cli.root), sandbox=Profile("workspace-write", [str(cli.cwd)]))


@pytest.mark.skipif(sys.platform != "linux", reason="boxes are made by Linux")
@pytest.mark.parametrize("tty", [False, True])
def test_a_session_in_a_box(boxed: Caller, cli: Cli, tty: bool) -> None:
    gate = Gate(cli.cwd / "gate")
    number = boxed.background(waits(gate, "echo in > inside; touch /usr/outside; exit 7"), tty=tty)
    boxed.read_until(number, "before")
    job_id = detach(boxed, number)
    boxed.tools.close()
    found = cli("status", job_id)
    assert (found["state"], found["sandbox"]["profile"]) == ("running", "workspace-write")
    assert "pid" not in found
    gate.open()
    found = cli("wait", job_id)
    assert found["exit_code"] == 7
    assert "/usr/outside" in found["stdout"] + found["stderr"]
    assert (cli.cwd / "inside").read_text() == "in\n"


@pytest.mark.skipif(sys.platform != "linux", reason="boxes are made by Linux")
@pytest.mark.parametrize("how", ["kill", "supervisor"])
def test_the_end_of_a_box(boxed: Caller, cli: Cli, how: str) -> None:
    mark = str(7_000_000 + os.getpid())
    line = f"trap '' TERM HUP INT; (setsid sleep {mark} &); while :; do sleep {mark}; done"
    number = boxed.background(line)
    wait_until(lambda: len(processes_marked(mark)) >= 2)
    job_id = detach(boxed, number)
    boxed.tools.close()
    if how == "kill":
        assert cli("kill", job_id)["state"] == "killed"
    else:
        kill_and_wait(supervisor_of(cli, job_id))
    wait_until(lambda: not processes_marked(mark))


@pytest.mark.skipif(sys.platform != "linux", reason="boxes are made by Linux")
def test_a_box_that_needs_this_server(opened: Callable[..., Caller], cli: Cli) -> None:
    profile = Profile("workspace-write", [str(cli.cwd)], net=["example.org"])
    call = opened(jobs=str(cli.root), sandbox=profile)
    number = call.background("echo before; sleep 600")
    assert "run it as a job from the start" in call.refused("detach", session_id=number)
    assert call.listed()[number]["running"]
    assert call.told("kill_session", session_id=number)


@pytest.mark.skipif(sys.platform != "linux", reason="boxes are made by Linux")
def test_a_store_that_a_confined_command_may_write(opened: Callable[..., Caller], cli: Cli) -> None:
    root = cli.cwd / "jobs"
    call = opened(jobs=str(root), sandbox=Profile("workspace-write", [str(cli.cwd)]))
    number = call.background("sleep 600")
    assert "lies where the sandbox lets the command write" in call.refused("detach", session_id=number)
    assert call.told("kill_session", session_id=number)


def test_only_what_is_running_is_detached(store: Caller, cli: Cli) -> None:
    """A command that ends at the very moment is a job whose end is recorded, or is refused."""
    for _ in range(10):
        argv = python("import time; time.sleep(0.26); print('end')")
        told = store.run(" ".join(map(quote, argv)), yield_time_ms=250)
        if "session_id" not in told:
            continue
        result = store("detach", session_id=told["session_id"])
        if not result.is_error:
            assert result.structured is not None
            assert cli("wait", result.structured["job_id"])["stdout"] == "end\n"
        else:
            assert "has ended already" in result.text
