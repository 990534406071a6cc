"""wait --from-json: a saved answer names its job, wherever the caller is and whatever its own store is."""

import json
from pathlib import Path
from typing import Any

import pytest

from cli import Cli


def other_store(tmp_path: Path) -> dict[str, str]:
    return {"AGENT_EXEC_ROOT": str(tmp_path / "another")}


def test_the_answer_of_run_names_its_store(cli: Cli) -> None:
    for words in (["--no-wait"], [], ["--wait"]):
        assert cli("run", *words, "--", "true")["root"] == str(cli.root)
    assert cli("run", "--", "no-such-program")["root"] == str(cli.root)
    assert cli("--root", "below", "run", "--", "true")["root"] == str(cli.cwd / "below")


def test_a_saved_answer_finds_its_job_from_elsewhere(cli: Cli, tmp_path: Path) -> None:
    told = cli("run", "--no-wait", "--", "sh", "-c", "echo done; exit 3")
    saved = tmp_path / "job.json"
    saved.write_text(json.dumps(told))
    for words, data in (((saved,), None), (("-",), saved.read_bytes())):
        answer = cli("wait", "--from-json", *words, input=data, env=other_store(tmp_path), cwd=tmp_path)
        assert (answer["job_id"], answer["exit_code"]) == (told["job_id"], 3)
        assert answer["stdout"] == "done\n"
    assert not (tmp_path / "another").exists()


def test_the_job_must_be_in_that_store_by_its_whole_id(cli: Cli, tmp_path: Path) -> None:
    told = cli("run", "--", "true")
    for changed in ({"root": str(tmp_path / "empty")}, {"job_id": told["short_job_id"]}):
        answer = cli("wait", "--from-json", "-", input=json.dumps({**told, **changed}).encode())
        assert (answer["error"]["code"], answer.code) == ("job_not_found", 1)
        assert answer["error"]["details"]["root"] == changed.get("root", str(cli.root))


@pytest.mark.parametrize(
    "change",
    [
        {"ok": False},
        {"ok": None},
        {"root": None},
        {"root": "relative/jobs"},
        {"root": ""},
        {"root": "/jobs\0x"},
        {"job_id": None},
        {"job_id": ""},
        {"job_id": ".."},
        {"job_id": "a/b"},
        {"job_id": "a\0b"},
        {"schema_version": "1.0"},
        {"schema_version": "0.4.1"},
        {"schema_version": 5},
    ],
    ids=str,
)
def test_what_is_no_such_answer_is_refused_and_not_repeated(cli: Cli, change: dict[str, Any]) -> None:
    told = {**cli("run", "--", "true"), "secret": "hunter2"}
    fields = {name: value for name, value in {**told, **change}.items() if value is not None}
    for text in (
        json.dumps(fields),
        json.dumps({"result": told}),
        json.dumps([told]),
        "{not JSON",
        "[" * 10_000,
    ):
        answer = cli("wait", "--from-json", "-", input=text.encode())
        assert (answer["error"]["code"], answer.code) == ("invalid_argument", 1)
        assert not any(word in str(answer["error"]) for word in ("hunter2", told["job_id"]))


def test_a_document_is_bounded_and_must_be_readable(cli: Cli, tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    large.write_bytes(b" " * ((16 << 20) + 1))
    for name in (large, tmp_path / "missing.json", tmp_path):
        assert cli("wait", "--from-json", name)["error"]["code"] == "invalid_argument"


def test_a_saved_answer_excludes_an_id_and_a_store(cli: Cli, tmp_path: Path) -> None:
    for words in (["W5QC"], ["--root", str(tmp_path)]):
        out = cli.raw("wait", "--from-json", "never-read.json", *words)
        assert (out.returncode, out.stdout) == (2, b"")
        assert b"contradict each other" in out.stderr
    assert cli.raw("wait").returncode == 2


def test_an_id_that_no_job_has_is_reported_with_the_store(cli: Cli) -> None:
    for name in ("0" * 26, "no id!", "W5QC"):
        error = cli("status", name)["error"]
        assert (error["code"], error["details"]) == ("job_not_found", {"job_id": name, "root": str(cli.root)})
        assert str(cli.root) in error["message"]
