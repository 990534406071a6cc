"""delete and rm: take away jobs that have ended, and nothing else."""

from pathlib import Path

import pytest

from cli import Cli
from support import exists


def shape(root: Path) -> list[str]:
    return sorted(str(path) for path in root.rglob("*"))


@pytest.mark.parametrize("verb", ["delete", "rm"])
def test_a_job_that_has_ended_is_taken_away(cli: Cli, verb: str) -> None:
    kept, gone = cli("run", "--", "true")["job_id"], cli("run", "--", "true")["job_id"]
    answer = cli(verb, gone)
    assert (answer["type"], answer["root"], answer["dry_run"]) == ("delete", str(cli.root), False)
    assert (answer["deleted"], answer["skipped"], answer["failed"], answer["out_of_scope"]) == (1, 0, 0, 0)
    assert answer["jobs"] == [
        {"job_id": gone, "state": "exited", "action": "deleted", "reason": "explicit_delete"}
    ]
    assert not [path for path in shape(cli.root) if gone in path]
    assert cli.folder(kept).is_dir()
    assert cli("status", gone)["error"]["code"] == "job_not_found"
    assert [job["job_id"] for job in cli("list")["jobs"]] == [kept]


def test_a_job_that_runs_is_refused(cli: Cli) -> None:
    job_id = cli.start("sleep", "60")
    for words in ((), ("--dry-run",)):
        answer = cli("delete", job_id, *words)
        assert answer["error"]["code"] == "invalid_state"
        assert answer["error"]["details"] == {"job_id": job_id, "state": "running"}
        assert "agent-exec kill" in answer["error"]["message"]
        assert answer.code == 1
    assert exists(cli("status", job_id)["pid"])
    cli("kill", job_id)
    assert cli("delete", job_id)["deleted"] == 1


def test_a_command_that_never_ran_is_taken_away(cli: Cli) -> None:
    job_id = cli("run", "--", "no-such-program")["job_id"]
    assert cli("delete", job_id)["jobs"][0]["state"] == "failed"


def test_a_dry_run_only_says_so(cli: Cli) -> None:
    job_id = cli("run", "--", "true")["job_id"]
    before = shape(cli.root)
    answer = cli("delete", job_id, "--dry-run")
    assert (answer["dry_run"], answer["deleted"]) == (True, 0)
    assert answer["jobs"][0]["action"] == "would_delete"
    everything = cli("delete", "--all", "--dry-run")
    assert (everything["deleted"], everything["jobs"][0]["action"]) == (0, "would_delete")
    assert shape(cli.root) == before


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../work", "/", "{root}", "{cwd}", "{id}/", "./{id}", ".live", ".cwd"]
)
def test_a_path_takes_nothing_away(cli: Cli, name: str) -> None:
    job_id = cli("run", "--", "true")["job_id"]
    (cli.cwd / "precious").touch()
    before = shape(cli.root.parent)
    given = name.replace("{root}", str(cli.root)).replace("{cwd}", str(cli.cwd)).replace("{id}", job_id)
    answer = cli("delete", given)
    assert (answer["error"]["code"], answer.code) == ("job_not_found", 1)
    assert shape(cli.root.parent) == before


def test_a_folder_that_is_no_job_is_left_alone(cli: Cli) -> None:
    folder = cli.root / ("0" * 26)
    folder.mkdir(parents=True)
    (folder / "precious").touch()
    assert cli("delete", folder.name)["error"]["code"] == "job_not_found"
    assert (folder / "precious").exists()


def test_links_are_not_followed(cli: Cli, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("kept")
    job_id = cli("run", "--", "true")["job_id"]
    (cli.folder(job_id) / "folder").symlink_to(outside)
    (cli.folder(job_id) / "file").symlink_to(outside / "precious")
    (cli.folder(job_id) / "below").mkdir()
    (cli.folder(job_id) / "below" / "link").symlink_to(outside)
    assert cli("delete", job_id)["deleted"] == 1
    assert not cli.folder(job_id).exists()
    assert (outside / "precious").read_text() == "kept"


def test_all_are_those_of_this_working_directory_that_have_ended(cli: Cli, tmp_path: Path) -> None:
    exited = cli("run", "--", "true")["job_id"]
    failed = cli("run", "--", "no-such-program")["job_id"]
    running = cli.start("sleep", "60")
    elsewhere = cli("run", "--cwd", tmp_path, "--", "true")["job_id"]
    answer = cli("delete", "--all")
    assert (answer["cwd_scope"], answer["deleted"], answer["skipped"]) == (str(cli.cwd), 2, 1)
    assert answer["out_of_scope"] == 1, "the one elsewhere"
    assert {job["job_id"]: (job["action"], job["reason"]) for job in answer["jobs"]} == {
        exited: ("deleted", "terminal_in_cwd"),
        failed: ("deleted", "terminal_in_cwd"),
        running: ("skipped", "running"),
    }
    assert {path.name for path in cli.root.iterdir() if len(path.name) == 26} == {running, elsewhere}
    assert cli("status", running)["state"] == "running"


def test_all_of_nothing(cli: Cli) -> None:
    answer = cli("rm", "--all")
    assert (answer["ok"], answer["deleted"], answer["jobs"]) == (True, 0, [])
    assert not cli.root.exists()
