"""Standard input of `run`: a redirected file is the command's input, a pipe only on request."""

import os
import pty
import subprocess
from pathlib import Path

from cli import Cli, check


def test_a_redirected_file_is_the_input(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("of a file")
    with (tmp_path / "data").open("rb") as file:
        assert cli("run", "--", "cat", stdin=file)["stdout"] == "of a file"
    with (tmp_path / "data").open("rb") as file:
        assert cli("run", "--stdin", "other", "--", "cat", stdin=file)["stdout"] == "other"
    with (tmp_path / "data").open("rb") as file:
        answer = cli("run", "--stdin-max-bytes", 4, "--", "cat", stdin=file)
        assert (answer["error"]["code"], answer["error"]["details"]) == ("stdin_too_large", {"limit": 4})


def test_a_loop_over_the_lines_of_a_file_keeps_them(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("one\ntwo\nthree\n")
    line = 'while read word; do "$0" run -- sh -c "echo $word; cat"; done'
    with (tmp_path / "lines").open("rb") as file:
        out = subprocess.run(
            ["sh", "-c", line, cli.argv()[0]],
            stdin=file,
            env=cli.env,
            cwd=cli.cwd,
            capture_output=True,
            check=True,
        )
    told = [check(text + "\n")["stdout"] for text in out.stdout.decode().splitlines()]
    assert told == ["one\n", "two\n", "three\n"]


def test_piped_input_is_left_alone_and_said_to_be(cli: Cli) -> None:
    answer = cli("run", "--", "cat", input=b"piped")
    assert answer["stdout"] == ""
    assert (
        answer.stderr
        == "agent-exec run: the command does not get what is piped in here; add --stdin - to pass it on\n"
    )
    assert cli("run", "--", "cat", input=b"").stderr == ""
    for words in (("--stdin", "-"), ("--stdin", "x")):
        assert cli("run", *words, "--", "cat", input=b"piped").stderr == ""


def test_a_terminal_is_not_read(cli: Cli) -> None:
    ours, theirs = pty.openpty()
    try:
        assert cli("run", "--", "cat", stdin=theirs)["stdout"] == ""
        answer = cli("run", "--stdin", "-", "--", "cat", stdin=theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    assert (answer["error"]["code"], answer.code) == ("stdin_required", 1)
    assert cli("list", "--state", "failed")["jobs"] == []


def test_a_small_timeout_without_a_unit_is_warned_of(cli: Cli) -> None:
    told = "agent-exec run: --timeout 900 is 900 milliseconds; write 900s for seconds, or 900ms\n"
    assert cli("run", "--timeout", 900, "--", "true").stderr == told
    for text in ("900ms", "900s", "1000", "0"):
        assert cli("run", "--timeout", text, "--", "true").stderr == ""


def test_wait_takes_a_value(cli: Cli) -> None:
    answer = cli("run", "--wait=false", "--", "sleep", "60")
    assert (answer["state"], answer["waited_ms"]) == ("running", 0)
    cli("kill", answer["job_id"])
    answer = cli("run", "--wait=true", "--wait-poll-ms", 5, "--", "sh", "-c", "exit 3")
    assert answer["exit_code"] == 3
    assert cli.raw("run", "--wait=maybe", "--", "true").returncode == 2
    assert cli("run", "--wait", "true")["state"] == "exited", "a command, and no value"
