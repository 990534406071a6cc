"""Deadlines of running jobs that are moved, and tags that are changed."""

import json
from pathlib import Path

import pytest

from agent_exec.jobs import open_jobs
from agent_exec.model.errors import InvalidState, InvalidTag
from cli import Cli


def test_a_deadline_is_set_on_a_job_that_had_none(cli: Cli) -> None:
    job = cli("run", "--no-wait", "--", "sleep", "600")["job_id"]
    assert cli("status", job).keys().isdisjoint(("deadline", "timeout_revision"))
    moved = cli("timeout", "set", job, "--in", "10m")
    assert (moved["type"], moved["deadline_configured_by"]) == ("timeout_set", "update")
    assert 500_000 < moved["deadline_remaining_ms"] <= 600_000
    moved = cli("timeout", "set", job, "--in", "50ms")
    ended = cli("wait", job, "--forever")
    assert (ended["state"], ended["reason"], ended["timed_out"]) == ("killed", "timeout", True)
    assert "deadline" not in cli("status", job)


def test_a_deadline_is_moved_and_taken_away(cli: Cli) -> None:
    job = cli("run", "--no-wait", "--timeout", "10m", "--", "sleep", "600")
    assert cli("timeout", "clear", job["job_id"])["timeout_ms"] is None
    status = cli("status", job["job_id"])
    assert (status["state"], "deadline" in status, status["timeout_revision"]) == ("running", False, 1)
    cli("timeout", "set", job["job_id"], "--in", "50ms")
    assert cli("wait", job["job_id"], "--forever")["reason"] == "timeout"


def test_a_deadline_of_the_start_is_shown(cli: Cli) -> None:
    job = cli("run", "--no-wait", "--timeout", "10m", "--", "sleep", "600")["job_id"]
    status = cli("status", job)
    assert status["deadline_configured_by"] == "launch"
    assert 500_000 < status["deadline_remaining_ms"] <= 600_000
    assert status["deadline"] > status["started_at"]


def test_only_a_running_job_has_a_deadline(cli: Cli) -> None:
    ended = cli("run", "--", "true")["job_id"]
    created = cli("create", "--", "true")["job_id"]
    for job in (ended, created):
        for words in (
            ("timeout", "set", job, "--in", "1s"),
            ("timeout", "clear", job),
            ("abandon", "clear", job),
        ):
            assert cli(*words)["error"]["code"] == "invalid_state"


def test_abandon_says_the_same_with_other_names(cli: Cli) -> None:
    job = cli("run", "--no-wait", "--", "sleep", "600")["job_id"]
    moved = cli("abandon", "set", job, "--in", 600, "--acknowledge-result-loss")
    assert (moved["type"], moved["abandon_revision"]) == ("abandon_set", 1)
    assert (moved["abandon_deadline"], moved["abandon_configured_by"]) == (moved["deadline"], "update")
    cleared = cli("abandon", "clear", job)
    assert (cleared["abandon_deadline"], cleared["abandon_revision"]) == (None, 2)


def test_a_job_that_is_restarted_has_the_time_of_its_start(cli: Cli) -> None:
    job = cli("run", "--no-wait", "--timeout", "10m", "--", "sleep", "600")["job_id"]
    cli("timeout", "set", job, "--in", "1h")
    cli("restart", job, "--no-wait")
    status = cli("status", job)
    assert (status["timeout_ms"], status["deadline_configured_by"]) == (600_000, "launch")


def test_no_deadline_lies_beyond_that_of_the_box(cli: Cli, tmp_path: Path) -> None:
    profile = tmp_path / "profile.json"
    profile.write_text(json.dumps({"roots": [str(cli.cwd)], "limits": {"wall": 500}}))
    job = cli("run", "--no-wait", "--sandbox", profile, "--", "sleep", "600")
    assert job["ok"], job
    for words in (("set", job["job_id"], "--in", "1h"), ("clear", job["job_id"])):
        assert cli("timeout", *words)["error"]["code"] == "invalid_argument"
    assert cli("timeout", "set", job["job_id"], "--in", "1s")["ok"]


@pytest.mark.parametrize(
    "words",
    [
        ("timeout",),
        ("timeout", "set", "X"),
        ("timeout", "clear", "X", "--in", "1s"),
        ("timeout", "move", "X"),
        ("tag",),
        ("tag", "add", "X"),
        ("tag", "X"),
        ("tag", "set", "X", "Y"),
    ],
)
def test_usage(cli: Cli, words: tuple[str, ...]) -> None:
    assert cli.raw(*words).returncode == 2


def test_tags_are_replaced_added_and_removed(cli: Cli) -> None:
    job = cli("run", "--tag", "old", "--", "true")["job_id"]
    for words, tags in (
        (("set", "--tag", "a", "--tag", "b", "--tag", "a"), ["a", "b"]),
        (("add", "--tag", "c", "--tag", "a"), ["a", "b", "c"]),
        (("remove", "--tag", "b", "--tag", "z"), ["a", "c"]),
    ):
        answer = cli("tag", words[0], job, *words[1:])
        assert (answer["type"], answer["tags"]) == (f"tag_{words[0]}", tags)
        assert cli("status", job)["tags"] == tags
    assert [one["job_id"] for one in cli("list", "--tag", "c")["jobs"]] == [job]
    refused = cli("tag", "add", job, "--tag", "not one")
    assert (refused.code, refused["error"]["code"]) == (1, "invalid_tag")
    assert cli("tag", "set", job)["tags"] == []


def test_python_moves_deadlines_and_tags(tmp_path: Path) -> None:
    jobs = open_jobs(str(tmp_path / "jobs"), rules=None)
    job = jobs.run(["sleep", "600"], observe=0)["job_id"]
    assert jobs.tag(job, replace=["a"], add=["b"])["tags"] == ["a", "b"]
    assert jobs.tag(job, remove=["a"])["tags"] == ["b"]
    with pytest.raises(InvalidTag):
        jobs.tag(job, add=["a b"])
    assert jobs.set_timeout(job, 0.05)["type"] == "timeout_set"
    assert jobs.wait(job, seconds=None)["reason"] == "timeout"
    with pytest.raises(InvalidState):
        jobs.set_timeout(job, None)
