"""Ids are checked and links are not followed: no verb touches anything outside of the jobs it is about."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli import Cli
from jobs.seen import Gate, printed, supervisor_of
from support import exists, wait_until

ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A folder that must be as it was after the test."""
    folder = tmp_path / "outside"
    (folder / "deep").mkdir(parents=True)
    for name in ("file", "deep/file", ULID, "stdout.log", "lock"):
        (folder / name).write_text(f"precious {name}")
    before = _content(folder)
    yield folder
    assert _content(folder) == before


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("verb", ["delete", "kill", "status", "tail", "wait"])
def test_what_is_no_id_names_no_job(cli: Cli, outside: Path, verb: str) -> None:
    job_id = str(cli("run", "--", "true")["job_id"])
    before = sorted(os.listdir(cli.root))
    wrong = [
        "",
        ".",
        "..",
        "/",
        "*",
        str(outside),
        f"../{outside.name}",
        f"{job_id}/",
        f"./{job_id}",
        f"{job_id}/../{job_id}",
        str(cli.folder(job_id)),
        ".live",
        ".cwd",
        f".trash-{job_id}",
        f"{job_id}\n",
        "\u00fc",
        "I" * 26,
        "0" * 26,
        "0" * 300,
    ]
    for word in wrong:
        out = cli(verb, "--", word)
        assert (out.code, out["error"]["code"]) == (1, "job_not_found"), word
    assert sorted(os.listdir(cli.root)) == before
    assert cli("status", job_id)["ok"]


def test_a_link_with_the_name_of_a_job_is_none(cli: Cli, outside: Path) -> None:
    """Also when it leads to a real job in another store."""
    other = Cli(cli.root.with_name("other"), cli.cwd)
    foreign = str(other("run", "--", "echo", "foreign")["job_id"])
    supervisor = supervisor_of(other, foreign)
    wait_until(lambda: not exists(supervisor))  # which tidies up behind itself
    before = _content(other.folder(foreign))
    (cli.root / "x").parent.mkdir()
    names = {ULID: outside, foreign: other.folder(foreign)}
    for name, target in names.items():
        (cli.root / name).symlink_to(target)
    for name in names:
        for verb in ("status", "tail", "wait", "kill", "delete"):
            assert cli(verb, name)["error"]["code"] == "job_not_found", verb
    assert cli("list", "--all")["jobs"] == []
    assert cli("gc", "--older-than", "0s", "--max-jobs", "0")["deleted"] == 0
    assert all((cli.root / name).is_symlink() for name in names)
    assert _content(other.folder(foreign)) == before


@pytest.mark.parametrize("name", ["stdout.log", "stderr.log", "stdout.log.5", "arrivals", "control", "lock"])
def test_a_link_inside_a_job_is_neither_read_nor_written_through(cli: Cli, outside: Path, name: str) -> None:
    job_id = str(cli("run", "--", "echo", "mine")["job_id"])
    path = cli.folder(job_id) / name
    path.unlink(missing_ok=True)
    path.symlink_to(outside / "file")
    for words in (
        ["status"],
        ["tail"],
        ["tail", "--merged"],
        ["tail", "--grep", "precious"],
        ["wait"],
        ["kill"],
        ["kill", "--signal", "KILL"],
    ):
        out = cli(words[0], job_id, *words[1:])
        assert out["ok"], words
        shown = {key: value for key, value in out.items() if key != "grep"}
        assert "precious" not in str(shown), words
    assert cli("delete", job_id)["deleted"] == 1


def test_a_link_in_place_of_a_record_makes_it_no_job(cli: Cli, outside: Path) -> None:
    first = str(cli("run", "--", "echo", "first")["job_id"])
    second = str(cli("run", "--", "echo", "second")["job_id"])
    record = cli.folder(first) / "record.jsonl"
    record.unlink()
    record.symlink_to(cli.folder(second) / "record.jsonl")
    assert cli("delete", first)["error"]["code"] == "job_not_found"
    assert cli("status", second)["state"] == "exited"
    assert cli("list", "--all")["skipped"] == 1


