"""Jobs in boxes: the box is its supervisor's, and however that ends, nothing of the box is left."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import agent_exec
from agent_exec.jobs.confined_job import ROOM, ahead, bounded
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.jsonline import dump
from agent_exec.sandbox.sandbox import shared_sandbox
from cli import PROGRAM, Cli, check
from jobs.seen import Gate, below, kill_and_wait, printed, stat, supervisor_of
from sandbox.trees import repository
from support import exists, processes_marked, wait_until

SOURCE = Path(agent_exec.__file__).parent.parent
BOX = ("--sandbox", "workspace-write")
SPREAD = "setsid sh -c 'trap : TERM; sleep 600; sleep 600' & (sleep 600 &); echo ready; sleep 600"


def start(cli: Cli, line: str = SPREAD, *words: object) -> str:
    """Start a job in a box, and wait until it has said that it is ready."""
    job_id = str(cli("run", "--no-wait", *BOX, *words, "--", "sh", "-c", line)["job_id"])
    wait_until(lambda: "ready" in printed(cli, job_id))
    return job_id


def members(job_id: str) -> dict[int, str]:
    """Return the processes of a job's command, as they are seen from out here."""
    return processes_marked(f"AGENT_EXEC_JOB_ID={job_id}")


def test_kill_ends_all_that_is_in_the_box(cli: Cli) -> None:
    job_id = start(cli, SPREAD, "--kill-after", "100ms")
    wait_until(lambda: len(members(job_id)) >= 4)
    told = cli("kill", job_id)
    assert (told["state"], told["reason"]) == ("killed", "killed")
    assert not members(job_id)
    assert cli("status", job_id)["sandbox"]["denials"] == []


def test_a_signal_is_only_delivered(cli: Cli) -> None:
    job_id = start(cli, "trap 'echo heard; exit 4' USR1; echo ready; while :; do sleep 0.01; done")
    cli("kill", job_id, "--signal", "USR1")
    assert cli("wait", job_id)["exit_code"] == 4
    assert "heard" in printed(cli, job_id)


def test_what_it_leaves_behind_is_ended(cli: Cli) -> None:
    told = cli("run", "--wait", *BOX, "--", "sh", "-c", "setsid sleep 600 & echo left")
    assert (told["state"], told["exit_code"], told["leaked"]) == ("exited", 0, True)
    assert not members(told["job_id"])


def test_a_supervisor_that_is_killed_leaves_nothing(cli: Cli) -> None:
    job_id = start(cli)
    supervisor = supervisor_of(cli, job_id)
    helpers = below(supervisor)
    assert len(helpers) > 3
    kill_and_wait(supervisor)
    wait_until(lambda: not members(job_id) and not any(map(exists, helpers)))
    told = cli("wait", job_id)
    assert (told["state"], told["reason"]) == ("failed", "supervisor_lost")
    assert set(told["sandbox"]) == {"profile", "policy"}
    assert cli("kill", job_id)["state"] == "failed"


def test_a_supervisor_that_is_asked_to_end_ends_the_box_first(cli: Cli) -> None:
    job_id = start(cli, SPREAD, "--kill-after", "100ms")
    supervisor = supervisor_of(cli, job_id)
    helpers = below(supervisor)
    os.kill(supervisor, signal.SIGTERM)
    told = cli("wait", job_id)
    assert (told["state"], told["reason"]) == ("killed", "supervisor_terminated")
    assert told["sandbox"]["profile"] == "workspace-write"
    wait_until(lambda: not any(map(exists, helpers)))


def test_a_box_that_is_killed_is_reported(cli: Cli) -> None:
    job_id = start(cli, "echo ready; sleep 600")
    command = members(job_id)
    (box,) = {int(stat(pid)[1]) for pid in command} - command.keys()
    kill_and_wait(box)
    told = cli("wait", job_id, "--exit-code")
    assert (told["state"], told["reason"], told.code) == ("failed", "sandbox_lost", 125)
    assert told["message"]
    assert "ready" in told["stdout"]
    assert not members(job_id)


def test_a_job_outlives_the_command_that_asked_for_it(cli: Cli) -> None:
    gate = Gate(cli.cwd / "gate")
    words = [str(PROGRAM), "run", "--no-wait", *BOX, "--", *gate.job()]
    outcome = agent_exec.run(words, cwd=cli.cwd, env=cli.env)
    assert (outcome.exit_code, outcome.leaked) == (0, False)
    job_id = check(outcome.stdout_text)["job_id"]
    assert cli("status", job_id)["state"] == "running"
    gate.open()
    assert cli("wait", job_id)["exit_code"] == 7


