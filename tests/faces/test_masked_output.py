"""Secrets that we know are masked in the output that tools show, and only there."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agent_exec
from agent_exec.faces.executor.toolhandler import ToolHandler
from agent_exec.faces.jobtools.tools import JobTools
from agent_exec.faces.oneshot.kit import create_agent_toolkit
from agent_exec.faces.session.tools import SessionTools, open_tools
from agent_exec.tools.tool import Call
from cli import Cli
from faces.executor.recorder import made

OURS, GIVEN = "hunter2-hunter2", "correct-horse"
STARS = "*" * len(OURS)


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", OURS)
    monkeypatch.setenv("SHORT_TOKEN", "ab")
    monkeypatch.setenv("KEY_FILE", os.path.realpath(os.sep))


@pytest.fixture
def jobs(cli: Cli) -> JobTools:
    return JobTools(agent_exec.open_jobs(str(cli.root)), [str(cli.cwd)], longest=50)


def shows(answer: Any) -> str:
    """Return all that an answer holds."""
    return f"{answer.text}\n{answer.structured}"


def test_a_job_shows_no_secret(jobs: JobTools, cli: Cli) -> None:
    lines = f"echo {OURS} ab; seq 3000; echo {GIVEN}; echo {OURS} >&2; echo ERROR {OURS}"
    asked = {"command": ["sh", "-c", lines], "env": {"DB_PASSWORD": GIVEN}, "until": 50}
    answer = jobs.call("run", asked, Call())
    job_id = (answer.structured or {})["job_id"]
    read = str(jobs.read(job_id, "stdout", 0, 100_000).text)
    assert read == cli("tail", job_id, "--tail-lines", "0")["stdout"].replace(OURS, STARS).replace(
        GIVEN, "*" * len(GIVEN)
    )
    answers = [
        answer,
        *(
            jobs.call(tool, {"job_id": job_id, **more}, Call())
            for tool, more in (
                ("wait", {}),
                ("tail", {}),
                ("tail", {"lines": 0}),
                ("tail", {"max_bytes": 5}),
                ("tail", {"view": "errors"}),
                ("tail", {"view": "full"}),
                ("tail", {"view": "grep=hunter|horse|ERROR"}),
                ("tail", {"view": "range=3-9"}),
            )
        ),
    ]
    for one in answers:
        assert not one.is_error, one.text
        assert OURS not in shows(one)
        assert GIVEN not in shows(one)
        assert "ter2" not in shows(one), "no part of one either"
    assert f"ERROR {STARS}" in answers[2].text
    assert f"{STARS} ab" in answers[6].text
    assert OURS in cli("tail", job_id)["stderr"], "the log is as it was printed"


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_left: str) -> Iterator[SessionTools]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with open_tools(workspace=str(tmp_path)) as tools:
        yield tools


@pytest.mark.parametrize("more", [{}, {"tty": True}, {"separate_streams": True}, {"render": "raw"}])
def test_a_session_shows_no_secret(session: SessionTools, more: dict[str, Any]) -> None:
    line = f"echo {OURS}; echo {os.path.realpath(os.sep)} ab >&2; seq 3000; printf {OURS}"
    asked = {"cmd": line, "login": False, "yield_time_ms": 20_000, **more}
    answer = session.call("exec_command", asked)
    assert not answer.is_error, answer.text
    assert OURS not in shows(answer)
    assert STARS in answer.text
    assert "/ ab" in answer.text
    (number,) = (
        one["session_id"] for one in (session.call("list_sessions", {}).structured or {})["sessions"]
    )
    for view in ({}, {"view": "full"}, {"view": "range=3-9"}, {"view": "grep=hunter|a"}, {"from": 4}):
        again = session.call("read_output", {"session_id": number, **view})
        assert "ter2" not in shows(again)


def test_the_second_half_of_a_secret_is_masked_too(session: SessionTools) -> None:
    started = session.call(
        "exec_command",
        {"cmd": f"printf {OURS[:9]}; read x; printf {OURS[9:]}", "tty": True, "login": False},
    )
    number = (started.structured or {})["session_id"]
    answer = session.call("write_stdin", {"session_id": number, "chars": "", "yield_time_ms": 250})
    assert not answer.is_error
    session.sessions.find(number, "kill_session").run.write(b"\x04")
    answer = session.call(
        "write_stdin", {"session_id": number, "chars": "", "wait_for": "exit", "yield_time_ms": 20_000}
    )
    assert OURS[9:] not in (answer.structured or {})["output"]


def test_a_one_shot_shows_no_secret(tmp_path: Path) -> None:
    kit = create_agent_toolkit(tmp_path, {"default_policy": "allow"})
    line = f"printf '%0994d'; echo {OURS}; echo {OURS} >&2"
    asked = {"cwd": ".", "command": ["sh", "-c", line], "max_output_chars": 1000}
    try:
        answer = kit.call("exec_command", asked, Call())
    finally:
        kit.close()
    assert "hunter" not in shows(answer).replace(str(asked["command"]), "")
    assert (answer.structured or {})["data"]["stdout"] == "0" * 994 + "******"


def test_the_executor_shows_no_secret_to_a_server_and_the_output_to_a_program() -> None:
    asked = {"command": "echo", "args": [f"\u00e9 {OURS} ab"]}
    with made() as executor:
        handler = ToolHandler(executor)
        answer = handler.call("execute_command", asked, Call())
        failed = handler.call("execute_command", {"command": "ls", "args": [f"/{OURS}"]}, Call())
        assert handler.execute_command(asked).output == f"\u00e9 {OURS} ab\n"
    assert (answer.structured or {})["output"] == f"\u00e9 {STARS} ab\n"
    for one in (answer, failed):
        assert OURS not in shows(one)
        assert STARS in shows(one)
