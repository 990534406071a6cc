"""Stores of many jobs: the newest are found without reading all."""

import os
import sys
from pathlib import Path

import pytest

from agent_exec.jobs.store import Store, created, list_jobs, new_id, place_of
from cli import Cli

LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def id_at(moment: float) -> str:
    """Return a new id of a job of this moment."""
    number = int(moment * 1000)
    return "".join(LETTERS[number >> shift & 31] for shift in range(45, -1, -5)) + new_id()[10:]


def copies(cli: Cli, count: int, every: float, *, loose: bool = False) -> list[str]:
    """Run one job, and copy it: one each so many seconds before; return all ids, the newest first."""
    first = str(cli("run", "--wait", "--", "true")["job_id"])
    record = (cli.folder(first) / "record.jsonl").read_text()
    (index,) = (cli.root / ".cwd").iterdir()
    found = [first]
    for number in range(1, count):
        job_id = id_at(created(first) - number * every)
        cli.folder(job_id).mkdir(mode=0o700)
        (cli.folder(job_id) / "record.jsonl").write_text(record.replace(first, job_id))
        bucket = index if loose else index / job_id[:6]
        bucket.mkdir(mode=0o700, exist_ok=True)
        (bucket / job_id).touch()
        found.append(job_id)
    return found


@pytest.mark.parametrize("loose", [False, True], ids=["by time", "as older stores have them"])
@pytest.mark.parametrize("every", [0.01, 7000], ids=["at once", "over months"])
def test_the_newest_come_first(cli: Cli, loose: bool, every: float) -> None:
    ids = copies(cli, 30, every, loose=loose)
    ids.insert(0, str(cli("run", "--wait", "--", "true")["job_id"]))
    for words in ([], ["--all"]):
        for limit in (1, 7, 0):
            told = cli("list", "--limit", limit, *words)
            assert [job["job_id"] for job in told["jobs"]] == (ids[:limit] if limit else ids)
            assert told["truncated"] is (limit != 0)


def test_of_very_many_only_the_newest_are_sorted(cli: Cli) -> None:
    """By three ways: more than are sorted at once, in any order, with names that are no ids among them."""
    ids = copies(cli, 2, 1)
    (index,) = (cli.root / ".cwd").iterdir()
    more = [id_at(created(ids[0]) - 10 - number / 1000) for number in range(5000)]
    for job_id in more:
        bucket = index / job_id[:6]
        bucket.mkdir(exist_ok=True)
        (bucket / job_id).touch()  # of a job that was not made
    (index / "no id").touch()
    store = Store(str(cli.root))
    wanted = sorted([*ids, *more], reverse=True)
    assert list(store.ids_of(place_of(str(cli.cwd)))) == wanted
    assert [job.id for job in list_jobs(store, cwd=place_of(str(cli.cwd)), limit=5)[0]] == ids


def test_a_list_reads_no_more_folders_than_it_shows(cli: Cli) -> None:
    copies(cli, 40, 7000)
    store = Store(str(cli.root))
    listed: list[str] = []
    sys.addaudithook(lambda event, given: listed.append(str(given[0])) if event == "os.listdir" else None)
    found, truncated, _ = list_jobs(store, cwd=place_of(str(cli.cwd)), limit=3)
    assert (len(found), truncated) == (3, True)
    assert len([folder for folder in listed if folder.startswith(f"{store.root}{os.sep}.cwd")]) == 5


def test_deleting_the_last_job_of_a_time_takes_its_folder_away(cli: Cli) -> None:
    ids = copies(cli, 3, 7000)
    (index,) = (cli.root / ".cwd").iterdir()
    assert {path.name for path in index.iterdir()} == {job_id[:6] for job_id in ids}
    cli("delete", ids[1])
    assert {path.name for path in index.iterdir()} == {ids[0][:6], ids[2][:6]}
    assert cli("delete", "--all")["ok"]
    assert not index.exists()


def test_gc_strikes_entries_of_jobs_that_are_gone(cli: Cli, tmp_path: Path) -> None:
    ids = copies(cli, 3, 7000)
    (index,) = (cli.root / ".cwd").iterdir()
    cli.folder(ids[1]).rename(tmp_path / "gone")
    cli("gc")
    assert not (index / ids[1][:6] / ids[1]).exists()
    assert (index / ids[2][:6] / ids[2]).exists()