def test_where_no_box_can_be_made_nothing_runs(cli: Cli) -> None:
    unshare = shutil.which("unshare")
    forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec "
    words = [str(unshare), "-Ur", "sh", "-c"]
    if (
        unshare is None
        or subprocess.run([*words, f"{forbid}true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("no user namespace to be had")
    out = subprocess.run(
        [*words, f'{forbid}"$0" "$@"', str(PROGRAM), "run", *BOX, "--", "touch", "ran"],
        cwd=cli.cwd,
        env=cli.env,
        capture_output=True,
        check=False,
    )
    told = check(out.stdout.decode())
    assert (out.returncode, told["error"]["code"], told["state"]) == (1, "sandbox_unavailable", "failed")
    assert not (cli.cwd / "ran").exists()
    assert cli("status", told["job_id"])["reason"] == "spawn_failed"


def test_the_library(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    jobs = agent_exec.open_jobs(str(cli.root))
    profile = agent_exec.Profile("workspace-write", [cli.cwd])
    line = f"cat > file; echo out > {tmp_path}/out"
    told = jobs.run(["sh", "-c", line], cwd=str(cli.cwd), stdin=b"fed", sandbox=profile, observe=None)
    assert told["state"] == "exited"
    assert (cli.cwd / "file").read_bytes() == b"fed"
    assert not (tmp_path / "out").exists()
    assert told["sandbox"]["policy"] == profile.digest
    assert jobs.status(told["job_id"])["sandbox"] == told["sandbox"]


def test_what_is_known_of_a_root_is_known_to_the_next_job_and_no_more(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_exec.sandbox.plan.survey._SETTLED_NS", 0)
    jobs = agent_exec.open_jobs(str(cli.root))
    profile = agent_exec.Profile("workspace-write", [cli.cwd])
    hook = cli.cwd / "inner" / ".git" / "hooks" / "pre-commit"
    hook.parent.parent.parent.mkdir()

    def changes(line: str) -> list[dict[str, str]]:
        told = jobs.run(["sh", "-c", line], cwd=str(cli.cwd), sandbox=profile, observe=None)
        found: list[dict[str, str]] = told["sandbox"]["protected_changes"]
        return found

    assert changes("true") == []
    assert shared_sandbox().memory.surveyor.known(str(cli.cwd))[0]
    shutil.copytree(repository(cli.cwd.parent / "theirs") / ".git", hook.parent.parent)
    assert changes(f"echo x > {hook}; mkdir -p new/.git") == [
        {"path": str(cli.cwd / "new" / ".git"), "what": "appeared"}
    ]
    assert not hook.exists()
    assert changes("echo x > new/.git/config") == []
    assert not (cli.cwd / "new" / ".git" / "config").exists()


@pytest.mark.parametrize("git", ["read-only", "commit"])
def test_a_repository_that_comes_after_the_plan_is_protected(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, git: agent_exec.GitAccess
) -> None:
    theirs = repository(cli.cwd.parent / "theirs")
    hook = cli.cwd / "inner" / ".git" / "hooks" / "pre-commit"

    def planned(*args: Any) -> dict[str, Any]:
        sent = ahead(*args)
        assert sent["plan"]
        shutil.copytree(theirs, cli.cwd / "inner")
        return sent

    monkeypatch.setattr("agent_exec.jobs.confined_job.ahead", planned)
    jobs = agent_exec.open_jobs(str(cli.root))
    profile = agent_exec.Profile("workspace-write", [cli.cwd], git=git)
    told = jobs.run(["sh", "-c", f"echo x > {hook}"], cwd=str(cli.cwd), sandbox=profile, observe=None)
    assert told["exit_code"] == 2
    assert not hook.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser reads everything")
@pytest.mark.parametrize("mode", ["000", "444"])
def test_a_folder_that_a_command_has_shut_stays_shut(cli: Cli, mode: str) -> None:
    hook = repository(cli.cwd / "folder" / "inner") / ".git" / "hooks" / "pre-commit"
    folder = cli.cwd / "folder"
    try:
        assert cli("run", "--wait", *BOX, "--", "chmod", mode, folder)["exit_code"] == 0
        line = f"chmod 755 {folder}; echo x > {hook}"
        assert cli("run", "--wait", *BOX, "--", "sh", "-c", line)["exit_code"] == 2
    finally:
        folder.chmod(0o755)
    assert not hook.exists()


def test_a_root_that_has_become_another_folder_is_refused(cli: Cli) -> None:
    jobs = agent_exec.open_jobs(str(cli.root))
    root = cli.cwd / "root"
    profile = agent_exec.Profile("workspace-write", [root])
    root.mkdir()
    assert jobs.run(["true"], cwd=str(root), sandbox=profile, observe=None)["exit_code"] == 0
    root.rename(cli.cwd / "away")
    root.mkdir()
    told = jobs.run(["touch", "written"], cwd=str(root), sandbox=profile, observe=None)
    assert (told["state"], told["reason"]) == ("failed", "spawn_failed")
    assert "was replaced by another folder" in told["message"]
    assert not (root / "written").exists()


def test_a_box_that_cannot_be_planned_is_the_jobs_failure(cli: Cli) -> None:
    jobs = agent_exec.open_jobs(str(cli.root))
    (cli.cwd / ".git").symlink_to("/elsewhere")
    told = jobs.run(["true"], cwd=str(cli.cwd), sandbox=agent_exec.Profile("workspace-write", [cli.cwd]))
    assert (told["state"], told["reason"]) == ("failed", "spawn_failed")
    assert "symbolic link" in told["message"]


@pytest.mark.parametrize("who", ["the supervisor", "its factory"])
def test_a_killed_process_leaves_nothing(cli: Cli, who: str) -> None:
    jobs = agent_exec.open_jobs(str(cli.root))
    profile = agent_exec.Profile("workspace-write", [cli.cwd])
    job_id = str(jobs.run(["sh", "-c", SPREAD], cwd=str(cli.cwd), sandbox=profile, observe=0)["job_id"])
    wait_until(lambda: len(members(job_id)) >= 4)
    supervisor = supervisor_of(cli, job_id)
    helpers = below(supervisor)
    factory = next(pid for pid in helpers if int(stat(pid)[1]) == supervisor)
    kill_and_wait(supervisor if who == "the supervisor" else factory)
    if who == "its factory":
        assert jobs.kill(job_id)["state"] == "killed"
    wait_until(lambda: not members(job_id) and not any(map(exists, helpers)))


def test_the_users_rules_are_safe_from_the_librarys_jobs(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(cli.cwd))
    rules = cli.cwd / "agent-exec" / "rules.toml"
    rules.parent.mkdir()
    rules.write_text("# mine\n")
    jobs = agent_exec.open_jobs(str(cli.root))
    profile = agent_exec.Profile("workspace-write", [cli.cwd])
    with pytest.raises(InvalidArgument, match="lies where they may write: move it out"):
        jobs.run(["true"], cwd=str(cli.cwd), sandbox=profile)
    assert rules.read_text() == "# mine\n"


def test_what_makes_no_sense_is_refused_before_anything_is_made(cli: Cli) -> None:
    jobs = agent_exec.open_jobs(str(cli.root))
    profile = agent_exec.Profile("workspace-write", [cli.cwd])
    with pytest.raises(InvalidArgument, match="leftovers"):
        jobs.run(["true"], sandbox=profile, leftovers="leave")
    with pytest.raises(InvalidArgument, match="Profile"):
        jobs.run(["true"], sandbox="read-only")  # type: ignore[arg-type]
    assert not cli.root.exists()


def test_the_clock_of_the_profile_is_the_jobs(cli: Cli) -> None:
    limits = agent_exec.BoxLimits(wall=0.2)
    profile = agent_exec.Profile("workspace-write", [cli.cwd], limits=limits)
    jobs = agent_exec.open_jobs(str(cli.root))
    for timeout in (None, 500.0):
        told = jobs.run(["sleep", "600"], cwd=str(cli.cwd), sandbox=profile, timeout=timeout, observe=None)
        assert (told["timed_out"], told["timeout_ms"]) == (True, 200)
    told = jobs.run(["true"], cwd=str(cli.cwd), sandbox=profile, timeout=0.1, observe=None)
    assert told["timeout_ms"] == 100


def test_the_report_fits_into_its_reserved_room() -> None:
    changes = [{"path": f"/{number:04}/" + "é" * 200, "what": "appeared"} for number in range(500)]
    block: dict[str, Any] = {"protected_changes": changes, "denials": [], "message": "m", "unenforced": ["x"]}
    told = bounded(block)
    assert len(dump(told).encode()) <= ROOM
    assert told["protected_changes"] == changes[: len(told["protected_changes"])] != []
    assert told["unenforced"] == ["x"]
    assert told["message"].startswith("m (more")
    assert bounded(told) == told
    small = {"protected_changes": [], "denials": [], "message": "", "unenforced": []}
    assert bounded(small) == small


def test_a_job_that_changes_very_much_is_recorded(cli: Cli) -> None:
    line = "for i in $(seq 300); do mkdir -p d$i/$(printf '%0200d' $i)/.git; done"
    told = cli("run", "--wait", *BOX, "--", "sh", "-c", line)
    assert told["exit_code"] == 0
    assert 0 < len(told["sandbox"]["protected_changes"]) < 300
    assert "more was found" in told["sandbox"]["message"]


def test_a_supervisor_loads_no_sandbox_unless_asked() -> None:
    code = (
        f"import sys; sys.path.append({str(SOURCE)!r}); from agent_exec.jobs import supervise; "
        "supervise.preload(); print(*sys.modules)"
    )
    out = subprocess.run([sys.executable, "-IS", "-c", code], capture_output=True, text=True, check=True)
    assert "agent_exec.engine.run" in out.stdout.split()
    assert "agent_exec.sandbox" not in out.stdout
    assert "agent_exec.jobs.confined_job" not in out.stdout
