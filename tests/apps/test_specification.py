"""The specification of agent-exec 0.1: a test for each requirement and each scenario, under its own title."""

import json
import os
from pathlib import Path

import pytest

from agent_exec import host
from agent_exec.faces import verbs
from agent_exec.host.windows import signals as windows
from agent_exec.jobs import kill
from agent_exec.jobs.store import Store
from agent_exec.places import jobs_root
from apps.talker import pids_of
from cli import Cli, check
from support import child, exists

METRICS = ("stdout_observed_bytes", "stderr_observed_bytes", "stdout_included_bytes", "stderr_included_bytes")


def unset(cli: Cli, *names: str) -> None:
    for name in names:
        cli.env.pop(name, None)


def test_requirement_json_only_stdout(cli: Cli) -> None:
    """Requirement: JSON-only stdout."""
    job_id = cli("run", "--", "sh", "-c", "echo '{'; echo '}' >&2; exit 3")["job_id"]
    for words in (
        ("status", job_id),
        ("tail", job_id),
        ("wait", job_id),
        ("kill", job_id),
        ("list",),
        ("ps",),
        ("schema",),
        ("delete", "--dry-run", job_id),
        ("gc", "--dry-run"),
        ("rm", job_id),
        ("status", job_id),
        ("run", "--", "no-such-program"),
    ):
        out = cli.raw(*words)
        assert check(out.stdout.decode())["type"]
        assert out.stderr == b""
    for words in (("--help",), ("run", "--help"), ("--version",)):
        out = cli.raw(*words)
        assert out.returncode == 0
        assert not out.stdout.startswith(b"{")
    out = cli.raw("run", "--no-such-option")
    assert (out.returncode, out.stdout) == (2, b"")


def test_scenario_stdout_of_status(cli: Cli) -> None:
    """Scenario: status の標準出力."""
    job_id = cli("run", "--", "true")["job_id"]
    out = cli.raw("-v", "status", job_id)
    assert json.loads(out.stdout)["job_id"] == job_id
    assert out.stdout.count(b"\n") == 1
    assert b"status" in out.stderr
    assert b"{" not in out.stderr


def test_requirement_common_json_schema(cli: Cli) -> None:
    """Requirement: 共通 JSON スキーマ."""
    done = cli("run", "--", "false")
    assert (done["schema_version"], done["ok"], done["type"]) == ("0.1", True, "run")
    assert "error" not in done
    refused = cli("wait", "0" * 26)
    assert (refused["schema_version"], refused["ok"], refused["type"]) == ("0.1", False, "error")
    assert {"code", "message", "retryable"} <= set(refused["error"])
    assert (done.code, refused.code) == (0, 1)


