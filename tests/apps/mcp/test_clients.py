"""Clients that are not the SDK's: one written by hand, and the protocol's own inspector if it is installed."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.mcp.talking import Bare, bare, jobs
from apps.mcp.talking_http import over_http, served
from cli import Cli
from support import wait_until

INSPECTOR = os.environ.get("MCP_INSPECTOR") or shutil.which("mcp-inspector")
"""The inspector's program, such as node_modules/.bin/mcp-inspector."""


@pytest.fixture
def folder(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a workspace, and have jobs kept beside it."""
    monkeypatch.setenv("AGENT_EXEC_ROOT", str(cli.root))
    return cli.cwd


class ByHand:
    """A client that knows the protocol as far as it needs it, and answers what the server asks."""

    def __init__(self, server: Bare) -> None:
        self.server = server
        self.told: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []

    def greet(self) -> dict[str, Any]:
        """Shake hands as a client that can be asked, and has roots."""
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"elicitation": {}, "roots": {}},
            "clientInfo": {"name": "by hand", "version": "1"},
        }
        found = self.request("initialize", hello)
        self.server.send("notifications/initialized", notify=True)
        return found

    def request(self, method: str, params: object = None) -> dict[str, Any]:
        """Ask, and return the result; on the way, answer what is asked and note what is told."""
        self.server.send(method, params)
        number = self.server.last
        while True:
            message = self.server.hear()
            if "method" not in message:
                assert message["id"] == number
                assert "result" in message, message
                found: dict[str, Any] = message["result"]
                return found
            self._heed(message)

    def call(self, name: str, **arguments: object) -> dict[str, Any]:
        """Call a tool, with progress."""
        return self.request(
            "tools/call",
            {"name": name, "arguments": arguments, "_meta": {"progressToken": f"{name} {self.server.last}"}},
        )

    def hear_of(self, method: str) -> dict[str, Any]:
        """Wait for a notification."""
        while not (found := [one for one in self.told if one["method"] == method]):
            self._heed(self.server.hear())
        return found[-1]

    def _heed(self, message: dict[str, Any]) -> None:
        if "id" not in message:
            self.told.append(message)
            return
        self.asked.append(message)
        answers = {
            "elicitation/create": {"action": "accept", "content": {"answer": "once"}},
            "roots/list": {"roots": []},
        }
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": answers[message["method"]]}
        self.server.say(json.dumps(answer).encode())


def test_one_by_hand_from_end_to_end(folder: Path, cli: Cli) -> None:
    """Run, watch, talk to and stop commands, be asked, read resources, and hang up."""
    rules = folder.parent / "rules.toml"
    rules.write_text('[[rule]]\nprefix = ["touch"]\nverdict = "ask"\nreason = "it makes files"\n')
    words = jobs("--toolset", "jobs", "--toolset", "session", "--workspace", folder, "--policy", rules)
    with bare(*words) as server:
        client = ByHand(server)
        hello = client.greet()
        assert (hello["serverInfo"]["name"], hello["protocolVersion"]) == ("agent-exec", "2025-06-18")
        assert hello["capabilities"]["resources"] == {"subscribe": True, "listChanged": False}
        assert f"the workspace {folder}" in hello["instructions"]
        tools = [tool["name"] for tool in client.request("tools/list")["tools"]]
        assert tools[:6] == ["run", "status", "tail", "wait", "kill", "list"]
        assert {"exec_command", "write_stdin", "detach"} <= set(tools)

        assert client.call("run", command=["touch", "made"])["isError"] is False
        assert (folder / "made").exists()
        (question,) = client.asked
        assert "touch made" in question["params"]["message"]

        line = "echo begun; while [ ! -e go ]; do sleep 0.01; done; echo done"
        job = client.call("run", command=["sh", "-c", line], until=2)["structuredContent"]
        assert (job["state"], job["stdout"]) == ("running", "begun\n")
        progress = client.hear_of("notifications/progress")["params"]
        assert progress["message"].startswith(f"job {job['job_id']} has run for ")
        assert progress["message"].endswith(" s, 6 bytes printed, last line: begun")
        uri = f"agent-exec://jobs/{job['job_id']}/stdout"
        client.request("resources/subscribe", {"uri": uri})
        (folder / "go").touch()
        assert client.hear_of("notifications/resources/updated")["params"]["uri"] == uri
        read = client.request("resources/read", {"uri": f"{uri}?from=6"})
        assert read["contents"][0]["text"] == "done\n"
        assert client.call("wait", job_id=job["job_id"])["structuredContent"]["exit_code"] == 0

        talk = client.call("exec_command", cmd="cat", tty=True, login=False, shell="sh")["structuredContent"]
        said = client.call("write_stdin", session_id=talk["session_id"], chars="hello\n")["structuredContent"]
        assert said["output"].count("hello") == 2
        client.call("kill_session", session_id=talk["session_id"])

        live = client.call("run", command=["sleep", "1000"], until=0)["structuredContent"]["job_id"]
        server.hang_up()
        assert server.process.wait(20) == 0
    assert cli("status", live)["state"] == "running"
    cli("kill", live)


def inspector() -> list[str]:
    """Return the words that start the inspector, or skip the test."""
    if INSPECTOR is None:
        pytest.skip("the inspector is not installed: set MCP_INSPECTOR to its program")
    program = ["node", INSPECTOR] if INSPECTOR.endswith(".js") else [INSPECTOR]
    if shutil.which(program[0]) is None:
        pytest.skip("there is no node")
    return [*program, "--cli"]


@pytest.fixture(params=["stdio", "http"])
def inspect(request: pytest.FixtureRequest, folder: Path) -> Iterator[Any]:
    """Return the inspector as a function, over each transport."""
    program = inspector()

    def run(*words: str) -> dict[str, Any]:
        out = subprocess.run([*target, *words], capture_output=True, check=False, timeout=60, cwd=folder)
        assert out.returncode == 0, (out.stdout, out.stderr)
        found: dict[str, Any] = json.loads(out.stdout)
        return found

    if request.param == "stdio":
        target = [*program, sys.executable, *jobs("--workspace", folder)]
        yield run
        return
    helped = subprocess.run([*program, "--help"], capture_output=True, check=False, timeout=60)
    if b"--header" not in helped.stdout:
        pytest.skip("this version of the inspector cannot send a token")
    with served(*over_http("--workspace", folder)) as server:
        target = [*program, server.url, "--transport", "http"]
        target += ["--header", f"Authorization: Bearer {server.token}"]
        yield run


def test_the_inspector(inspect: Any, folder: Path) -> None:
    tools = inspect("--method", "tools/list")["tools"]
    assert [tool["name"] for tool in tools] == ["run", "status", "tail", "wait", "kill", "list"]
    asked = ("--tool-name", "run", "--tool-arg", 'command=["touch","made"]')
    result = inspect("--method", "tools/call", *asked)
    assert result["structuredContent"]["exit_code"] == 0, result
    wait_until((folder / "made").exists)
    uri = f"agent-exec://jobs/{result['structuredContent']['job_id']}/stdout"
    assert uri in [one["uri"] for one in inspect("--method", "resources/list")["resources"]]
    assert inspect("--method", "resources/read", "--uri", uri)["contents"][0]["text"] == ""
    templates = inspect("--method", "resources/templates/list")["resourceTemplates"]
    assert templates[0]["uriTemplate"] == "agent-exec://jobs/{id}/stdout{?from,max}"
