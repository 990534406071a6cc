"""Jobs and commands within one another: a job outlives who asked for it, and nothing else escapes by a name."""

import shlex
import shutil
import sys
from pathlib import Path

import pytest

import agent_exec
from agent_exec.host import is_locked
from cli import PROGRAM, Cli
from support import exists, python, wait_until

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="names and locks as Linux shows them")
SLEEP = shutil.which("sleep") or "/bin/sleep"


def test_a_job_that_a_job_asks_for_outlives_it(cli: Cli) -> None:
    outer = cli("run", "--wait", "--", PROGRAM, "run", "--no-wait", "--", "sleep", "600")
    assert (outer["exit_code"], outer["leaked"]) == (0, False)
    (inner,) = cli("ps", "--all")["jobs"]
    assert exists(cli("status", inner["job_id"])["pid"])


def test_ending_a_job_leaves_those_alone_that_it_has_asked_for(cli: Cli) -> None:
    """Also where they hang below a helper of the library's, and not below the job itself."""
    code = (
        "import sys, time; sys.path.append(sys.argv[1]); import agent_exec; "
        "agent_exec.open_jobs().run(['sleep', '600'], observe=0); print('ready', flush=True); time.sleep(600)"
    )
    source = Path(agent_exec.__file__).parent.parent
    outer = cli.start(*python(code, source))
    wait_until(lambda: (cli.folder(outer) / "stdout.log").read_text() == "ready\n")
    assert cli("kill", outer)["state"] == "killed"
    (inner,) = cli("ps", "--all")["jobs"]
    assert (inner["command"], inner["supervisor"]) == (["sleep", "600"], "alive")


def test_a_job_that_a_run_asks_for_outlives_it(cli: Cli) -> None:
    argv = [str(PROGRAM), "run", "--no-wait", "--", "sleep", "600"]
    out = agent_exec.run(argv, env=cli.env, cwd=cli.cwd)
    assert (out.exit_code, out.leaked) == (0, False)
    assert len(cli("ps", "--all")["jobs"]) == 1


def test_the_name_of_our_helpers_gives_no_immunity(cli: Cli, tmp_path: Path) -> None:
    for name in ("agent-exec", "agent-exec-job", "job"):
        program = tmp_path / name
        shutil.copy(SLEEP, program)
        told = cli("run", "--wait", "--timeout", "100ms", "--", program, "600")
        assert (told["timed_out"], told["signal"]) == (True, "SIGTERM")
        out = agent_exec.run([str(program), "600"], timeout=0.1)
        assert (out.cause, out.signal) == ("timeout", "SIGTERM")


def test_what_was_left_is_asked_before_it_is_forced(cli: Cli) -> None:
    left = "(trap 'echo got it; exit' TERM; trap 'echo usr' USR1; echo ready; while :; do sleep 0.01; done) &"
    told = cli("run", "--wait", "--leave", "--", "sh", "-c", left)
    assert (told["state"], told["leaked"]) == ("exited", True)
    log = cli.folder(told["job_id"]) / "stdout.log"
    wait_until(lambda: log.read_text() == "ready\n")
    cli("kill", told["job_id"], "--signal", "USR1")
    wait_until(lambda: log.read_text() == "ready\nusr\n")
    cli("kill", told["job_id"])
    wait_until(lambda: log.read_text() == "ready\nusr\ngot it\n")


TAKEN = """
import os, sys, time
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
with open("/proc/self/comm", "w") as file:
    file.write("agent-exec/job")
with open(sys.argv[1], "w") as file:
    file.write(str(os.getpid()))
time.sleep(600)
"""


@LINUX
@pytest.mark.parametrize("how", ["run", "timeout", "job", "kill", "keeper", "session"])
def test_a_process_named_like_a_supervisor_is_ended(how: str, cli: Cli, tmp_path: Path) -> None:
    seen = tmp_path / "pid"
    line = f"{shlex.join(python(TAKEN, seen))}; while [ ! -s {seen} ]; do sleep 0.01; done"
    if how in ("run", "timeout"):
        more = "" if how == "run" else "; sleep 600"
        out = agent_exec.run(["sh", "-c", line + more], timeout=0.5 if more else None)
        assert out.cause == ("timeout" if more else None)
    elif how == "job":
        told = cli(
            "run",
            "--wait",
            "--",
            "sh",
            "-c",
            f"({line}) & while [ ! -s {tmp_path}/pid ]; do sleep 0.01; done",
        )
        assert told["state"] == "exited"
    elif how == "kill":
        job = cli.start("sh", "-c", f"{line}; sleep 600")
        wait_until(lambda: seen.exists() and seen.read_text())
        assert cli("kill", job)["leaked"] is False
    elif how == "keeper":
        script = f"{line}; kill -KILL $PPID; sleep 600"
        with pytest.raises(agent_exec.AgentExecError):
            agent_exec.run(["sh", "-c", script])
    else:
        from agent_exec.faces.session.tools import open_tools

        tools = open_tools(workspace=str(cli.cwd))
        try:
            tools.call("exec_command", {"cmd": f"{line}; sleep 600", "login": False, "yield_time_ms": 250})
            wait_until(lambda: seen.exists() and seen.read_text())
        finally:
            tools.close()
    assert not exists(int(seen.read_text()))


@LINUX
@pytest.mark.parametrize("how", ["any", "lock", "signed"])
def test_the_lock_of_another_job_gives_no_immunity(how: str, cli: Cli, tmp_path: Path) -> None:
    """Neither some lock, nor that of a job that another has signed."""
    job = cli("run", "--wait", "--", "true")["job_id"]
    path = {"any": tmp_path / "held", "lock": tmp_path / "lock", "signed": cli.folder(job) / "lock"}[how]
    script = f"setsid -f flock {path} sleep 600; while flock -n {path} true; do sleep 0.01; done"
    assert agent_exec.run(["sh", "-c", script]).leaked, "it was there, and ended"
    assert not is_locked(str(path))
