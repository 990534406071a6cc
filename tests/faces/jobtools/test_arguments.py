"""The arguments of the tools of jobs: valid by their schemas, or refused with a code; never a traceback."""

import sys
from typing import Any

import pytest

import agent_exec
from agent_exec.faces.jobtools.tools import JobTools
from agent_exec.model.cancel import Cancel
from cli import Cli


@pytest.fixture
def tools(cli: Cli) -> JobTools:
    return JobTools(agent_exec.open_jobs(str(cli.root)), [str(cli.cwd)], longest=50)


def call(tools: JobTools, name: str, **arguments: object) -> Any:
    return tools.call(name, arguments, Cancel()).structured


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"stdin": "a\ud800"}, "run: stdin has half of a surrogate pair at character 1"),
        ({"env": {"A": "\udfff\ud800"}}, "run: env.A has half of a surrogate pair at character 0"),
        ({"cwd": "\ud800"}, "run: cwd has half of a surrogate pair at character 0"),
        ({"stdin_file": "a\0"}, "run: stdin_file must not contain a NUL character"),
        ({"env": {"A": "\0"}}, "run: env.A must not contain a NUL character"),
        ({"timeout": 10**30}, "timeout must be between 0 and"),
    ],
    ids=ascii,
)
def test_what_is_wrong_is_refused_by_its_name(
    tools: JobTools, arguments: dict[str, object], said: str
) -> None:
    told = call(tools, "run", command=["cat"], **arguments)
    assert told["error"]["code"] == "invalid_argument"
    assert said in told["error"]["message"]


def test_numbers_of_any_size_are_bounds(tools: JobTools) -> None:
    """A model that wants all of it says a very large number."""
    job_id = call(tools, "run", command=["echo", "hi"], until=1e300)["job_id"]
    for size in (10**30, 10**400, 1e300):
        assert call(tools, "tail", job_id=job_id, lines=size, max_bytes=size)["stdout"] == "hi\n"
        assert len(call(tools, "list", limit=size)["jobs"]) == 1
        assert call(tools, "wait", job_id=job_id, until=size)["state"] == "exited"


SERVE = "import socket, time; s = socket.create_server(('127.0.0.1', 0)); print('up', flush=True); time.sleep(600)"


def test_a_server_is_waited_for_until_it_is_ready(tools: JobTools) -> None:
    command = [sys.executable, "-c", SERVE]
    result = tools.call("run", {"command": command, "wait_for": "listen"}, Cancel())
    told: Any = result.structured
    job_id = told["job_id"]
    try:
        [at] = told["met"][0]["listening"]
        assert f"[ready] listen: 127.0.0.1 port {at['port']} (ipv4)" in result.text.splitlines()
        assert call(tools, "wait", job_id=job_id, wait_for=[f"port:{at['port']}"])["ready"]
        assert call(tools, "wait", job_id=job_id, wait_for=["match=^up$"])["met"][0]["line"] == "up"
        late = tools.call("wait", {"job_id": job_id, "wait_for": ["file=none"], "until": 0}, Cancel())
        assert f"[not ready] file=none: {tools.workspaces.root}/none does not exist" in late.text.splitlines()
        assert call(tools, "wait", job_id=job_id, wait_for=["x"])["error"]["code"] == "invalid_argument"
    finally:
        call(tools, "kill", job_id=job_id)


def test_a_job_starts_after_another_and_is_run_again(tools: JobTools) -> None:
    first = call(tools, "run", command=["sleep", "600"], until=0)["job_id"]
    held = call(tools, "run", command=["echo", "after"], after=f"{first}:any", until=0)
    assert (held["state"], held["waiting_for"][0]["job_id"]) == ("created", first)
    call(tools, "kill", job_id=first)
    assert call(tools, "wait", job_id=held["job_id"])["stdout"] == "after\n"
    line = "test -e again && exit 0; touch again; exit 3"
    for restart in ("1", "on-failure"):
        told = call(tools, "run", command=["sh", "-c", f"{line} # {restart}"], restart=restart, until=50)
        assert (told["exit_code"], told["attempt"]) == (0, 2)
        call(tools, "run", command=["rm", "again"])
    for wrong in ({"restart": "sometimes"}, {"after": "nothing-here"}, {"after": f"{first}:soon"}):
        assert not call(tools, "run", command=["true"], **wrong)["ok"]


def test_no_job_outside_of_the_workspace_is_waited_for(tools: JobTools, cli: Cli) -> None:
    other = cli("run", "--cwd", "/", "--", "true")["job_id"]
    assert call(tools, "run", command=["true"], after=other)["error"]["code"] == "job_not_found"
