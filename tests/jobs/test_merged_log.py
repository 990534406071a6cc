"""run --log and --full-log: one file of both streams, for readers that want one file."""

import re
from pathlib import Path

from cli import Cli

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \[(STDOUT|STDERR)\] (.*)")
BOTH = "echo one; echo two >&2; sleep 0.05; printf three"


def lines(path: Path) -> list[tuple[str, str]]:
    found = [LINE.fullmatch(line) for line in path.read_text().splitlines()]
    assert all(found), path.read_text()
    return [(match[1], match[2]) for match in found if match]


def test_no_job_has_one_unless_asked(cli: Cli) -> None:
    answer = cli("run", "--", "sh", "-c", BOTH)
    assert "full_log_path" not in answer
    assert not (cli.folder(answer["job_id"]) / "full.log").exists()


def test_both_streams_are_in_the_job_s_folder(cli: Cli) -> None:
    answer = cli("run", "--full-log", "--", "sh", "-c", BOTH)
    path = cli.folder(answer["job_id"]) / "full.log"
    assert sorted(lines(path)) == [("STDERR", "two"), ("STDOUT", "one"), ("STDOUT", "three")]
    for verb in ("status", "tail", "wait"):
        assert cli(verb, answer["job_id"])["full_log_path"] == answer["full_log_path"] == str(path)
    assert path.stat().st_mode & 0o77 == 0
    assert cli("delete", answer["job_id"])["deleted"] == 1


def test_jobs_are_added_to_a_file_of_the_caller_s(cli: Cli) -> None:
    for word in ("first", "second"):
        answer = cli("run", "--log", "both.log", "--", "echo", word)
        assert answer["full_log_path"] == str(cli.cwd / "both.log")
    assert lines(cli.cwd / "both.log") == [("STDOUT", "first"), ("STDOUT", "second")]


def test_a_line_without_an_end_is_written_in_parts(cli: Cli) -> None:
    answer = cli("run", "--full-log", "--wait", "--", "sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x")
    found = lines(Path(answer["full_log_path"]))
    assert sum(len(text) for _, text in found) == 300_000


def test_the_file_is_bounded_as_the_logs_are(cli: Cli) -> None:
    answer = cli("run", "--full-log", "--max-log-bytes", 1000, "--wait", "--", "seq", "100000")
    assert Path(answer["full_log_path"]).stat().st_size <= 2000


def test_a_file_that_cannot_be_written_is_refused_before_there_is_a_job(cli: Cli) -> None:
    for name in ("missing/both.log", "."):
        answer = cli("run", "--log", name, "--", "true")
        assert (answer["error"]["code"], answer.code) == ("invalid_argument", 1)
    assert cli("list", "--all")["jobs"] == []
    assert cli.raw("run", "--log", "x", "--full-log", "--", "true").returncode == 2
