"""Jobs that a big program with many threads starts: they outlive it, and cost it nothing."""

import enum
import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import agent_exec
from agent_exec.jobs import open_jobs
from cli import Cli, check
from jobs.seen import Gate, at_once, below, printed, stat
from support import exists, wait_until

SOURCE = str(Path(agent_exec.__file__).parent.parent)

START = """
import json, os, sys, threading, time
sys.path.append(sys.argv[1])
from agent_exec.host import Spawner
from agent_exec.jobs.start import Order
from agent_exec.jobs.start import Launcher

root, count, then, *argv = sys.argv[2:]
ballast = bytearray(200 << 20)
ballast[::4096] = bytes(len(range(0, len(ballast), 4096)))
stop = threading.Event()
busy = [threading.Thread(target=stop.wait, daemon=True) for _ in range(20)]
for thread in busy:
    thread.start()
spawner = Spawner()

def start():
    order = Order(argv, cwd="/", env=dict(os.environb), grace=2.0, quota=1 << 30)
    job = Launcher(spawner.detach).start(root, order)
    job.begin()
    job.close()
    return job.id

def seen():
    fds = {}
    for fd in os.listdir("/proc/self/fd"):
        try:
            fds[fd] = os.readlink(f"/proc/self/fd/{fd}")
        except FileNotFoundError:
            pass
    children = []
    for task in os.listdir("/proc/self/task"):
        try:
            children += open(f"/proc/self/task/{task}/children").read().split()
        except OSError:
            pass  # a thread that has just ended
    return fds, children

ids = [start()]
before = seen()
lock = threading.Lock()

def work():
    mine = [start() for _ in range(int(count) // 4)]
    with lock:
        ids.extend(mine)

workers = [threading.Thread(target=work) for _ in range(4)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print(json.dumps([ids, before, seen()]), flush=True)
if then == "close":
    spawner.close()
elif then == "wait":
    time.sleep(3600)
"""


def _library(cli: Cli, count: int, then: str, *argv: object) -> "subprocess.Popen[bytes]":
    words = [sys.executable, "-c", START, SOURCE, cli.root, count, then, *argv]
    return subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, cwd=cli.cwd, env=cli.env)


def _told(caller: "subprocess.Popen[bytes]") -> tuple[list[str], list[object], list[object]]:
    assert caller.stdout is not None
    line = caller.stdout.readline()
    caller.stdout.close()
    ids, before, after = json.loads(line)
    return ids, before, after


def test_a_big_program_s_jobs_outlive_its_death(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    caller = _library(cli, 0, "wait", *gate.job())
    (job_id,), _, _ = _told(caller)
    found = cli("status", job_id)
    assert found["supervisor_pid"] not in below(caller.pid)
    assert stat(found["supervisor_pid"])[3] != stat(caller.pid)[3], "a session of its own"
    wait_until(lambda: printed(cli, job_id))
    for pid in below(caller.pid):
        os.kill(pid, signal.SIGKILL)
    caller.wait()
    found = cli("status", job_id)
    assert (found["state"], found["supervisor"]) == ("running", "alive")
    gate.open()
    out = cli("wait", job_id)
    assert (out["state"], out["exit_code"], out["stdout"]) == ("exited", 7, "before\nafter\n")
    wait_until(lambda: not exists(found["supervisor_pid"]))


@pytest.mark.parametrize("then", ["close", "exit"])
def test_a_big_program_s_jobs_outlive_its_end(cli: Cli, tmp_path: Path, then: str) -> None:
    gate = Gate(tmp_path / "gate")
    caller = _library(cli, 0, then, *gate.job())
    (job_id,), _, _ = _told(caller)
    assert caller.wait() == 0
    gate.open()
    assert cli("wait", job_id)["exit_code"] == 7


def test_many_jobs_leave_a_big_program_no_zombie_and_no_descriptor(cli: Cli) -> None:
    caller = _library(cli, 40, "wait", "true")
    try:
        ids, before, after = _told(caller)
        assert len(set(ids)) == 41
        assert after == before, "the same descriptors, and no child"
        assert after[1] == []
        ends = at_once([partial(cli, "wait", job_id) for job_id in ids], width=4)
        assert {out["state"] for out in ends} == {"exited"}
        # Nor are they anyone else's zombies: they were forked by a helper that reaps them.
        supervisors = [int(cli("status", job_id)["supervisor_pid"]) for job_id in ids]
        wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in supervisors))
    finally:
        caller.kill()
        caller.wait()