def test_a_link_in_place_of_a_live_job_s_pipe_is_not_written_to(
    cli: Cli, outside: Path, tmp_path: Path
) -> None:
    gate = Gate(tmp_path / "gate")
    job_id = str(cli("run", "--no-wait", "--kill-after", "0", "--", *gate.job())["job_id"])
    control = cli.folder(job_id) / "control"
    control.unlink()
    control.symlink_to(outside / "file")
    refused = cli("kill", job_id, "--signal", "USR1")
    assert refused["error"]["code"] == "unsupported"
    assert cli("kill", job_id)["state"] == "killed", "by a signal to its supervisor"


def test_links_among_the_store_s_own_folders_are_not_followed_by_gc(cli: Cli, outside: Path) -> None:
    cli("run", "--", "true")
    (cli.root / ".trash-link").symlink_to(outside)
    (cli.root / f".trash-{ULID}").symlink_to(outside / "deep")
    (cli.root / ".cwd" / "00000000").symlink_to(outside)
    (cli.root / ".cwd" / "a file").write_text("")
    assert cli("gc", "--older-than", "0s")["deleted"] == 1


def test_gc_leaves_what_is_not_ours_in_the_store(cli: Cli) -> None:
    cli("run", "--", "true")
    (cli.root / "notes").mkdir()
    (cli.root / "notes" / "file").write_text("mine")
    (cli.root / "file").write_text("mine")
    (cli.root / ULID).write_text("a file with the name of a job")
    out = cli("gc", "--older-than", "0s", "--max-jobs", "0", "--max-bytes", "0")
    assert (out["deleted"], out["failed"]) == (1, 0)
    assert (cli.root / "notes" / "file").read_text() == "mine"
    assert (cli.root / "file").read_text() == "mine"
    assert (cli.root / ULID).is_file()


def test_what_a_crash_left_of_a_job_is_collected_when_it_is_old(cli: Cli) -> None:
    for name in (ULID, f".trash-{ULID[:-1]}0"):
        (cli.root / name).mkdir(parents=True)
        (cli.root / name / "stdout.log").write_text("begun")
    assert cli("list", "--all")["skipped"] == 1
    cli("gc")
    assert sorted(path.name for path in cli.root.iterdir() if path.is_dir()) == [ULID], "it may be being made"
    os.utime(cli.root / ULID, (1, 1))
    cli("gc", "--dry-run")
    assert (cli.root / ULID).is_dir()
    cli("gc")
    assert not (cli.root / ULID).exists()


def test_a_job_that_removes_its_own_record_ends_all_the_same(cli: Cli, tmp_path: Path) -> None:
    """Whatever a command does to the store, its supervisor does not hang, and others are not harmed."""
    other = str(cli("run", "--", "echo", "other")["job_id"])
    gate = Gate(tmp_path / "gate")
    line = 'rm -r "$AGENT_EXEC_ROOT/$AGENT_EXEC_JOB_ID"; echo gone'
    job_id = cli.start(*gate.job(before="echo up", after=line))
    wait_until(lambda: printed(cli, job_id))
    supervisor = int(cli("status", job_id)["supervisor_pid"])
    gate.open()
    wait_until(lambda: not Path(f"/proc/{supervisor}").exists())
    assert cli("status", job_id)["error"]["code"] == "job_not_found"
    assert cli("tail", other)["stdout"] == "other\n"
    assert [job["job_id"] for job in cli("list", "--all")["jobs"]] == [other]


def test_a_pipe_in_the_place_of_a_file_does_not_block(cli: Cli) -> None:
    for name in ("record.jsonl", "stdout.log", "arrivals", "lock"):
        job_id = str(cli("run", "--", "echo", "hello")["job_id"])
        file = cli.folder(job_id) / name
        file.unlink()
        os.mkfifo(file)
        for verb in (
            ("status", job_id),
            ("tail", job_id, "--merged"),
            ("wait", job_id),
            ("list", "--all"),
            ("gc",),
        ):
            cli(*verb)


def _refuses(path: str) -> bool:
    try:
        os.readlink(path)
    except PermissionError:
        return True
    except OSError:
        return False
    return False


@pytest.mark.skipif(not _refuses("/proc/1/cwd"), reason="every link can be read here")
def test_a_directory_behind_a_link_that_cannot_be_read_is_reported(cli: Cli) -> None:
    told = cli("run", "--cwd", "/proc/1/cwd", "--", "true")
    assert (told["error"]["code"], told["state"], told.code) == ("workdir_forbidden", "failed", 1)
    assert cli("list", "--cwd", "/proc/1/cwd")["jobs"][0]["job_id"] == told["job_id"]
