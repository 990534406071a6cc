"""The contract of exec_command and write_stdin, over real shells.

Seed: 001_b95abffc076f8dfe.txt; reference: sessions.md §1.
"""

import random
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_exec.faces.session.definitions import Terms
from faces.session.calling import ANSWER, Caller
from support import processes_marked, wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="real shells of POSIX")


def test_the_text_of_an_answer(call: Caller) -> None:
    """Seed §3.5, reference §1.11: every line, in this order."""
    result = call("exec_command", cmd="echo hi; echo err >&2; exit 3")
    found = ANSWER.fullmatch(result.text)
    assert found is not None, result.text
    assert found["output"] == "hi\nerr\n"
    assert result.text.splitlines()[2] == "Process exited with code 3"
    assert result.structured is not None
    assert set(result.structured) >= {
        "chunk_id",
        "wall_time_seconds",
        "exit_code",
        "original_token_count",
        "output",
    }
    assert "session_id" not in result.structured
    assert f"Chunk ID: {result.structured['chunk_id']}\n" in result.text
    assert result.structured["original_token_count"] == 2
    assert call.run("true")["chunk_id"] != result.structured["chunk_id"]


def test_the_text_of_what_goes_on(call: Caller) -> None:
    """Seed §3.5, reference §1.11: a session id instead of an exit code."""
    result = call("exec_command", cmd="echo hi; sleep 600", yield_time_ms=250)
    assert ANSWER.fullmatch(result.text), result.text
    assert result.structured is not None
    number = result.structured["session_id"]
    assert 1000 <= number < 100_000
    assert f"Process running with session ID {number}\n" in result.text
    assert "exit_code" not in result.structured
    result = call("exec_command", cmd="cat", tty=True)
    assert ANSWER.fullmatch(result.text), result.text
    assert "\nProcess is waiting for input\n" in result.text


def test_failures_of_commands_are_answers(call: Caller) -> None:
    """Seed §4: success is true, whatever the exit code."""
    assert [call.run(f"exit {code}")["exit_code"] for code in (0, 1, 77, 255)] == [0, 1, 77, 255]
    assert call.run("no_such_program_at_all")["exit_code"] == 127
    assert call.run("/")["exit_code"] == 126


@pytest.mark.parametrize("tty", [False, True])
@pytest.mark.parametrize(("name", "code"), [("TERM", 143), ("KILL", 137), ("SEGV", 139), ("INT", 130)])
def test_signals_as_exit_codes(call: Caller, tty: bool, name: str, code: int) -> None:
    """Reference §1.8, and issue 6, better 5: 128 and the number, on pipes and terminals alike."""
    result = call("exec_command", cmd=f"kill -{name} $$", tty=tty)
    assert result.structured is not None
    assert (result.structured["exit_code"], result.structured["signal"]) == (code, f"SIG{name}")
    assert f"Note: the command was ended by SIG{name}\n" in result.text


@pytest.mark.parametrize("tool", ["write_stdin", "read_output", "kill_session", "close_stdin"])
def test_unknown_ids(call: Caller, tool: str) -> None:
    """Reference §1.12."""
    for number in (0, 4, 999, 1000, 99_999, 10**30):
        assert call.refused(tool, session_id=number) == f"{tool} failed: Unknown process id {number}"


def test_pipes_take_no_input(call: Caller) -> None:
    """Reference §1.12 and §1.13: stdin is closed, unless it is exactly ^C."""
    number = call.background("sleep 600")
    for chars in ("x", "\n", "\x03\n", "\x04", "\x03\x03"):
        assert call.refused("write_stdin", session_id=number, chars=chars) == (
            "write_stdin failed: stdin is closed for this session; "
            "rerun exec_command with tty=true to keep stdin open"
        )
    assert "stdin is closed for this session" in call.refused("close_stdin", session_id=number)
    assert "no terminal" in call.refused("resize", session_id=number, rows=5, columns=5)
    assert call.run("cat; echo end")["output"] == "end\n"