def test_a_supervisor_of_a_big_program_is_small_and_holds_nothing_of_it(cli: Cli, tmp_path: Path) -> None:
    caller = _library(cli, 0, "wait", *Gate(tmp_path / "gate").job())
    try:
        (job_id,), _, _ = _told(caller)
        supervisor = int(cli("status", job_id)["supervisor_pid"])
        lines = Path(f"/proc/{supervisor}/status").read_text().splitlines()
        memory = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
        assert memory < 40 << 10, f"{memory} KiB"
        ours = set(os.listdir(f"/proc/{caller.pid}/fd"))
        held = [os.readlink(f"/proc/{supervisor}/fd/{fd}") for fd in os.listdir(f"/proc/{supervisor}/fd")]
        pipes = {os.readlink(f"/proc/{caller.pid}/fd/{fd}") for fd in ours} - {"/dev/null"}
        assert not pipes.intersection(held)
    finally:
        caller.kill()
        caller.wait()


def test_a_lost_factory_is_replaced_and_its_jobs_go_on(cli: Cli, tmp_path: Path) -> None:
    """Whoever kills a program's helpers does not end its jobs, nor keep it from starting more."""
    code = START.replace(
        "ids = [start()]",
        "ids = [start()]\n"
        "parent = int(open(f'/proc/{json.loads(sys.stdin.readline())}/stat').read().rpartition(')')[2].split()[1])\n"
        "os.kill(parent, 9)\n"
        "while os.path.exists(f'/proc/{parent}'): time.sleep(0.001)",
    ).replace("ids = [start()]\n", "ids = [start()]\nprint(ids[0], flush=True)\n")
    gate = Gate(tmp_path / "gate")
    words = [sys.executable, "-c", code, SOURCE, cli.root, 4, "exit", *gate.job()]
    caller = subprocess.Popen(
        [str(word) for word in words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=cli.cwd,
        env=cli.env,
    )
    assert caller.stdout is not None
    first = caller.stdout.readline().decode().strip()
    supervisor = int(cli("status", first)["supervisor_pid"])
    name = Path(f"/proc/{stat(supervisor)[1]}/comm").read_text().strip()
    if name != "agent-exec":
        caller.kill()
        caller.communicate()
        pytest.fail(f"the supervisor is a child of {name}")
    out, _ = caller.communicate(json.dumps(supervisor).encode() + b"\n")
    ids = json.loads(out)[0]
    assert len(ids) == 5
    assert {cli("status", job_id)["state"] for job_id in ids} == {"running"}


class Name(enum.StrEnum):
    HELLO = "hello"


class Seconds(float):
    pass


def test_python_callers_get_the_answers_of_the_program(cli: Cli, tmp_path: Path) -> None:
    jobs = agent_exec.open_jobs(str(cli.root))
    assert jobs.root == str(cli.root)
    told = jobs.run(
        ["sh", "-c", "cat; echo $X"], stdin=b"abc\n", env={"X": "1"}, cwd=str(tmp_path), tags=["a.b"]
    )
    check(json.dumps(told) + "\n")
    assert (told["stdout"], told["state"], told["tags"]) == ("abc\n1\n", "exited", ["a.b"])
    job_id = told["job_id"]
    for answer in (
        jobs.status(job_id),
        jobs.tail(job_id, merged=True),
        jobs.wait(job_id, seconds=None),
        jobs.kill(job_id),
        jobs.list(tags=["a.*"]),
        jobs.gc(older_than=60),
    ):
        assert check(json.dumps(answer) + "\n")["ok"] is True
    assert jobs.delete(job_id)["deleted"] == 1
    with pytest.raises(agent_exec.AgentExecError) as refused:
        jobs.status(job_id)
    assert refused.value.code == "job_not_found"


def test_values_of_kin_types_and_bytes_will_do(cli: Cli) -> None:
    jobs = agent_exec.open_jobs(str(cli.root))
    told = jobs.run(["echo", Name.HELLO], timeout=Seconds(60), grace=1, cwd=b"/", env={b"Q": b"x"})  # type: ignore[arg-type, dict-item]
    assert (told["stdout"], jobs.status(told["job_id"])["env_keys"]) == ("hello\n", ["Q"])


@pytest.mark.parametrize(
    "wrong",
    [
        {"argv": []},
        {"argv": ["a\0b"]},
        {"argv": ["true"], "timeout": -1},
        {"argv": ["true"], "observe": -1},
        {"argv": ["true"], "observe": float("nan")},
        {"argv": ["true"], "max_log_bytes": 5},
        {"argv": ["true"], "tags": ["no tag"]},
        {"argv": ["true"], "leftovers": "what"},
    ],
)
def test_what_makes_no_sense_is_refused_and_starts_nothing(cli: Cli, wrong: dict[str, Any]) -> None:
    jobs = agent_exec.open_jobs(str(cli.root))
    with pytest.raises(agent_exec.AgentExecError) as refused:
        jobs.run(**wrong)
    assert refused.value.code == ("invalid_tag" if "tags" in wrong else "invalid_argument")
    assert not cli.root.exists()


PRELOADED = """
import os, sys
from agent_exec.jobs import supervise
from agent_exec.jobs.start import Order
from agent_exec.jobs.start import send_order

import _ctypes  # which the factory has loaded for itself
supervise.preload()
order = Order([sys.executable, "-c", "print(1)"], cwd="/", env={}, grace=2.0, quota=1 << 30)
reader, writer = os.pipe()
report = os.open(os.devnull, os.O_WRONLY)
send_order(writer, (sys.argv[1], order.fields()))
before = set(sys.modules)
supervise.main([reader, report, -1])
print(*sorted(set(sys.modules) - before))
"""


def test_a_supervisor_loads_nothing_that_its_factory_has_not_loaded_before(tmp_path: Path) -> None:
    words = [sys.executable, "-c", PRELOADED, str(tmp_path / "jobs")]
    out = subprocess.run(words, capture_output=True, text=True, check=True)
    assert out.stdout.split() == []


def test_what_run_takes_create_takes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it is lost until the job is started, and each part holds then."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("AGENT_EXEC_UNSEEN", "inherited")
    jobs = open_jobs(str(tmp_path / "jobs"))
    jobs.set_group("build", 1)
    (tmp_path / "some.env").write_text("GIVEN=by a file\n")
    told = tmp_path / "told"
    line = 'echo "$GIVEN ${AGENT_EXEC_UNSEEN-nothing} ${API_PORT:+a port}"; read _ < "$0"; exit 0'
    gate = Gate(tmp_path / "gate")
    first = jobs.run(["sleep", "600"], observe=0)["job_id"]
    asked: dict[str, Any] = {
        "cwd": str(tmp_path),
        "env_files": [str(tmp_path / "some.env")],
        "env": {"PATH": os.environ["PATH"]},
        "inherit_env": False,
        "log": str(tmp_path / "both.log"),
        "tags": ["asked"],
        "notify": {"notify_file": str(told)},
        "conditions": ["match=by a file"],
        "ports": ["auto:API_PORT"],
        "health": "exit 3",
        "health_every": 0.1,
        "health_timeout": 5.0,
        "health_failures": 1,
        "retry": 1,
        "after": f"{first}:any",
        "needs": "build",
        "priority": 3,
    }
    job_id = jobs.create(["/bin/sh", "-c", line, str(gate.path)], **asked)["job_id"]
    waiting = jobs.start(job_id, observe=0)
    assert [one["kind"] for one in waiting["waiting_for"]] == ["after", "needs"]
    jobs.kill(first)
    assert jobs.wait(job_id, conditions=["ready"], seconds=60)["ready"]
    wait_until(lambda: jobs.status(job_id)["health"] == "unhealthy")
    status = jobs.status(job_id)
    assert (status["tags"], status["priority"], list(status["ports"])) == (["asked"], 3, ["API_PORT"])
    gate.open()
    ended = jobs.wait(job_id, seconds=60)
    assert (ended["exit_code"], ended["stdout"]) == (0, "by a file nothing a port\n")
    assert "[STDOUT] by a file nothing a port" in (tmp_path / "both.log").read_text()
    wait_until(lambda: told.exists() and "job.finished" in told.read_text())


def test_an_argument_of_another_name_is_no_argument(tmp_path: Path) -> None:
    jobs = open_jobs(str(tmp_path / "jobs"))
    for verb in (jobs.run, jobs.create):
        with pytest.raises(TypeError, match="tag"):
            verb(["true"], tag=["x"])  # type: ignore[call-arg]
