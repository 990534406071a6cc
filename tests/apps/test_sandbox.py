"""`agent-exec sandbox run`, `explain` and `doctor`, from outside."""

from pathlib import Path

import pytest

from cli import Cli


def test_run_writes_where_it_was_started_and_nowhere_else(cli: Cli, tmp_path: Path) -> None:
    (cli.cwd / ".git").mkdir()
    line = f"echo in > file; echo out > {tmp_path}/out; echo x > .git/config; echo temp > /tmp/x; exit 3"
    told = cli("sandbox", "run", "--", "sh", "-c", line)
    assert (told.code, told["type"], told["exit_code"], told["signal"]) == (0, "sandbox_run", 3, None)
    assert (cli.cwd / "file").read_text() == "in\n"
    assert not (tmp_path / "out").exists()
    assert not (cli.cwd / ".git" / "config").exists()
    box = told["sandbox"]
    assert (box["backend"], box["strength"], box["profile"]) == ("ns", "full", "workspace-write")
    assert [one["path"] for one in box["denials"]] == [f"{cli.cwd}/.git/config"]
    assert "blocked" in box["message"]


def test_roots_are_those_that_are_named(cli: Cli, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    line = f"echo a > a; echo b > {cli.cwd}/b"
    told = cli("sandbox", "run", "--root", root, "--cwd", root, "--", "sh", "-c", line)
    assert (root / "a").exists()
    assert not (cli.cwd / "b").exists()
    assert told["exit_code"] != 0
    told = cli("sandbox", "run", "--root", root, "--", "true")
    assert told["error"]["code"] == "workdir_not_found", "hidden by the private /tmp"


def test_read_only_and_full_access(cli: Cli) -> None:
    told = cli("sandbox", "run", "--profile", "read-only", "--", "sh", "-c", "echo x > x")
    assert told["exit_code"] == 2
    assert not (cli.cwd / "x").exists()
    told = cli("sandbox", "run", "--profile", "full-access", "--", "sh", "-c", "echo x > x")
    assert (told["exit_code"], told["sandbox"]["backend"]) == (0, "none")
    assert (cli.cwd / "x").exists()


def test_what_appears_under_a_protected_name_is_reported(cli: Cli) -> None:
    told = cli("sandbox", "run", "--", "git", "init", "-q", ".")
    assert told["exit_code"] == 0, told
    assert told["sandbox"]["protected_changes"] == [{"path": f"{cli.cwd}/.git", "what": "appeared"}]


def test_time_runs_out(cli: Cli) -> None:
    told = cli("sandbox", "run", "--timeout", "200ms", "--", "sleep", "600")
    assert (told["timed_out"], told["sandbox"]["limits_hit"]) == (True, ["wall"])


def test_what_cannot_be_run_is_an_error(cli: Cli) -> None:
    assert cli("sandbox", "run", "--", "no-such-program")["error"]["code"] == "command_not_found"
    assert cli("sandbox", "run", "--root", "/", "--", "true")["error"]["code"] == "invalid_argument"


def test_explain_names_the_setting_that_shows_a_path(cli: Cli, tmp_path: Path) -> None:
    told = cli("sandbox", "explain", "file")
    assert (told["path"], told["read"]["allowed"]) == (f"{cli.cwd}/file", True)
    assert told["write"] == {"allowed": True, "rule": told["write"]["rule"], "remedy": None}
    told = cli("sandbox", "explain", "/etc/passwd", "--profile", "read-only")
    assert (told["read"]["allowed"], told["write"]["allowed"], told["backend"]) == (True, False, "ns")
    (tmp_path / "other").write_text("x")
    told = cli("sandbox", "explain", tmp_path / "other", env={"HOME": str(tmp_path)})
    assert not told["read"]["allowed"]
    assert '"show": ["~/other"]' in told["read"]["remedy"]


def test_doctor_reports_what_works(cli: Cli) -> None:
    told = cli("sandbox", "doctor")
    assert told["chosen"] == "ns"
    assert [one["name"] for one in told["backends"]] == ["ns", "bwrap", "landlock", "seatbelt"]
    assert told["spawn_ratio"] > 0


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("what",),
        ("run",),
        ("run", "--profile", "x", "--", "true"),
        ("run", "--net", "on", "--net", "x", "true"),
        ("doctor", "x"),
        ("explain",),
        ("explain", "a", "b"),
    ],
)
def test_words_that_make_no_sense(cli: Cli, words: tuple[str, ...]) -> None:
    out = cli.raw("sandbox", *words)
    assert (out.returncode, out.stdout) == (2, b"")