def test_interrupt_on_pipes(call: Caller) -> None:
    """Reference §1.13: a trap keeps its own code, by default it is 130."""
    number = call.background("sleep 600; echo never")
    assert call.type(number, "\x03", wait_for="exit", yield_time_ms=20_000)["exit_code"] == 130
    number = call.background("trap 'echo caught; exit 9' INT; echo up; while :; do sleep 0.01; done")
    told = call.type(number, "\x03", wait_for="exit", yield_time_ms=20_000)
    assert (told["exit_code"], told["output"]) == (9, "caught\n")
    number = call.background("sleep 600")
    assert call.type(number, "<C-c>", keys=True, wait_for="exit", yield_time_ms=20_000)["exit_code"] == 130


def test_workdir(call: Caller, work: Path) -> None:
    """Seed §2, reference §1.1: "" is absent; relative paths begin in the workspace."""
    (work / "below" / "a b").mkdir(parents=True)
    assert call.run("pwd")["output"] == f"{work}\n"
    assert call.run("pwd", workdir="")["output"] == f"{work}\n"
    assert call.run("pwd", workdir=None)["output"] == f"{work}\n"
    assert call.run("pwd", workdir="below/a b")["output"] == f"{work}/below/a b\n"
    assert call.run("pwd", workdir="/")["output"] == "/\n"


def test_spawn_errors_say_what_is_wrong(call: Caller, work: Path) -> None:
    """Reference §1.12; issue 6, better 5: which of cwd, shell, program."""
    (work / "file").touch()
    for bad in ("nowhere", "file"):
        said = call.refused("exec_command", cmd="true", workdir=bad)
        assert re.match(
            r"exec_command failed for `\S+ -c true`: Failed to create unified exec process: ", said
        )
        assert str(work / bad) in said
    assert call.listed() == {}


def test_the_shell_is_only_a_type(call: Caller, work: Path) -> None:
    """Seed §3.1, reference §1.1: the path itself is never executed."""
    trap = work / "bash"
    trap.write_text("#!/bin/sh\necho trapped\n")
    trap.chmod(0o755)
    assert call.run("echo ${BASH_VERSION:+bash}", shell=str(trap))["output"] == "bash\n"
    assert call.run("echo ok", shell="sh")["output"] == "ok\n"
    assert call.run("echo ok", shell="/no/such/fish")["output"] == "ok\n"
    if shutil.which("zsh"):
        assert call.run("echo ${ZSH_VERSION:+zsh}", shell="zsh")["output"] == "zsh\n"


