"""The command line for people: text instead of JSON, output as it comes, names that can be typed."""

import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import pytest

from cli import Cli
from support import wait_until


def at_terminal(cli: Cli, *words: object, env: "dict[str, str] | None" = None) -> str:
    """Return what the program prints at a terminal of 60 columns."""
    ours, theirs = pty.openpty()
    os.environ.pop("NO_COLOR", None)
    process = subprocess.Popen(
        ["sh", "-c", 'stty cols 60 rows 20 -onlcr; exec "$@"', "sh", *cli.argv(*words)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=cli.cwd,
        env={**cli.env, "TERM": "xterm", **(env or {})},
    )
    os.close(theirs)
    found = b""
    try:
        while piece := os.read(ours, 65536):
            found += piece
    except OSError:
        pass  # its last process has gone
    finally:
        os.close(ours)
        process.wait()
    return found.decode()


def test_every_kind_of_answer_is_rendered(cli: Cli) -> None:
    job = cli("run", "--tag", "build", "--", "sh", "-c", "echo out; echo err >&2; exit 3")["job_id"]
    hostile = cli("run", "--", "printf", r"\033[2Jx\033]0;t\007\n")["job_id"]
    for words, said in (
        (("run", "--", "echo", "hello"), r"hello\n✓ exit 0 · \w{8} · \d+ms\n"),
        (("status", job), r"exit_code +3\n"),
        (("tail", job), r"out\nstderr:\nerr\n■ exited"),
        (("wait", job), r"next: agent-exec logs \w{8} · agent-exec restart"),
        (("list",), r"%2 +✓ +\w{8} .*printf"),
        (("list", "--tag", "build"), r"%1 +✗ +\w{8} +[\w.]+ +[\w.]+ +exit 3 +build +sh -c"),
        (("ps",), r"no jobs of .*\n +next: agent-exec run"),
        (("events",), r"ended +\w{8} +state=exited exit_code=3"),
        (("plan",), "done|jobs"),
        (("policy", "explain", "--", "rm", "-rf", "/"), r"\w+: .*\n( +rule.*\n)? +cli +\w+"),
        (("sandbox", "doctor"), r"[✓✗] ns"),
        (("gc", "--dry-run"), "dry_run +yes"),
        (("kill", "nothing"), r"✗ no job 'nothing' under .*; `agent-exec list --all`.*\n  job_not_found\n"),
        (("tail", hostile), r"^x\n"),
        (("delete", job), "deleted +1"),
    ):
        out = cli.raw(*words, env={"AGENT_EXEC_FORMAT": "human"})
        text = out.stdout.decode()
        assert re.search(said, text), (words, text, out.stderr)
        assert "\x1b" not in text
        assert "{" not in text, words
    assert cli.raw("list", "--human").stdout.startswith(b"  ")


def test_a_terminal_gets_colours_and_lines_of_its_width_unless_it_wants_none(cli: Cli) -> None:
    cli("run", "--", "sh", "-c", f"exit 1; {'x' * 200}")
    coloured = at_terminal(cli, "list", "--human")
    assert "\x1b[31m✗\x1b[0m" in coloured
    plain = at_terminal(cli, "list", "--human", env={"NO_COLOR": "1"})
    assert "\x1b" not in plain
    assert max(map(len, plain.splitlines())) == 60
    assert plain.splitlines()[1].endswith("…")


def test_jobs_have_names_that_can_be_typed(cli: Cli) -> None:
    first = cli("run", "--tag", "ci.build", "--", "echo", "first")["job_id"]
    second = cli("run", "--", "echo", "second")["job_id"]
    elsewhere = cli.cwd.parent / "elsewhere"
    elsewhere.mkdir()
    assert cli("status", "last")["job_id"] == second
    assert cli("status", "%1")["job_id"] == second
    assert cli("status", "%2")["job_id"] == first
    assert cli("tail", "@ci.build")["stdout"] == "first\n"
    assert cli("tail", "@ci.build", cwd=elsewhere)["stdout"] == "first\n"
    for word, code in (
        ("%3", "job_not_found"),
        ("@no", "job_not_found"),
        ("%0", "invalid_argument"),
        ("%x", "invalid_argument"),
    ):
        told = cli("status", word)
        assert (told["error"]["code"], told.code) == (code, 1), word
        assert "%" in told["error"]["message"] or "list --all" in told["error"]["message"]
    assert cli("status", "last", cwd=elsewhere)["error"]["code"] == "job_not_found"


def test_running_jobs_of_other_folders_are_counted(cli: Cli) -> None:
    elsewhere = cli.cwd.parent / "elsewhere"
    elsewhere.mkdir()
    job = cli("run", "--no-wait", "--", "sleep", "600")["job_id"]
    assert cli("ps", cwd=elsewhere)["elsewhere"] == 1
    assert cli("ps")["elsewhere"] == 0
    assert "1 more in other folders: --all" in cli.raw("ps", "--human", cwd=elsewhere).stdout.decode()
    cli("kill", job)


def test_logs_print_the_end_of_a_job_and_follow_it(cli: Cli) -> None:
    script = (
        "for n in 1 2 3; do echo $n; done; echo err >&2; while [ ! -e go ]; do sleep 0.02; done; echo last"
    )
    job = cli("run", "--no-wait", "--", "sh", "-c", script)["job_id"]
    wait_until(lambda: cli.raw("logs", job).stdout.count(b"\n") == 4)
    assert cli.raw("logs", "last", "-n", 2).stdout == b"3\nerr\n"
    assert cli.raw("logs", job, "--stderr").stdout == b"err\n"
    with subprocess.Popen(
        cli.argv("logs", "-f", job, "-n", "1"), cwd=cli.cwd, env=cli.env, stdout=subprocess.PIPE
    ) as following:
        assert following.stdout is not None
        assert following.stdout.readline() == b"err\n"
        (cli.cwd / "go").touch()
        assert following.stdout.read() == b"last\n"
        assert following.wait() == 0
    assert at_terminal(cli, "logs", job, "-n", 1) == "last\n"
    assert cli.raw("logs").returncode == 2
    assert cli("logs", "nothing")["error"]["code"] == "job_not_found"


def test_logs_go_on_with_the_next_attempt(cli: Cli) -> None:
    job = cli(
        "run",
        "--no-wait",
        "--retry",
        "2,backoff=10ms",
        "--",
        "sh",
        "-c",
        "echo once >> ran; wc -l < ran; exit 1",
    )["job_id"]
    out = cli.raw("logs", "-f", job)
    assert out.stdout.decode().split() in (["1", "2", "3"], ["2", "3"], ["3"])


def test_services_are_followed_together(cli: Cli) -> None:
    (cli.cwd / "agent-exec.toml").write_text(
        "[jobs.one]\ncommand = 'echo first'\n[jobs.two]\ncommand = 'echo second; echo third'\nafter = 'one'\n"
    )
    assert cli("up")["ok"]
    cli("wait", cli("logs", "two")["services"][0]["job_id"])
    assert sorted(cli.raw("logs", "-f").stdout.decode().splitlines()) == [
        "one │ first",
        "two │ second",
        "two │ third",
    ]
    assert cli.raw("logs", "--human", "two").stdout == b"second\nthird\n"
    assert "no service" in cli.raw("logs", "-f", "three", "two").stderr.decode()


def test_watch_prints_what_comes_and_exits_as_the_command_does(cli: Cli) -> None:
    out = cli.raw("watch", "--tag", "seen", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    assert (out.returncode, out.stdout, out.stderr) == (7, b"out\n", b"err\n")
    assert cli("status", "@seen")["exit_code"] == 7
    assert cli.raw("watch", "--", "sh", "-c", "kill -KILL $$").returncode == 137
    missing = cli("watch", "--", "no-such-program-at-all")
    assert (missing["error"]["code"], missing.code) == ("command_not_found", 1)
    flood = cli.raw("watch", "--", "sh", "-c", "yes | head -c 3000000")
    assert len(flood.stdout) == 3_000_000


@pytest.mark.parametrize(
    ("trap", "status"), [("trap 'echo bye; exit 5' INT;", 5), ("", 130), ("trap '' INT;", 137)]
)
def test_ctrl_c_ends_what_is_watched(cli: Cli, trap: str, status: int) -> None:
    script = f"{trap} echo ready; while :; do sleep 0.02; done"
    argv = cli.argv("watch", "--kill-after", "300ms", "--", "sh", "-c", script)
    with subprocess.Popen(argv, cwd=cli.cwd, env=cli.env, stdout=subprocess.PIPE) as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline() == b"ready\n"
        watching.send_signal(signal.SIGINT)
        rest = watching.stdout.read()
        assert (watching.wait(), rest) == (status, b"bye\n" if status == 5 else b"")
    assert cli("ps")["jobs"] == []


def test_a_confined_command_is_printed_as_it_comes_and_its_code_is_ours_on_request(cli: Cli) -> None:
    words = ("sandbox", "run", "--exit-code", "--human", "--", "sh", "-c", "echo out; echo err >&2; exit 7")
    out = cli.raw(*words)
    assert (out.returncode, out.stderr) == (7, b"err\n")
    assert re.fullmatch(r"out\n✗ exit 7 · sandbox · \d+ms\n", out.stdout.decode())
    assert cli("sandbox", "run", "--exit-code", "--", "sh", "-c", "kill -TERM $$").code == 143
    assert cli("sandbox", "run", "--", "false").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "--", "ls -la | wc -l"), "for a shell line use --shell"),
        (("tail", "-f", "x"), "agent-exec logs -f JOB"),
        (("version",), "agent-exec "),
        (("--help",), "`run -- make && deploy` deploys after a failure"),
    ],
)
def test_what_people_try_first_is_answered_with_what_they_need(
    cli: Cli, words: tuple[str, ...], said: str
) -> None:
    out = cli.raw(*words)
    assert said in (out.stdout + out.stderr).decode()


