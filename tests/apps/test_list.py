"""list and ps: the newest jobs first, of this working directory or of all."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from cli import Cli


def ids(answer: dict[str, Any]) -> list[str]:
    return [job["job_id"] for job in answer["jobs"]]


def run(cli: Cli, *words: object, **settings: Any) -> str:
    return str(cli("run", *words, **settings)["job_id"])


def test_list_of_nothing(cli: Cli) -> None:
    answer = cli("list")
    assert (answer["type"], answer["jobs"], answer["truncated"], answer["skipped"]) == ("list", [], False, 0)
    assert (answer["root"], answer["cwd_scope"], answer.code) == (str(cli.root), str(cli.cwd), 0)


def test_a_job_in_a_list(cli: Cli) -> None:
    job_id = run(cli, "--tag", "t", "--", "sh", "-c", "exit 3")
    (job,) = cli("list")["jobs"]
    status = cli("status", job_id)
    assert job == {
        "job_id": job_id,
        "short_job_id": job_id[-8:],
        "state": "exited",
        "exit_code": 3,
        "command": ["sh", "-c", "exit 3"],
        "cwd": str(cli.cwd),
        "tags": ["t"],
        "created_at": status["created_at"],
        "started_at": status["started_at"],
        "finished_at": status["finished_at"],
        "updated_at": status["finished_at"],
    }


def test_the_newest_is_the_first(cli: Cli) -> None:
    made = [run(cli, "--", "true") for _ in range(4)]
    assert ids(cli("list")) == ids(cli("list", "--all")) == made[::-1]


def test_limit_and_truncated(cli: Cli) -> None:
    made = [run(cli, "--", "true") for _ in range(3)][::-1]
    for words in ((), ("--all",), ("--state", "exited")):
        two = cli("list", "--limit", 2, *words)
        assert (ids(two), two["truncated"]) == (made[:2], True)
        three = cli("list", "--limit", 3, *words)
        assert (ids(three), three["truncated"]) == (made, False)
        everything = cli("list", "--limit", 0, *words)
        assert (ids(everything), everything["truncated"]) == (made, False)


def test_fifty_are_shown_unless_asked(cli: Cli) -> None:
    job_id = run(cli, "--", "true")
    copies = [cli.folder(f"00{number:024}") for number in range(50)]
    for copy in copies:
        shutil.copytree(cli.folder(job_id), copy, ignore=shutil.ignore_patterns("control"))
    some, everything = cli("list", "--all"), cli("list", "--all", "--limit", 0)
    for copy in copies:
        shutil.rmtree(copy)
    assert (len(some["jobs"]), some["truncated"], some["jobs"][0]["job_id"]) == (50, True, job_id)
    assert (len(everything["jobs"]), everything["truncated"]) == (51, False)


def test_jobs_of_this_working_directory_unless_asked(cli: Cli, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (tmp_path / "link").symlink_to(other)
    here, there = run(cli, "--", "true"), run(cli, "--", "true", cwd=other)
    given = run(cli, "--cwd", tmp_path / "link", "--", "true")
    assert ids(cli("list")) == [here]
    assert ids(cli("list", cwd=other)) == [given, there]
    assert ids(cli("list", "--cwd", other)) == ids(cli("list", "--cwd", "../link")) == [given, there]
    assert cli("list", "--cwd", "../link")["cwd_scope"] == str(other)
    everything = cli("list", "--all")
    assert ids(everything) == [given, there, here]
    assert "cwd_scope" not in everything
    assert ids(cli("list", "--cwd", tmp_path / "nowhere")) == []


def test_jobs_by_state(cli: Cli) -> None:
    exited = run(cli, "--", "true")
    failed = run(cli, "--", "no-such-program")
    killed = run(cli, "--", "sh", "-c", "kill -9 $$")
    running = cli.start("sleep", "60")
    for state, job_id in (("exited", exited), ("failed", failed), ("killed", killed), ("running", running)):
        for words in ((), ("--all",)):
            answer = cli("list", "--state", state, *words)
            assert ids(answer) == [job_id]
            assert answer["jobs"][0]["state"] == state
    for state in ("created", "unknown"):
        assert ids(cli("list", "--state", state)) == []
    reasons = {job["state"]: job.get("reason") for job in cli("list")["jobs"]}
    assert reasons == {"exited": None, "failed": "spawn_failed", "killed": None, "running": None}


def test_jobs_by_tag(cli: Cli) -> None:
    one = run(cli, "--tag", "build", "--tag", "x", "--", "true")
    two = run(cli, "--tag", "build.linux", "--", "true")
    run(cli, "--tag", "builder", "--", "true")
    assert ids(cli("list", "--tag", "build")) == [one]
    assert ids(cli("list", "--tag", "build.*")) == [two, one]
    assert ids(cli("list", "--tag", "build.*", "--tag", "x")) == [one]
    assert ids(cli("list", "--tag", "nothing")) == []


def test_filters_come_before_the_limit(cli: Cli) -> None:
    wanted = run(cli, "--tag", "wanted", "--", "true")
    run(cli, "--", "true")
    answer = cli("list", "--tag", "wanted", "--limit", 1)
    assert (ids(answer), answer["truncated"]) == ([wanted], False)


def test_folders_without_a_record_are_counted(cli: Cli) -> None:
    job_id = run(cli, "--", "true")
    (cli.root / ("0" * 26)).mkdir()
    (cli.root / ("1" * 26)).mkdir()
    (cli.root / ("1" * 26) / "record.jsonl").write_text('{"command": ["half"')
    (cli.root / "no id").mkdir()
    (cli.root / ("2" * 26)).touch()
    answer = cli("list", "--all")
    assert (ids(answer), answer["skipped"]) == (["1" * 26, job_id], 2)


@pytest.mark.parametrize("words", [(), ("--all",)])
def test_ps_shows_what_runs(cli: Cli, words: tuple[str, ...]) -> None:
    run(cli, "--", "true")
    running = cli.start("sleep", "60")
    answer = cli("ps", *words)
    assert (answer["type"], ids(answer)) == ("list", [running])
    assert answer["jobs"][0]["supervisor"] == "alive"
    cli("kill", running)
    assert ids(cli("ps", *words)) == []


def test_ps_takes_the_filters_of_list(cli: Cli, tmp_path: Path) -> None:
    one = run(cli, "--no-wait", "--tag", "a", "--", "sleep", "60")
    two = run(cli, "--no-wait", "--cwd", tmp_path, "--", "sleep", "60")
    assert ids(cli("ps", "--tag", "a")) == [one]
    assert ids(cli("ps", "--cwd", tmp_path)) == [two]
    limited = cli("ps", "--all", "--limit", 1)
    assert (ids(limited), limited["truncated"]) == ([two], True)


def test_what_is_no_pattern_of_tags_is_refused(cli: Cli) -> None:
    run(cli, "--tag", "build.linux", "--", "true")
    for pattern in ("bad pattern!", "", "a..b", "*", "build*", "build.*.x"):
        for verb in ("list", "ps"):
            answer = cli(verb, "--tag", pattern)
            assert (answer["error"]["code"], answer.code) == ("invalid_tag", 1), pattern
    assert len(cli("list", "--tag", "build.*")["jobs"]) == 1


def test_folders_that_are_no_jobs_of_ours_are_counted(cli: Cli) -> None:
    """As those of another program that uses the same folder."""
    job_id = run(cli, "--", "true")
    (cli.root / "0123456789abcdef0123456789abcdef").mkdir()
    (cli.root / "0123456789abcdef0123456789abcdef" / "meta.json").touch()
    (cli.root / "notes.txt").touch()
    for words in (("list",), ("list", "--all"), ("ps",)):
        answer = cli(*words)
        assert (answer["skipped"], ids(answer)) == (1, [job_id] if words[0] == "list" else [])