def test_login(
    call: Caller, monkeypatch: pytest.MonkeyPatch, opened: Callable[..., Caller], tmp_path: Path
) -> None:
    """Seed §2: login is the default."""
    (tmp_path / ".bash_profile").write_text("export FROM_PROFILE=yes\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    call = opened()
    asked = "echo $FROM_PROFILE; shopt -q login_shell && echo login"
    assert call.told("exec_command", cmd=asked, shell="bash", login=None)["output"] == "yes\nlogin\n"
    assert call.run(asked, shell="bash", login=False)["output"] == "\n"
    call = opened(terms=Terms(allow_login=False))
    assert call.told("exec_command", cmd=asked, shell="bash", login=None)["output"] == "\n"
    said = call.refused("exec_command", cmd="true", login=True)
    assert said == "login shell is disabled by config; omit `login` or set it to false."
    call = opened(terms=Terms(capture_login=True))
    (tmp_path / ".bash_profile").write_text("export FROM_PROFILE=once\n")
    assert call.told("exec_command", cmd="echo $FROM_PROFILE", shell="bash", login=None)["output"] == "once\n"
    (tmp_path / ".bash_profile").write_text("export FROM_PROFILE=later\n")
    assert call.told("exec_command", cmd="echo $FROM_PROFILE", shell="bash", login=None)["output"] == "once\n"


def test_the_environment(monkeypatch: pytest.MonkeyPatch, opened: Callable[..., Caller]) -> None:
    """Reference §1.5 and §1.6: quiet terminals; issue 6: secrets are filtered by default."""
    for name in ("MY_API_KEY", "GITHUB_TOKEN", "aws_secret_x", "DB_PASSWORD"):
        monkeypatch.setenv(name, "hunter2")
    monkeypatch.setenv("HARMLESS_NAME", "kept")
    monkeypatch.setenv("TERM", "xterm")
    call = opened()
    told = call.run("env")["output"]
    assert "hunter2" not in told
    lines = set(told.splitlines())
    assert "HARMLESS_NAME=kept" in lines
    assert lines >= {
        *("NO_COLOR=1", "TERM=dumb", "LANG=C.UTF-8", "LC_CTYPE=C.UTF-8", "LC_ALL=C.UTF-8", "COLORTERM="),
        *("PAGER=cat", "GIT_PAGER=cat", "GH_PAGER=cat"),
    }
    monkeypatch.setenv("HARMLESS_NAME", "changed")
    assert "changed" not in call.run("env")["output"]
    told = call.run("echo $TERM; echo $AGENT_EXEC_SESSION_ID", tty=True, render="screen")["output"]
    assert re.fullmatch(r"xterm-256color\n\d{4,5}\n*", told)


def test_commands_run_in_a_session_of_their_own(call: Caller) -> None:
    """Reference §1.8: pipes with setsid; a terminal is a controlling one."""
    assert call.run("test -t 0 || test -t 1 || echo none; (: </dev/tty) 2>/dev/null || echo neither")[
        "output"
    ] == ("none\nneither\n")
    told = call.run("test -t 0 && test -t 1 && test -t 2 && (: </dev/tty) && echo all", tty=True)
    assert told["output"] == "all\n"


def test_children_in_the_background_end_with_the_command(call: Caller) -> None:
    """Issue 6 and reference §3: `&`-children of a finished command end with it."""
    told = call.run("sleep 600 & nohup sleep 601 & setsid sleep 602 & echo $AGENT_EXEC_SESSION_ID")
    assert told["exit_code"] == 0
    number = told["output"].split()[-1]
    assert not processes_marked(f"AGENT_EXEC_SESSION_ID={number}")


def test_a_budget_of_tokens(call: Caller) -> None:
    """Reference §1.10: both ends, and what was cut."""
    told = call.run("seq 10000", max_output_tokens=200)
    total = sum(len(str(at)) + 1 for at in range(1, 10001))
    assert told["original_token_count"] == -(-total // 4)
    lines = told["output"].splitlines()
    assert lines[:3] == [
        f"Warning: truncated output (original token count: {told['original_token_count']})",
        "Total output lines: 10000",
        "",
    ]
    assert lines[3] == "1"
    assert lines[-1] == "10000"
    assert re.search(r"…\d+ tokens truncated…", told["output"])
    assert len(told["output"]) < 200 * 4 + 200


def test_streams_apart(call: Caller) -> None:
    """Issue 6, better 5: streams told apart on pipes when asked."""
    result = call("exec_command", cmd="echo out; echo err >&2", separate_streams=True)
    assert result.structured is not None
    assert result.structured["streams"] == {"stdout": "out\n", "stderr": "err\n"}
    assert result.text.endswith("Output:\nout\n\nStandard error:\nerr\n")
    result = call(
        "exec_command", cmd="seq 100000; seq 100000 >&2", separate_streams=True, max_output_tokens=50
    )
    assert len(result.text) < 3000
    assert "set `tty` or `separate_streams`" in call.refused(
        "exec_command", cmd="x", tty=True, separate_streams=True
    )


def test_unknown_arguments_are_refused_by_name(call: Caller) -> None:
    """Issue 6: unknown arguments are refused by name."""
    for tool, given in (
        ("exec_command", {"cmd": "true"}),
        ("write_stdin", {"session_id": 1}),
        ("list_sessions", {}),
    ):
        result = call.tools.call(tool, {**given, "surprise": 1})
        assert result.is_error
        assert result.text.startswith("failed to parse function arguments: unknown field 'surprise'")
    assert call.tools.call("no_tool", {}).is_error


def test_justification_needs_permissions(call: Caller) -> None:
    """Reference §1.1."""
    said = call.refused("exec_command", cmd="true", justification="because")
    assert "`sandbox_permissions`" in said


PIECES = [
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        250,
        10**40,
        1.5,
        float("inf"),
        float("nan"),
        "",
        "x",
        "\0",
        "\ud800",
        "\udcff",
    ),
    *(
        "exit",
        "match:(",
        "match:a",
        "port:0",
        "idle:1",
        "screen",
        "raw",
        "require_escalated",
        "text",
        "é" * 10,
    ),
    *([], ["exit"], [1], {}, {"a": 1}, b"x", object()),
]
FIELDS = {
    "exec_command": (
        *(
            "cmd",
            "workdir",
            "shell",
            "login",
            "tty",
            "yield_time_ms",
            "max_output_tokens",
            "sandbox_permissions",
        ),
        *("justification", "prefix_rule", "wait_for", "render", "timeout_ms", "idle_timeout_ms"),
        *("separate_streams", "rows", "columns"),
    ),
    "write_stdin": (
        "session_id",
        "chars",
        "yield_time_ms",
        "max_output_tokens",
        "wait_for",
        "render",
        "keys",
    ),
    "read_output": ("session_id", "from", "max_bytes"),
    "kill_session": ("session_id",),
    "list_sessions": (),
    "resize": ("session_id", "rows", "columns"),
    "close_stdin": ("session_id",),
    "apply_patch": ("input", "workdir"),
}


def test_garbage_is_answered(call: Caller) -> None:
    """Reference §1.1: whatever the arguments are, the answer is text, and a refusal says why."""
    chance = random.Random(6)
    for _ in range(1500):
        tool = chance.choice(list(FIELDS))
        given = {name: chance.choice(PIECES) for name in FIELDS[tool] if chance.random() < 0.6}
        if isinstance(given.get("cmd"), str) and given["cmd"] not in ("\0", "\ud800"):
            given["cmd"] = "true"
            given["login"] = False
        result = call.tools.call(tool, given)
        assert result.text
        assert result.is_error or result.structured is not None
    whole: list[object] = [None, [], 5, "", "{", "[]", '{"cmd": 5}', b"\xff", "null", '{"cmd":' * 2000]
    for given_whole in whole:
        for tool in FIELDS:
            assert call.tools.call(tool, given_whole).text


@pytest.mark.parametrize("cmd", ["a\0b", "\0", "\ud800"])
def test_commands_that_no_system_takes(call: Caller, cmd: str) -> None:
    """Reference §1.1: `failed to parse function arguments`."""
    assert call.refused("exec_command", cmd=cmd).startswith("failed to parse function arguments: `cmd`")


def test_a_huge_command(call: Caller) -> None:
    """Reference §1.12: a spawn that fails says so, and the number is free again."""
    said = call.refused("exec_command", cmd="true " + "x" * 10_000_000)
    assert "Failed to create unified exec process" in said
    assert call.run("echo " + "x" * 100_000, max_output_tokens=100_000)["output"] == "x" * 100_000 + "\n"
    assert call.listed().keys() == set() or all(one["exit_code"] == 0 for one in call.listed().values())


def test_empty_commands(call: Caller) -> None:
    """Seed §2: `cmd` is a string, which may do nothing."""
    for cmd in ("", " ", "\n", "#"):
        assert call.run(cmd)["exit_code"] == 0
    assert "missing field `cmd`" in call.refused("exec_command")


def test_what_was_not_text(call: Caller) -> None:
    """Reference §1.10: bytes become text, with marks for what is none."""
    told = call.run("printf 'a\\377b\\0c'")
    assert told["output"] == "a�b\0c"
    assert told["original_token_count"] == 2


def test_commands_are_what_was_written(call: Caller) -> None:
    """Reference §1.4: `[shell, -c, cmd]`, and nothing else."""
    cmd = "cat /proc/$$/cmdline; :"
    program, *words = call.run(cmd, shell="bash")["output"].split("\0")
    assert Path(program).name == "bash"
    assert words == ["-c", cmd, ""]


def test_nothing_of_ours_is_inherited(call: Caller) -> None:
    """Reference §1.8: inherited descriptors are closed."""
    assert call.run("ls -1 /proc/self/fd | wc -l")["output"].strip() == "4"
    assert call.run("ls -1 /proc/self/fd | wc -l", tty=True)["output"].strip() == "4"


def test_calls_of_one_name_only(call: Caller) -> None:
    """Seed §1: the tools have these names."""
    assert {one["name"] for one in call.tools.definitions()} == set(FIELDS)
    wait_until(lambda: call.listed() == {})
