"""gc: bounds the store by age, number and size, and never touches what runs."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from cli import Cli


def make(cli: Cli, count: int, code: str = "true") -> list[str]:
    """Run so many jobs; return their ids, the oldest first."""
    return [str(cli("run", "--", "sh", "-c", code)["job_id"]) for _ in range(count)]


def age(folder: Path, seconds: float) -> None:
    """Make all that is in a folder older."""
    moment = time.time() - seconds
    for path in (*folder.iterdir(), folder):
        os.utime(path, (moment, moment))


def there(cli: Cli) -> set[str]:
    return {path.name for path in cli.root.iterdir() if len(path.name) == 26}


def counts(answer: dict[str, Any]) -> tuple[int, int, int]:
    return answer["scanned_dirs"], answer["candidate_count"], answer["deleted"]


def test_gc_of_nothing(cli: Cli) -> None:
    answer = cli("gc")
    assert (answer["type"], answer["root"], counts(answer)) == ("gc", str(cli.root), (0, 0, 0))
    assert (answer["older_than"], answer["older_than_source"]) == ("30d", "default")
    assert (answer["max_jobs"], answer["max_bytes"], answer["dry_run"]) == (None, None, False)


def test_jobs_that_ended_long_ago_are_taken_away(cli: Cli) -> None:
    old, young = make(cli, 2)
    age(cli.folder(old), 31 * 86400)
    age(cli.folder(young), 29 * 86400)
    answer = cli("gc")
    assert counts(answer) == (2, 1, 1)
    assert (answer["out_of_scope"], answer["failed"], answer["skipped"]) == (1, 0, 1)
    assert answer["freed_bytes"] > 0
    assert there(cli) == {young}
    assert [job["job_id"] for job in cli("list")["jobs"]] == [young]


def test_the_age_may_be_given(cli: Cli) -> None:
    old, young = make(cli, 2)
    age(cli.folder(old), 2 * 3600)
    for text in ("3h", "180m", "10800"):
        answer = cli("gc", "--older-than", text)
        assert (answer["older_than"], answer["older_than_source"], answer["deleted"]) == (text, "flag", 0)
    assert cli("gc", "--older-than", "1h")["deleted"] == 1
    assert there(cli) == {young}


def test_the_oldest_go_beyond_a_number(cli: Cli) -> None:
    made = make(cli, 4)
    answer = cli("gc", "--max-jobs", 2)
    assert (answer["max_jobs"], counts(answer)) == (2, (4, 2, 2))
    assert there(cli) == set(made[2:])
    assert counts(cli("gc", "--max-jobs", 2)) == (2, 0, 0)
    assert cli("gc", "--max-jobs", 0)["deleted"] == 2
    assert there(cli) == set()


def test_the_oldest_go_beyond_a_size(cli: Cli) -> None:
    made = make(cli, 3, "printf %0100000d 0")
    answer = cli("gc", "--max-bytes", 250_000)
    assert (answer["max_bytes"], counts(answer)) == (250_000, (3, 1, 1))
    assert 100_000 <= answer["freed_bytes"] < 110_000
    assert there(cli) == set(made[1:])
    assert counts(cli("gc", "--max-bytes", 250_000)) == (2, 0, 0)


def test_a_dry_run_only_counts(cli: Cli) -> None:
    made = make(cli, 3)
    answer = cli("gc", "--max-jobs", 1, "--dry-run")
    assert (answer["dry_run"], counts(answer)) == (True, (3, 2, 0))
    freed = answer["freed_bytes"]
    assert freed > 0
    assert there(cli) == set(made)
    assert cli("gc", "--max-jobs", 1)["freed_bytes"] == freed


def test_what_runs_is_never_touched(cli: Cli) -> None:
    running = cli.start("sh", "-c", "printf %0100000d 0; sleep 60")
    age(cli.folder(running), 99 * 86400)
    make(cli, 1)
    answer = cli("gc", "--older-than", 0, "--max-jobs", 0, "--max-bytes", 0)
    assert counts(answer) == (2, 1, 1)
    assert there(cli) == {running}
    assert cli("status", running)["state"] == "running"


def test_what_runs_neither_counts_nor_weighs(cli: Cli) -> None:
    (ended,) = make(cli, 1)
    cli.start("sh", "-c", "printf %0100000d 0; sleep 60")
    assert cli("gc", "--max-jobs", 1, "--max-bytes", 50_000)["deleted"] == 0
    assert ended in there(cli)


def test_jobs_of_every_working_directory_are_looked_at(cli: Cli, tmp_path: Path) -> None:
    make(cli, 1)
    cli("run", "--cwd", tmp_path, "--", "true")
    assert cli("gc", "--max-jobs", 0)["deleted"] == 2


def test_folders_that_never_became_jobs_go_when_they_are_old(cli: Cli) -> None:
    make(cli, 1)
    for name, old in (("0" * 26, 7200), ("1" * 26, 60)):
        (cli.root / name).mkdir()
        age(cli.root / name, old)
    cli("gc", "--dry-run")
    assert "0" * 26 in there(cli)
    cli("gc")
    assert "1" * 26 in there(cli)
    assert "0" * 26 not in there(cli)


def test_what_is_no_job_is_left_alone(cli: Cli, tmp_path: Path) -> None:
    make(cli, 1)
    (cli.root / "notes").mkdir()
    (cli.root / "notes" / "precious").touch()
    (cli.root / ("0" * 26)).symlink_to(tmp_path)
    age(cli.root / "notes", 99 * 86400)
    cli("gc", "--older-than", 0, "--max-jobs", 0)
    assert (cli.root / "notes" / "precious").exists()
    assert (cli.root / ("0" * 26)).is_symlink()
    assert cli.cwd.is_dir()


def test_removals_that_were_cut_short_are_finished(cli: Cli) -> None:
    make(cli, 1)
    grave = cli.root / f".trash-{'0' * 26}"
    grave.mkdir()
    (grave / "stdout.log").touch()
    cli("gc")
    assert not grave.exists()


def test_a_grave_that_is_a_link_is_not_followed(cli: Cli, tmp_path: Path) -> None:
    make(cli, 1)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    (cli.root / f".trash-{'0' * 26}").symlink_to(outside)
    cli("gc")
    assert (outside / "precious").exists()


def test_gc_keeps_a_record_that_it_cannot_open(cli: Cli) -> None:
    job_id = cli("run", "--", "true")["job_id"]
    record = cli.folder(job_id) / "record.jsonl"
    record.unlink()
    record.mkdir()
    os.utime(cli.folder(job_id), (0, 0))
    answer = cli("gc", "--older-than", "1d")
    assert (answer["deleted"], answer["out_of_scope"]) == (0, 1)
    assert record.exists()


@pytest.mark.parametrize("damage", [b"\xff{}\n", b"", b"\0" * 4096, b"{}\n", b"[1]\n"])
def test_a_damaged_job_is_shown_and_deleted_by_the_time_of_its_folder(cli: Cli, damage: bytes) -> None:
    job_id = cli("run", "--", "echo", "kept")["job_id"]
    record = cli.folder(job_id) / "record.jsonl"
    record.write_bytes(damage)
    status = cli("status", job_id)
    assert (status["state"], status["reason"]) == ("failed", "record_damaged")
    assert [job["job_id"] for job in cli("list")["jobs"]] == [job_id]
    assert cli("list")["skipped"] == 0
    assert cli("tail", job_id)["stdout"] == cli("wait", job_id)["stdout"] == "kept\n"
    assert cli("kill", job_id)["state"] == "failed"
    assert cli("restart", job_id)["error"]["code"] == "invalid_state"
    assert cli("gc", "--older-than", "1d")["deleted"] == 0
    os.utime(cli.folder(job_id), (0, 0))
    answer = cli("gc", "--older-than", "1d")
    assert (answer["deleted"], answer["out_of_scope"]) == (1, 0)
    assert not cli.folder(job_id).exists()


def test_a_damaged_job_is_deleted(cli: Cli) -> None:
    job_id = cli("run", "--", "true")["job_id"]
    (cli.folder(job_id) / "record.jsonl").write_bytes(b"")
    assert cli("delete", job_id)["deleted"] == 1
    assert not cli.folder(job_id).exists()


def test_gc_by_bytes_takes_the_oldest_and_not_the_largest(cli: Cli) -> None:
    oldest = cli("run", "--", "true")["job_id"]
    large = cli("run", "--", "head", "-c", 200_000, "/dev/zero")["job_id"]
    newest = cli("run", "--", "true")["job_id"]
    assert cli("gc", "--max-bytes", 100_000)["deleted"] == 2
    assert [cli.folder(job).exists() for job in (oldest, large, newest)] == [False, False, True]
