"""A call that was cut off: the same call goes on with what it has started, and starts nothing again."""

import threading
from typing import Any

import pytest

import agent_exec
from agent_exec.faces.jobtools.tools import JobTools
from agent_exec.model.cancel import Cancel
from agent_exec.tools import tool
from agent_exec.tools.tool import Call, Result, Retries, key_of
from cli import Cli
from support import wait_until

LINE = "echo began >> starts; while [ ! -e go ]; do sleep 0.01; done; echo done"
ASKED: dict[str, Any] = {"command": ["sh", "-c", LINE], "until": 50}


@pytest.fixture
def tools(cli: Cli) -> JobTools:
    return JobTools(agent_exec.open_jobs(str(cli.root)), [str(cli.cwd)], longest=50)


def starts(cli: Cli) -> int:
    file = cli.cwd / "starts"
    return len(file.read_text().splitlines()) if file.exists() else 0


def calling(tools: JobTools, asked: dict[str, Any], call: Cancel) -> tuple[threading.Thread, list[Result]]:
    answers: list[Result] = []
    thread = threading.Thread(target=lambda: answers.append(tools.call("run", asked, call)))
    thread.start()
    return thread, answers


def cut_off(cli: Cli, tools: JobTools) -> dict[str, Any]:
    """Start a job by a call that is cancelled while the job runs; return its answer."""
    call = Call()
    thread, answers = calling(tools, ASKED, call)
    wait_until(lambda: starts(cli) == 1)
    call.set()
    thread.join()
    return answers[0].structured or {}


def test_a_cancelled_call_is_gone_on_with(cli: Cli, tools: JobTools) -> None:
    first = cut_off(cli, tools)
    call = Call()
    thread, answers = calling(tools, {"until": 50, **ASKED}, call)
    wait_until(lambda: call.what != "")
    (cli.cwd / "go").touch()
    thread.join()
    again = answers[0].structured or {}
    assert (again["job_id"], again["stdout"], starts(cli)) == (first["job_id"], "done\n", 1)
    assert "nothing was started again" in answers[0].text
    third = tools.call("run", ASKED, Call()).structured or {}  # it was answered: a new one is wanted
    assert (third["job_id"] != first["job_id"], starts(cli)) == (True, 2)


def test_a_silent_call_is_gone_on_with_after_a_while(
    cli: Cli, tools: JobTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not every client says that it gave up; two calls at once are two."""
    first = [Call(), Call()]
    threads = [calling(tools, ASKED, call) for call in first]
    wait_until(lambda: starts(cli) == 2 and all(call.what for call in first))
    monkeypatch.setattr(tool, "PATIENCE", 0.0)
    call = Call()
    threads.append(calling(tools, ASKED, call))
    wait_until(lambda: call.what != "")
    other = {**ASKED, "stdin": ""}
    threads.append(calling(tools, other, Call()))
    wait_until(lambda: starts(cli) == 3)
    (cli.cwd / "go").touch()
    for thread, _ in threads:
        thread.join()
    found = [(answers[0].structured or {})["job_id"] for _, answers in threads]
    assert (len(set(found)), starts(cli)) == (3, 3)
    assert found[2] in found[:2]


def test_an_ended_job_is_not_gone_on_with(cli: Cli, tools: JobTools) -> None:
    first = cut_off(cli, tools)
    (cli.cwd / "go").touch()
    tools.call("wait", {"job_id": first["job_id"], "until": 50}, Call())
    told = tools.call("run", ASKED, Call()).structured or {}
    assert (told["job_id"] != first["job_id"], starts(cli)) == (True, 2)


def test_what_is_remembered_of_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    known, call = Retries(), Call()
    key = key_of("run", {"a": 1, "b": 2})
    assert key == key_of("run", {"b": 2, "a": 1}) != key_of("wait", {"a": 1, "b": 2})
    known.began(key, "work", call)
    assert known.find(key) is None  # it may be answered yet
    monkeypatch.setattr(tool, "PATIENCE", 0.0)
    assert known.find(key) == "work"
    call.shows_progress = True
    assert known.find(key) is None  # its client hears of it
    call.set()
    assert known.find(key) == "work"
    known.answered(key, call)
    assert known.find(key) == "work"  # an answer of a cancelled call is dropped
    other = Call()
    known.began(key, "work", other)
    known.answered(key, call)
    assert known.find(key) == "work"
    known.answered(key, other)
    assert known.find(key) is None
    known.began(key, "work", call)
    monkeypatch.setattr(tool, "REMEMBERED", 0.0)
    assert known.find(key) is None
    monkeypatch.undo()
    for number in range(300):
        known.began(str(number), number, call)
    assert (known.find("0"), known.find("299")) == (None, 299)
