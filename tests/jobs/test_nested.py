"""Jobs and commands within one another: a job outlives who asked for it, and nothing else escapes by a name."""

import shutil
from pathlib import Path

import agent_exec
from cli import PROGRAM, Cli
from support import exists, python, wait_until

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


def test_the_name_of_our_helpers_makes_nobody_immune(cli: Cli, tmp_path: Path) -> None:
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
