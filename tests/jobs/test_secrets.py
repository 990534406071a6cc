"""Secrets stay where they belong, and files are for their owner alone."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from cli import Cli, check
from jobs.seen import Gate, only_job, popen, printed, supervisor_of
from support import wait_until

GIVEN, FILED, FED, OURS, MASKED = (
    f"value-{name}-0d9f" for name in ("given", "filed", "fed", "ours", "masked")
)
SECRETS = (GIVEN, FILED, FED, OURS, MASKED)


def _command_lines() -> dict[int, str]:
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                found[int(name)] = Path(f"/proc/{name}/cmdline").read_text(errors="replace")
            except OSError:
                continue
    return found


def _leaks(text: str) -> list[str]:
    return [secret for secret in SECRETS if secret in text]


def _stored(root: Path) -> list[str]:
    """Return the secrets that are in any file of a store, or in a name there."""
    found = []
    for path in root.rglob("*"):
        found += _leaks(str(path))
        if path.is_file():
            found += _leaks(path.read_text(errors="replace"))
    return found


@pytest.mark.parametrize("joined", [False, True])
def test_values_are_in_no_argument_of_ours_and_in_no_file(cli: Cli, tmp_path: Path, joined: bool) -> None:
    """While `run` waits, and in the supervisor, which is a forked copy of it."""
    file = tmp_path / "env"
    file.write_text(f"FILED={FILED}\n")
    gate = Gate(tmp_path / "gate")
    command = gate.job(after='cat; printf "%s " "$GIVEN" "$FILED" "$OURS" "$MASKED" | md5sum')
    options = [("--env", f"GIVEN={GIVEN}"), ("--env", f"MASKED={MASKED}"), ("--stdin", FED)]
    words = ["=".join(pair) for pair in options] if joined else [word for pair in options for word in pair]
    caller = popen(
        cli,
        "run",
        "--wait",
        *words,
        *("--env-file", file, "--env", "OURS", "--mask", "MASKED", "--", *command),
        env={**cli.env, "OURS": OURS},
    )
    job_id = only_job(cli)
    supervisor = supervisor_of(cli, job_id)
    lines = _command_lines()
    assert {caller.pid, supervisor} <= set(lines)
    assert {pid: _leaks(line) for pid, line in lines.items() if _leaks(line)} == {}
    assert "agent-exec" in lines[supervisor]
    assert _stored(cli.root) == []
    assert _leaks(str([cli("status", job_id), cli("list", "--all"), cli("ps", "--all")])) == []
    gate.open()
    out = check(caller.communicate()[0].decode())
    assert out["exit_code"] == 0
    assert out["stdout"].startswith(f"before\n{FED}"), "the command itself gets them"
    assert "0d9f" not in str(out["env_vars"]).replace(f"GIVEN={GIVEN}", "")
    assert cli("status", job_id)["env_keys"] == ["FILED", "GIVEN", "MASKED", "OURS"]


def test_input_from_a_pipe_is_in_no_file(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    out = cli("run", "--no-wait", "--stdin", "-", "--", *gate.job(after="wc -c"), input=FED.encode() * 10_000)
    assert _stored(cli.root) == []
    gate.open()
    assert int(cli("wait", out["job_id"])["stdout"].split()[-1]) == len(FED) * 10_000


@pytest.mark.parametrize("mask", [0o0, 0o022, 0o077])
def test_files_are_for_their_owner_alone_under_any_umask(cli: Cli, tmp_path: Path, mask: int) -> None:
    root = tmp_path / "made" / "by" / "us"
    job = "umask; seq 100000; seq 1000 >&2; echo more"
    words = ["run", "--wait", "--max-log-bytes", 4096, "--stdin", FED, "--root", root, "--", "sh", "-c", job]
    done = subprocess.run(
        ["sh", "-c", f'umask {mask:o}; exec "$@"', "sh", *cli.argv(*words)],
        capture_output=True,
        check=True,
        cwd=cli.cwd,
        env=cli.env,
    )
    out = check(done.stdout.decode())
    assert (root / out["job_id"] / "stdout.log").read_text().split()[0] == f"{mask:04o}", (
        "the job's is its caller's"
    )
    cli("gc", "--root", root)
    paths = [tmp_path / "made", tmp_path / "made" / "by", root, *root.rglob("*")]
    kinds = {stat.S_IFDIR: 0o700, stat.S_IFREG: 0o600, stat.S_IFIFO: 0o600}
    assert len(paths) > 12, "parts of the log, indexes, lock"
    for path in paths:
        mode = path.stat().st_mode
        assert stat.S_IMODE(mode) == kinds[stat.S_IFMT(mode)], path


def test_a_root_that_is_there_keeps_its_mode(cli: Cli) -> None:
    cli.root.mkdir()
    cli.root.chmod(0o750)
    job_id = str(cli("run", "--", "true")["job_id"])
    assert stat.S_IMODE(cli.root.stat().st_mode) == 0o750
    assert stat.S_IMODE(cli.folder(job_id).stat().st_mode) == 0o700


def test_the_environment_of_one_job_is_not_that_of_the_next(cli: Cli) -> None:
    cli("run", "--env", f"GIVEN={GIVEN}", "--", "true")
    job_id = str(cli("run", "--", "env")["job_id"])
    wait_until(lambda: "PATH=" in printed(cli, job_id))
    assert GIVEN not in printed(cli, job_id)
