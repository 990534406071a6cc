"""Jobs of the Rust agent-exec in the same store: read as they stand, and changed by no verb."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from agent_exec.jobs.record import stamp
from cli import Cli
from support import wait_until

DONE = "576ee0be3511cd1dbd484a0a58430f37"
OTHER = "649408e8c41e13b3cd512d32191bcdf5"
NOW = "2026-11-16T20:31:55Z"


def write(
    cli: Cli,
    job_id: str = DONE,
    status: str | None = "exited",
    *,
    meta: dict[str, Any] | None = None,
    **state: Any,
) -> Path:
    """Make a job in the layout of version 0.2.40; without a status, only what was asked of it."""
    folder = cli.root / job_id
    folder.mkdir(parents=True)
    cli.root.chmod(0o700)
    asked = {
        "job": {"id": job_id},
        "schema_version": "0.5",
        "command": ["sh", "-c", "echo out; echo err >&2; exit 3"],
        "created_at": NOW,
        "root": str(cli.root),
        "env_keys": ["TOKEN"],
        "cwd": str(cli.cwd),
        "tags": ["build"],
        "inherit_env": True,
        "abandon_job_after_ms": 0,
        "timeout_ms": 0,
        "kill_after_ms": 0,
        "progress_every_ms": 0,
        "shell_wrapper": ["sh", "-lc"],
    }
    (folder / "meta.json").write_text(json.dumps(asked | (meta or {}), indent=2))
    (folder / "stdout.log").write_text("out\n")
    (folder / "stderr.log").write_text("err\n")
    (folder / "full.log").write_text(f"{NOW} [STDOUT] out\n{NOW} [STDERR] err\n")
    if status is not None:
        stands = {
            "job": {"id": job_id, "status": status, "started_at": NOW},
            "result": {"exit_code": 0 if status == "exited" else None, "signal": None, "duration_ms": None},
            "updated_at": NOW,
            "logs_drained": True,
        }
        (folder / "state.json").write_text(json.dumps(stands | state, indent=2))
    return folder


def ended(cli: Cli, job_id: str = DONE, **more: Any) -> Path:
    result = {"exit_code": 3, "signal": None, "duration_ms": 21}
    return write(cli, job_id, "exited", result=result, pid=30660, finished_at=NOW, **more)


def test_a_job_that_has_ended(cli: Cli) -> None:
    folder = ended(cli)
    status = cli("status", DONE)
    assert (status["state"], status["exit_code"], status["duration_ms"]) == ("exited", 3, 21)
    assert (status["written_by"], status["tags"], status["env_keys"]) == ("rust", ["build"], ["TOKEN"])
    assert (status["created_at"], status["finished_at"]) == ("2026-11-16T20:31:55.000Z",) * 2
    assert (status["cwd"], status["timeout_ms"], status["output_complete"]) == (str(cli.cwd), None, True)
    assert status["full_log_path"] == str(folder / "full.log")
    tail = cli("tail", DONE)
    assert (tail["stdout"], tail["stderr"]) == ("out\n", "err\n")
    assert cli("tail", DONE, "--cursor", tail["cursor"])["stdout"] == ""
    assert cli("wait", DONE)["exit_code"] == 3
    assert cli.raw("wait", DONE, "--exit-code").returncode == 3


def test_an_id_may_be_cut_short_at_either_end(cli: Cli) -> None:
    ended(cli)
    ended(cli, OTHER)
    assert cli("status", DONE[:7])["job_id"] == cli("status", DONE[-7:])["job_id"] == DONE
    refused = cli("status", "5")
    assert (refused["error"]["code"], refused["error"]["details"]["candidates"]) == (
        "ambiguous_job_id",
        sorted((DONE, OTHER), reverse=True),
    )
    ended(cli, "job-1")
    ended(cli, "job-10")
    assert cli("status", "job-1")["job_id"] == "job-1"


@pytest.mark.parametrize("name", ["../outside", "a/b", ".live", "", "a\0b"])
def test_what_is_no_name_leads_nowhere(cli: Cli, name: str) -> None:
    ended(cli)
    if "\0" not in name:
        assert cli("status", name)["error"]["code"] == "job_not_found"


def test_lists_have_them_among_ours_by_age(cli: Cli) -> None:
    ended(cli, "b" * 32, meta={"created_at": "2020-01-01T00:00:00Z"})
    ours = cli("run", "--tag", "build", "--", "true")["job_id"]
    ended(cli, "a" * 32, meta={"created_at": "2090-01-01T00:00:00.123456789+00:00"})
    ended(cli, "c" * 32, meta={"cwd": "/elsewhere"})
    here = ["a" * 32, ours, "b" * 32]
    assert [job["job_id"] for job in cli("list")["jobs"]] == here
    assert [job["job_id"] for job in cli("list", "--limit", 2)["jobs"]] == here[:2]
    assert [job["job_id"] for job in cli("list", "--tag", "build", "--state", "exited")["jobs"]] == here
    every = cli("list", "--all")
    assert (len(every["jobs"]), every["skipped"]) == (4, 0)
    assert [job.get("written_by") for job in every["jobs"]].count("rust") == 3


def test_a_job_with_an_id_like_ours(cli: Cli) -> None:
    """As versions before 0.2 make them."""
    old = "01M7K0YZ47SSJWS9F0T3AAPQ61"
    ended(cli, old)
    assert cli("status", old.lower())["written_by"] == "rust"
    assert [job["job_id"] for job in cli("list", "--all")["jobs"]] == [old]


def test_a_running_job(cli: Cli) -> None:
    with subprocess.Popen(["sleep", "600"]) as command:
        folder = write(cli, status="running", pid=command.pid, job={
            "id": DONE, "status": "running", "started_at": stamp(time.time())
        })  # fmt: skip
        try:
            status = cli("status", DONE)
            assert (status["state"], status["supervisor"]) == ("running", "unknown")
            assert (status["process_alive"], status["pid"]) == (True, command.pid)
            assert [job["job_id"] for job in cli("ps")["jobs"]] == [DONE]
            assert cli("wait", DONE, "--until", "10ms")["state"] == "running"
            for words in (("kill", DONE), ("delete", DONE), ("restart", DONE), ("timeout", "clear", DONE)):
                refused = cli(*words)["error"]
                assert (refused["code"], "Rust agent-exec" in refused["message"]) == ("invalid_state", True)
            assert cli("run", "--after", DONE, "--", "true")["error"]["code"] == "invalid_state"
            assert cli("gc", "--older-than", "1s", "--max-jobs", 0)["deleted"] == 0
            assert command.poll() is None
        finally:
            command.kill()
            command.wait()
        assert cli("status", DONE)["reason"] == "supervisor_lost"
        said = json.loads((folder / "state.json").read_text())
        said["job"]["status"], said["result"]["signal"] = "killed", "9"
        (folder / "state.json").write_text(json.dumps(said))
        status = cli("status", DONE)
        assert (status["state"], status["signal"], status["signal_number"]) == ("killed", "SIGKILL", 9)


def test_a_wait_ends_with_the_job(cli: Cli) -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as command:
        folder = write(cli, status="running", pid=command.pid, job={
            "id": DONE, "status": "running", "started_at": stamp(time.time())
        })  # fmt: skip
        with subprocess.Popen(
            cli.argv("wait", DONE, "--until", "60s"), stdout=subprocess.PIPE, env=cli.env, cwd=cli.cwd
        ) as waiting:
            said = json.loads((folder / "state.json").read_text())
            said["job"]["status"], said["result"]["exit_code"] = "exited", 5
            (folder / "new").write_text(json.dumps(said))
            (folder / "new").rename(folder / "state.json")
            assert waiting.stdout is not None
            told = json.loads(waiting.stdout.read())
        assert command.stdin is not None
        command.stdin.close()
    assert (told["state"], told["exit_code"]) == ("exited", 5)


def test_a_pid_of_another_process_is_not_the_job(cli: Cli) -> None:
    write(cli, status="running", pid=os.getpid(), job={
        "id": DONE, "status": "running", "started_at": "2020-01-01T00:00:00Z"
    })  # fmt: skip
    status = cli("status", DONE)
    assert (status["state"], status["reason"]) == ("failed", "supervisor_lost")
    assert cli("delete", DONE)["deleted"] == 1


def test_a_job_that_names_no_process(cli: Cli) -> None:
    """It is about to, and if that does not come, its supervisor is gone."""
    folder = write(cli, status="running")
    status = cli("status", DONE)
    assert (status["state"], status["process_alive"]) == ("running", False)
    os.utime(folder / "state.json", (0, 0))
    assert cli("status", DONE)["reason"] == "supervisor_lost"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"job": 1}', '{"job": {"status": "sleeping"}}'])
def test_a_state_that_cannot_be_read(cli: Cli, text: str) -> None:
    (write(cli) / "state.json").write_text(text)
    status = cli("status", DONE)
    assert (status["state"], status["reason"]) == ("failed", "record_damaged")
    assert cli("tail", DONE)["stdout"] == "out\n"
    assert cli("gc", "--older-than", "1d")["deleted"] == 0


@pytest.mark.parametrize("text", ["", "{}", '{"job": {"id": "another"}}', "[" * 9999])
def test_a_folder_that_is_no_job(cli: Cli, text: str) -> None:
    (ended(cli) / "meta.json").write_text(text)
    assert cli("list", "--all")["skipped"] == 1
    assert cli("status", DONE)["error"]["code"] == "job_not_found"
    assert cli("gc", "--older-than", "1s", "--max-jobs", 0)["deleted"] == 0


def test_values_of_other_kinds_are_left_out(cli: Cli) -> None:
    kinds = {"tags": "build", "env_keys": [1], "created_at": 5, "cwd": None, "kill_after_ms": "x"}
    write(cli, meta=kinds, pid="x", result={"exit_code": "3", "signal": 9}, finished_at=[], logs_drained=0)
    status = cli("status", DONE)
    assert (status["reason"], status["exit_code"], status["tags"]) == ("record_damaged", None, [])
    assert "pid" not in status
    assert not status["logs_drained"]
    assert cli("list")["jobs"] == []


def test_created_abandoned_and_failed_jobs(cli: Cli) -> None:
    write(cli, "made", "created")
    write(cli, "asked", None)
    write(cli, "late", "killed", abandoned_by="abandon_job_after", meta={"abandon_job_after_ms": 1000})
    write(cli, "broken", "failed")
    assert [cli("status", name)["state"] for name in ("made", "asked")] == ["created", "created"]
    late = cli("status", "late")
    assert (late["timed_out"], late["reason"], late["timeout_ms"]) == (True, "timeout", 1000)
    assert cli("status", "broken")["reason"] == "spawn_failed"


def test_they_are_deleted_and_collected_like_ours(cli: Cli) -> None:
    write(cli, "a" * 32, "exited", finished_at="2020-01-01T00:00:00Z")
    ended(cli, "b" * 32, meta={"created_at": "2020-01-02T00:00:00Z"})
    ours = cli("run", "--", "true")["job_id"]
    swept = cli("gc", "--older-than", "365d")
    assert (swept["deleted"], swept["skipped"]) == (1, 2)
    assert cli("gc", "--max-jobs", 1)["deleted"] == 1, "the oldest goes"
    ended(cli)
    write(cli, "made", "created", meta={"tags": []})
    gone = cli("delete", "--all")
    assert {job["job_id"]: job["action"] for job in gone["jobs"]} == {
        ours: "deleted", DONE: "deleted", "made": "skipped"
    }  # fmt: skip
    assert cli("delete", "made")["deleted"] == 1
    assert cli("list", "--all")["jobs"] == []


def test_a_folder_of_another_kind_is_left_alone(cli: Cli) -> None:
    """However old it is, and however large."""
    ended(cli)
    notes = cli.root / "notes"
    notes.mkdir()
    (notes / "precious").write_bytes(bytes(9000))
    os.utime(notes, (0, 0))
    assert cli("gc", "--older-than", "1s", "--max-bytes", 8000)["scanned_dirs"] == 1
    cli("run", "--auto-gc-max-jobs", 0, "--", "true")
    assert (cli("list", "--all")["skipped"], cli("delete", "--all")["out_of_scope"]) == (1, 0)
    assert (notes / "precious").exists()
    assert cli("status", "notes")["error"]["code"] == "job_not_found"


def test_automatic_collection_takes_them_too(cli: Cli) -> None:
    write(cli, "a" * 32, "exited", finished_at="2020-01-01T00:00:00Z")
    cli("run", "--auto-gc-older-than", "365d", "--", "true")
    wait_until(lambda: not (cli.root / ("a" * 32)).exists())
