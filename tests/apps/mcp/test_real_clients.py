"""Real clients with a scripted model on loopback: what `mcp install` writes and says is what they need.

Opt-in: AGENT_EXEC_REAL_CLIENTS names the folder of their programs, such as node_modules/.bin.
"""

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cli import PROGRAM

PROGRAMS = os.environ.get("AGENT_EXEC_REAL_CLIENTS", "")
pytestmark = pytest.mark.skipif(not PROGRAMS, reason="AGENT_EXEC_REAL_CLIENTS names no folder of clients")

CALL = json.dumps({"command": ["touch", "made"]})
USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}


def messages(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events of an answer to Claude Code: one call of `run`, or the end."""
    names = [tool["name"] for tool in body.get("tools", [])]
    called = "mcp__agent-exec__run" in json.dumps(
        [one for one in body["messages"] if one["role"] != "system"]
    )
    tool = next((one for one in ("mcp__agent-exec__run", "WaitForMcpServers") if one in names), "")
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": "done"}
    if tool and not called:
        block = {"type": "tool_use", "id": f"call{len(body['messages'])}", "name": tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": CALL if "run" in tool else "{}"}
    start = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [], "usage": USAGE}
    stop = {"stop_reason": "tool_use" if "id" in block else "end_turn", "stop_sequence": None}
    return [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": USAGE},
        {"type": "message_stop"},
    ]


def responses(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the same for Codex."""
    item: dict[str, Any] = {"type": "function_call", "call_id": "c", "name": "run", "arguments": CALL}
    item |= {"namespace": "mcp__agent_exec"}
    if any(one.get("type") == "function_call_output" for one in body["input"]):
        said = [{"type": "output_text", "text": "done"}]
        item = {"type": "message", "role": "assistant", "content": said}
    return [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r", "usage": USAGE}},
    ]


def completions(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the same for clients of chat completions."""
    names = [tool["function"]["name"] for tool in body.get("tools", [])]
    ours = next((name for name in names if "agent-exec" in name and name.endswith("run")), "")
    delta: dict[str, Any] = {"role": "assistant", "content": "done"}
    if names and not any(one["role"] == "tool" for one in body["messages"]):
        call = {"name": ours or "mcp__agent-exec__run", "arguments": CALL}
        delta = {
            "role": "assistant",
            "tool_calls": [{"index": 0, "id": "c", "type": "function", "function": call}],
        }
    why = "tool_calls" if "tool_calls" in delta else "stop"
    chunk = {"type": "", "id": "x", "object": "chat.completion.chunk", "created": 0, "model": "x"}
    return [
        {**chunk, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": why}]},
    ]


class Model(BaseHTTPRequestHandler):
    """A model that calls `run` once."""

    def do_POST(self) -> None:
        """Answer with a stream of events."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        kinds = {"messages": messages, "responses": responses, "completions": completions}
        events = next((kind(body) for name, kind in kinds.items() if name in self.path), [])
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in events:
            name = f"event: {event['type']}\n" if event["type"] else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n" if "completions" in self.path else b"")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def model() -> Iterator[str]:
    """Return the address of a scripted model."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Model) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def start(client: str, model: str) -> tuple[list[str], dict[str, str]]:
    """Return the words that start a client without a person, and the variables that name its model."""
    if client == "claude-code":
        quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "ANTHROPIC_API_KEY": "x"}
        return ["claude", "-p", "go"], {"ANTHROPIC_BASE_URL": model, **quiet}
    if client == "codex":
        provider = {"name": "x", "base_url": f"{model}/v1", "wire_api": "responses"}
        words = [f"model_providers.x.{name}={value}" for name, value in provider.items()]
        given = [word for one in ("model_provider=x", *words) for word in ("-c", one)]
        return ["codex", "exec", "--skip-git-repo-check", *given, "go"], {}
    if client == "copilot":
        offline = {"COPILOT_OFFLINE": "true", "COPILOT_MODEL": "x", "COPILOT_PROVIDER_API_KEY": "x"}
        return ["copilot", "-p", "go"], {"COPILOT_PROVIDER_BASE_URL": f"{model}/v1", **offline}
    words = ["qwen", "--auth-type", "openai", "-p", "go"]
    return words, {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"{model}/v1", "OPENAI_MODEL": "x"}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", ["as installed", "allow", "flag"])
@pytest.mark.parametrize("client", ["claude-code", "codex", "copilot", "qwen"])
def test_a_headless_client(tmp_path: Path, model: str, client: str, way: str) -> None:
    """A call is refused as installed, and made with `--allow`, or with the flag that `next` names."""
    words, variables = start(client, model)
    if not os.path.exists(os.path.join(PROGRAMS, words[0])):
        pytest.skip(f"{words[0]} is not in {PROGRAMS}")
    if (client, way) == ("copilot", "allow"):
        pytest.skip("no file of it holds the switch")
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    kept = {name: value for name, value in os.environ.items() if name in ("AGENT_EXEC_TEST", "LANG")}
    path = f"{os.path.abspath(PROGRAMS)}:{os.environ['PATH']}"
    env = {"HOME": str(home), "PATH": path, "TERM": "dumb", **kept, **variables}
    install = [str(PROGRAM), "mcp", "install", "--client", client, "--yes"]
    install += ["--allow"] if way == "allow" else []
    told = json.loads(subprocess.run(install, cwd=project, env=env, capture_output=True, check=True).stdout)
    if way == "flag":
        flag = told["next"].partition("needs `")[2].partition("`")[0].split(" ")
        words = [*words[:-1], *flag, words[-1]] if client == "codex" else [*words, *flag]
    out = subprocess.run(
        words,
        cwd=project,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert (project / "made").exists() is (way != "as installed"), out.stdout + out.stderr