def test_top_draws_what_runs_until_it_is_left(cli: Cli) -> None:
    once = cli.raw("top").stdout.decode()
    assert "no jobs yet" in once
    job = cli("run", "--no-wait", "--tag", "web", "--", "sh", "-c", "echo listening; exec sleep 600")[
        "job_id"
    ]
    cli("run", "--", "false")
    wait_until(lambda: "listening" in cli.raw("top").stdout.decode())
    ours, theirs = pty.openpty()
    argv = cli.argv("top", "--every", "10ms")
    with subprocess.Popen(
        argv, stdin=theirs, stdout=theirs, cwd=cli.cwd, env={**cli.env, "TERM": "xterm"}
    ) as drawing:
        os.close(theirs)
        drawn = b""
        while drawn.count(b"\x1b[H") < 3:
            drawn += os.read(ours, 65536)
        os.write(ours, b"q")
        while b"\x1b[?1049l" not in drawn:
            drawn += os.read(ours, 65536)
        assert drawing.wait() == 0
    os.close(ours)
    cli("kill", job)
    text = drawn.decode(errors="replace")
    assert "1 running" in text
    assert job[-8:] in text
    assert "\x1b[31m✗\x1b[0m" in text


def test_the_demo_runs_what_it_shows_and_leaves_nothing(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    out = cli.raw("demo", env={"TMPDIR": str(tmp_path / "tmp")})
    text = out.stdout.decode()
    assert (out.returncode, out.stderr) == (0, b"")
    for said in ("step 3\n", "exit 3", "err\n", "deny: it would end process 1", "no jobs", "serve --open"):
        assert said in text, text
    assert not list((tmp_path / "tmp").glob("agent-exec-demo-*"))
    assert cli("list", "--all")["jobs"] == []
