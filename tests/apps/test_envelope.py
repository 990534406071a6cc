"""What all answers share: one object on one line, the exit status, the root, the ids."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cli import Cli, check


@pytest.mark.parametrize("verb", ["status", "tail", "wait", "kill", "delete", "rm"])
def test_an_unknown_job_is_reported_by_every_verb(cli: Cli, verb: str) -> None:
    answer = cli(verb, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
    assert answer["error"]["code"] == "job_not_found"
    assert answer["error"]["retryable"] is False
    assert answer["error"]["details"] == {
        "job_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "root": str(cli.root),
    }
    assert answer.code == 1
    assert not cli.root.exists()  # looking makes nothing


@pytest.mark.parametrize("verb", ["status", "tail", "wait", "kill", "delete"])
def test_what_can_be_no_id_names_no_job(cli: Cli, verb: str) -> None:
    cli("run", "--", "true")
    before = sorted(cli.root.rglob("*"))
    for name in ("", ".", "..", "/", "/etc", "a/b", "*", "ILOU", "0" * 27, "日本", "a b\n"):
        answer = cli(verb, name)
        assert answer["error"]["code"] == "job_not_found"
        assert answer["error"]["details"] == {"job_id": name, "root": str(cli.root)}
    assert sorted(cli.root.rglob("*")) == before


def test_text_on_stdout_that_cannot_be_written_is_exit_1(cli: Cli) -> None:
    with open("/dev/full", "wb") as full:
        out = subprocess.run(cli.argv("list"), stdout=full, stderr=subprocess.PIPE, env=cli.env, check=False)
    assert out.returncode == 1
    assert out.stderr.startswith(b"agent-exec: ")
    assert b"Traceback" not in out.stderr


def test_a_reader_that_has_gone_is_no_traceback(cli: Cli) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        out = subprocess.run(
            cli.argv("schema"), stdout=writer, stderr=subprocess.PIPE, env=cli.env, check=False
        )
    finally:
        os.close(writer)
    assert out.returncode == 1
    assert b"Traceback" not in out.stderr


def test_a_whole_answer_reaches_a_slow_reader(cli: Cli) -> None:
    """The answer is larger than a pipe holds."""
    answer = cli("run", "--max-bytes", 300_000, "--tail-lines", 0, "--", "sh", "-c", "printf %0300000d 7")
    assert len(answer["stdout"]) == 300_000


def test_line_ends_in_output_do_not_end_the_line(cli: Cli) -> None:
    job_id = cli("run", "--", "printf", r"a\r\nb\v\f\034\302\205\342\200\250\342\200\251\000\033z")["job_id"]
    out = cli.raw("tail", job_id).stdout
    assert out.decode().splitlines(keepends=True) == [out.decode()]
    assert check(out.decode())["stdout"] == "a\r\nb\v\f\x1c\x85\u2028\u2029\0\x1bz"


def test_verbose_speaks_on_stderr_only(cli: Cli) -> None:
    quiet, loud = cli("list"), cli("list", "--verbose")
    assert dict(quiet) == dict(loud)
    assert (quiet.stderr, str(cli.root) in loud.stderr) == ("", True)


def test_an_error_of_the_store_is_an_answer(cli: Cli, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    for words in (("run", "--", "true"), ("list", "--all")):
        answer = cli(*words, "--root", blocked) if words[0] == "list" else cli("--root", blocked, *words)
        assert answer["error"]["code"] == "store_failed"
        assert answer["error"]["details"]["root"] == str(blocked)
        assert "--root" in answer["error"]["message"]
        assert answer.code == 1


# The root


def test_root_may_stand_before_or_after_the_verb(cli: Cli, tmp_path: Path) -> None:
    other = tmp_path / "other"
    before = cli("--root", other, "run", "--", "true")
    after = cli("run", f"--root={other}", "--", "true")
    assert Path(before["stdout_log_path"]).parents[1] == Path(after["stdout_log_path"]).parents[1] == other
    assert cli("status", before["job_id"], "--root", other)["ok"]
    assert cli("--root", other, "status", before["job_id"])["ok"]
    assert cli("status", before["job_id"])["error"]["code"] == "job_not_found"


def test_what_is_empty_counts_as_unset(cli: Cli, tmp_path: Path) -> None:
    env = {"AGENT_EXEC_ROOT": "", "XDG_DATA_HOME": str(tmp_path / "xdg"), "HOME": str(tmp_path / "home")}
    assert cli("list", env=env)["root"] == str(tmp_path / "xdg" / "agent-exec" / "jobs")
    assert cli("list", "--root", "", env=env)["root"] == str(tmp_path / "xdg" / "agent-exec" / "jobs")
    env["XDG_DATA_HOME"] = ""
    assert cli("list", env=env)["root"] == str(tmp_path / "home" / ".local/share/agent-exec/jobs")


def test_paths_are_absolute_even_for_a_relative_root(cli: Cli) -> None:
    answer = cli("run", "--root", "./near/../jobs", "--", "true")
    folder = cli.cwd / "jobs" / answer["job_id"]
    assert answer["stdout_log_path"] == str(folder / "stdout.log")
    assert answer["stderr_log_path"] == str(folder / "stderr.log")
    assert folder.is_dir()
    assert cli("list", "--root", "jobs")["root"] == str(cli.cwd / "jobs")
    status = cli("status", answer["job_id"], env={"AGENT_EXEC_ROOT": "jobs"})
    assert status["stderr_log_path"] == str(folder / "stderr.log")


def test_run_makes_the_root_and_what_is_above_it(cli: Cli, tmp_path: Path) -> None:
    root = tmp_path / "a" / "b" / "c"
    answer = cli("run", "--root", root, "--", "true")
    assert (root / answer["job_id"] / "stdout.log").is_file()
    assert root.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("verb", ["list", "ps", "gc"])
def test_a_root_that_is_not_there_is_empty(cli: Cli, verb: str) -> None:
    answer = cli(verb)
    assert answer["ok"]
    assert not cli.root.exists()


# Ids


def another(cli: Cli, job_id: str, new_id: str) -> None:
    """Put a copy of a job beside it, under an id of our choice."""
    shutil.copytree(cli.folder(job_id), cli.folder(new_id), ignore=shutil.ignore_patterns("control"))


def test_an_id_is_a_sortable_ulid(cli: Cli) -> None:
    first, second = (cli("run", "--", "true")["job_id"] for _ in range(2))
    assert len(first) == 26
    assert first < second
    assert first.isupper()
    assert cli.folder(first).is_dir()


def test_a_job_is_found_by_the_beginning_or_the_end_of_its_id(cli: Cli) -> None:
    answer = cli("run", "--", "true")
    job_id = answer["job_id"]
    assert answer["short_job_id"] == job_id[-8:]
    for name in (job_id, job_id[:3], job_id[:25], job_id[-3:], answer["short_job_id"], job_id[1:]):
        assert cli("status", name)["job_id"] == job_id
        assert cli("status", name.lower())["job_id"] == job_id
    assert cli("status", job_id[3:20])["error"]["code"] == "job_not_found"  # a middle is neither


def test_an_id_that_may_be_several_is_refused_with_candidates(cli: Cli) -> None:
    ids = sorted((cli("run", "--", "true")["job_id"] for _ in range(3)), reverse=True)
    answer = cli("delete", ids[0][:4])
    assert answer["error"]["code"] == "ambiguous_job_id"
    assert answer["error"]["details"] == {"candidates": ids, "truncated": False}
    assert answer.code == 1
    assert all(cli.folder(job_id).is_dir() for job_id in ids)


def test_a_beginning_and_an_end_of_two_jobs_are_ambiguous_too(cli: Cli) -> None:
    job_id = cli("run", "--", "true")["job_id"]
    other = "0" * 23 + job_id[:3]
    another(cli, job_id, other)
    answer = cli("status", job_id[:3])
    assert answer["error"]["details"]["candidates"] == [job_id, other]


def test_a_whole_id_is_never_ambiguous(cli: Cli) -> None:
    job_id = cli("run", "--", "true")["job_id"]
    another(cli, job_id, "0" * 26)
    assert cli("status", "0" * 26)["job_id"] == "0" * 26
    assert cli("status", job_id)["job_id"] == job_id


def test_no_more_than_twenty_candidates_are_reported(cli: Cli) -> None:
    job_id = cli("run", "--", "true")["job_id"]
    copies = [f"Z{number:025}" for number in range(21)]
    for copy in copies:
        another(cli, job_id, copy)
    details = cli("status", "Z")["error"]["details"]
    for copy in copies:
        shutil.rmtree(cli.folder(copy))
    assert len(details["candidates"]) == 20
    assert details["truncated"] is True


def test_a_folder_without_a_record_is_no_job(cli: Cli) -> None:
    (cli.root / ("0" * 26)).mkdir(parents=True)
    assert cli("status", "0" * 26)["error"]["code"] == "job_not_found"
    assert cli("status", "0000")["error"]["code"] == "job_not_found"


def test_a_link_to_a_job_is_no_job(cli: Cli, tmp_path: Path) -> None:
    job_id = cli("run", "--root", tmp_path / "other", "--", "echo", "kept")["job_id"]
    cli.root.mkdir()
    (cli.root / job_id).symlink_to(tmp_path / "other" / job_id)
    for verb in ("status", "tail", "kill", "delete"):
        assert cli(verb, job_id)["error"]["code"] == "job_not_found"
    cli("gc", "--older-than", 0, "--max-jobs", 0)
    assert (tmp_path / "other" / job_id / "stdout.log").read_text() == "kept\n"