def test_scenario_job_not_found(cli: Cli) -> None:
    """Scenario: ジョブ未検出."""
    answer = cli("status", "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert answer["ok"] is False
    assert answer["error"]["code"] == "job_not_found"
    assert answer.code == 1


def test_requirement_order_of_precedence_of_the_jobs_root(cli: Cli, tmp_path: Path) -> None:
    """Requirement: ジョブ保存先の優先順位."""
    option, variable, xdg, home = (tmp_path / name for name in ("option", "variable", "xdg", "home"))
    cli.env |= {"AGENT_EXEC_ROOT": str(variable), "XDG_DATA_HOME": str(xdg), "HOME": str(home)}
    assert cli("list", "--root", option)["root"] == str(option)
    assert cli("list")["root"] == str(variable)
    unset(cli, "AGENT_EXEC_ROOT")
    assert cli("list")["root"] == str(xdg / "agent-exec" / "jobs")
    unset(cli, "XDG_DATA_HOME")
    assert cli("list")["root"] == str(home / ".local" / "share" / "agent-exec" / "jobs")


def test_scenario_linux_or_macos_without_xdg(cli: Cli, tmp_path: Path) -> None:
    """Scenario: XDG 未設定の Linux/macOS."""
    unset(cli, "AGENT_EXEC_ROOT", "XDG_DATA_HOME")
    cli.env["HOME"] = str(tmp_path)
    cli.root = tmp_path / ".local" / "share" / "agent-exec" / "jobs"
    answer = cli("run", "--", "true")
    assert cli.folder(answer["job_id"]).is_dir()
    assert answer["stdout_log_path"] == str(cli.folder(answer["job_id"]) / "stdout.log")
    assert jobs_root(environ={}, platform="darwin", home="/Users/me") == (
        "/Users/me/.local/share/agent-exec/jobs"
    )


def test_scenario_default_path_of_windows() -> None:
    """Scenario: Windows の既定パス."""
    local = {"LOCALAPPDATA": "/Users/me/AppData/Local"}
    expected = os.path.join("/Users/me/AppData/Local", "agent-exec", "jobs")
    assert jobs_root(environ=local, platform="win32", home="/elsewhere") == expected
    assert jobs_root(environ={}, platform="win32", home="/Users/me") == expected
    assert jobs_root(environ=local | {"XDG_DATA_HOME": "/x"}, platform="win32") == "/x/agent-exec/jobs"


def test_requirement_run_makes_a_job_and_a_snapshot(cli: Cli) -> None:
    """Requirement: run のジョブ生成とスナップショット.

    The one test that takes ten seconds: the wait is bounded, however long it was asked to be.
    """
    answer = cli("run", "--snapshot-after", 3_600_000, "--", "sh", "-c", "echo begun; sleep 60")
    assert answer["state"] == "running"
    assert answer["waited_ms"] <= 10_000
    assert answer["elapsed_ms"] >= answer["waited_ms"]
    assert set(METRICS) <= set(answer["snapshot"])
    assert answer["snapshot"]["stdout_tail"] == "begun"
    assert cli.folder(answer["job_id"]).is_dir()


def test_scenario_byte_metrics_of_the_snapshot(cli: Cli) -> None:
    """Scenario: snapshot の bytes メトリクス."""
    code = "printf %0100d 0; printf %070d 1 >&2"
    snapshot = cli("run", "--snapshot-after", 500, "--max-bytes", 64, "--", "sh", "-c", code)["snapshot"]
    assert [snapshot[name] for name in METRICS] == [100, 70, 64, 64]
    assert snapshot["truncated"] is True


def test_requirement_utf8_lossy_in_tail_and_snapshot(cli: Cli) -> None:
    """Requirement: tail/snapshot の UTF-8 lossy."""
    answer = cli("run", "--", "printf", r"a\377z")
    assert answer["snapshot"]["encoding"] == "utf-8-lossy"
    assert answer["snapshot"]["stdout_tail"] == "a\ufffdz"
    tail = cli("tail", answer["job_id"])
    assert tail["encoding"] == "utf-8-lossy"
    assert tail["stdout_tail"] == "a\ufffdz"


def test_scenario_a_log_with_bytes_that_are_no_utf8(cli: Cli) -> None:
    """Scenario: 非 UTF-8 バイトを含むログ."""
    job_id = cli.start("printf", r"\200\201\n\303")
    cli("wait", job_id)
    assert (cli.folder(job_id) / "stdout.log").read_bytes() == b"\x80\x81\n\xc3"
    answer = cli("tail", job_id)
    assert answer["encoding"] == "utf-8-lossy"
    assert answer["stdout_tail"] == "\ufffd\ufffd\n\ufffd"


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        ("TERM", "SIGTERM"),
        ("int", "SIGINT"),
        ("KILL", "SIGKILL"),
        ("HUP", "SIGKILL"),
        ("USR1", "SIGKILL"),
        ("12", "SIGKILL"),
        ("nonsense", "SIGKILL"),
    ],
)
def test_requirement_kill_on_windows(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, asked: str, sent: str
) -> None:
    """Requirement: Windows の kill 対応 (with the signals of Windows, on a job of this system)."""
    assert kill.force() == windows.KILL  # imported first: it keeps the names of this system
    monkeypatch.setattr(host, "signal_number", windows.signal_number)
    monkeypatch.setattr(host, "signal_name", windows.signal_name)
    job_id = cli.start(*child("tree", "session", 2))
    pids = pids_of(cli, job_id, 2)
    answer = verbs.Jobs(Store(str(cli.root))).kill(job_id, signal=asked)
    assert (answer["ok"], answer["signal"], answer["state"]) == (True, sent, "killed")
    assert answer["terminated_signal"] == sent
    assert not any(map(exists, pids))


def test_the_signals_of_windows_are_those_it_can_deliver() -> None:
    """Requirement: Windows の kill 対応 (the table of its host)."""
    assert windows.signal_number("TERM") == windows.signal_number("sigterm") == 15
    assert windows.signal_number("INT") == windows.signal_number("2") == 2
    assert windows.signal_number("KILL") == windows.signal_number("9") == 9
    for other in ("HUP", "USR1", "QUIT", "1", "64", "", "SIG", "-9"):
        assert windows.signal_number(other) is None
    assert windows.signal_name(15) == "SIGTERM"


def test_scenario_kill_ends_the_whole_tree(cli: Cli) -> None:
    """Scenario: Windows の kill 実行 (the same words, on this system)."""
    job_id = cli.start(*child("tree", "daemon", 3))
    pids = pids_of(cli, job_id, 3)
    answer = cli("kill", job_id, "--signal", "TERM")
    assert answer["ok"] is True
    assert not any(map(exists, pids))
