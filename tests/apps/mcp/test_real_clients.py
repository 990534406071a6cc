"""Real clients with a scripted model on loopback: what `mcp install` writes and says is what they need.

Opt-in: AGENT_EXEC_REAL_CLIENTS names the folder of their programs, such as node_modules/.bin.
"""

import json
import os
import re
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from cli import PROGRAM
from support import wait_until

PROGRAMS = os.environ.get("AGENT_EXEC_REAL_CLIENTS", "")
pytestmark = pytest.mark.skipif(not PROGRAMS, reason="AGENT_EXEC_REAL_CLIENTS names no folder of clients")

USAGE = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
OURS = "mcp__agent-exec__"
Step = Callable[[list[str]], tuple[str, dict[str, Any]]]


class Script:
    """The calls of a model, one after another; each may depend on the answers to those before it."""

    def __init__(self, *steps: Step) -> None:
        self.steps = steps
        self.answers: list[str] = []

    def next(self, answers: list[str]) -> tuple[str, str]:
        """Return the next tool and its arguments, given the answers so far; no tool at the end."""
        self.answers = max(answers, self.answers, key=len)
        if len(answers) >= len(self.steps):
            return "", ""
        tool, asked = self.steps[len(answers)](answers)
        return tool, json.dumps(asked)


def messages(body: dict[str, Any], script: Script) -> list[dict[str, Any]]:
    """Return the events of an answer to Claude Code: the next call, or the end."""
    names = [tool["name"] for tool in body.get("tools", [])]
    parts = [part for one in body["messages"] if isinstance(one["content"], list) for part in one["content"]]
    called = {one["id"] for one in parts if one["type"] == "tool_use" and one["name"].startswith(OURS)}
    answers = [
        json.dumps(one["content"], ensure_ascii=False)
        for one in parts
        if one["type"] == "tool_result" and one["tool_use_id"] in called
    ]
    tool, asked = script.next(answers)
    wanted = next((one for one in (OURS + tool, "WaitForMcpServers") if one in names), "") if tool else ""
    block: dict[str, Any] = {"type": "text", "text": ""}
    delta = {"type": "text_delta", "text": "done"}
    if wanted and any("text" in one for one in parts):
        block = {"type": "tool_use", "id": f"toolu_{uuid4().hex}", "name": wanted, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": asked if wanted == OURS + tool else "{}"}
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


def responses(body: dict[str, Any], script: Script) -> list[dict[str, Any]]:
    """Return the same for Codex."""
    answers = [str(one["output"]) for one in body["input"] if one.get("type") == "function_call_output"]
    tool, asked = script.next(answers)
    item: dict[str, Any] = {"type": "message", "role": "assistant"}
    item["content"] = [{"type": "output_text", "text": "done"}]
    if tool:
        item = {"type": "function_call", "call_id": f"c{len(answers)}", "name": tool, "arguments": asked}
        item |= {"namespace": "mcp__agent_exec"}
    return [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r", "usage": USAGE}},
    ]


def completions(body: dict[str, Any], script: Script) -> list[dict[str, Any]]:
    """Return the same for clients of chat completions."""
    names = [tool["function"]["name"] for tool in body.get("tools", [])]
    tool, asked = script.next([str(one["content"]) for one in body["messages"] if one["role"] == "tool"])
    ours = next((name for name in names if "agent-exec" in name and name.endswith(tool)), "")
    delta: dict[str, Any] = {"role": "assistant", "content": "done"}
    if names and tool:
        call = {"name": ours or OURS + tool, "arguments": asked}
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


def contents(body: dict[str, Any], script: Script) -> list[dict[str, Any]]:
    """Return the same for Gemini CLI."""
    known = [one for tools in body.get("tools", []) for one in tools.get("functionDeclarations", [])]
    parts = [part for one in body["contents"] for part in one.get("parts", [])]
    heard = [one["functionResponse"]["response"] for one in parts if "functionResponse" in one]
    tool, asked = script.next([json.dumps(one, ensure_ascii=False) for one in heard])
    ours = next((one["name"] for one in known if one["name"].endswith(f"_{tool}")), "") if tool else ""
    part: dict[str, Any] = {"text": "done"}
    if ours:
        part = {"functionCall": {"name": ours, "args": json.loads(asked)}}
    answer = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return [{"type": "", "candidates": [answer]}]


class Model(BaseHTTPRequestHandler):
    """A model that follows the script of its server."""

    def do_POST(self) -> None:
        """Answer with a stream of events."""
        assert isinstance(self.server, Served)
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        kinds = {"messages": messages, "responses": responses, "completions": completions}
        kinds |= {"streamGenerateContent": contents}
        events = next(
            (kind(body, self.server.script) for name, kind in kinds.items() if name in self.path), []
        )
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in events:
            name = f"event: {event['type']}\n" if event["type"] else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n" if "completions" in self.path else b"")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


class Served(ThreadingHTTPServer):
    """A scripted model on loopback."""

    script = Script(lambda _: ("run", {"command": ["touch", "made"]}))

    @property
    def address(self) -> str:
        """The address of the model."""
        return f"http://127.0.0.1:{self.server_port}"


@pytest.fixture
def model() -> Iterator[Served]:
    """Return a scripted model."""
    with Served(("127.0.0.1", 0), Model) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
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
    if client == "gemini":
        variables = {"GEMINI_API_KEY": "x", "GOOGLE_GEMINI_BASE_URL": model}
        return ["gemini", "--skip-trust", "-m", "gemini-2.5-flash", "-p", "go"], variables
    if client == "opencode":
        options = {"baseURL": f"{model}/v1", "apiKey": "x"}
        known = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"x": {}}}
        config = json.dumps({"provider": {"x": known}, "model": "x/x", "autoupdate": False})
        return ["opencode", "run", "-m", "x/x", "go"], {"OPENCODE_CONFIG_CONTENT": config}
    words = ["qwen", "--auth-type", "openai", "-p", "go"]
    return words, {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": f"{model}/v1", "OPENAI_MODEL": "x"}


class Project:
    """A client in a folder of its own, with our server installed."""

    def __init__(self, place: Path, model: Served, client: str, *options: str) -> None:
        self.words, variables = start(client, model.address)
        if not os.path.exists(os.path.join(PROGRAMS, self.words[0])):
            pytest.skip(f"{self.words[0]} is not in {PROGRAMS}")
        self.folder = place / "project"
        self.folder.mkdir()
        (place / "home" / ".gemini").mkdir(parents=True)
        by_key = {"security": {"auth": {"selectedType": "gemini-api-key"}}}  # which no variable says
        (place / "home" / ".gemini" / "settings.json").write_text(json.dumps(by_key))
        kept = {name: value for name, value in os.environ.items() if name in ("AGENT_EXEC_TEST", "LANG")}
        path = f"{os.path.abspath(PROGRAMS)}:{os.environ['PATH']}"
        self.env = {"HOME": str(place / "home"), "PATH": path, "TERM": "dumb", **kept, **variables}
        install = [str(PROGRAM), "mcp", "install", "--client", client, "--yes", *options]
        out = subprocess.run(install, cwd=self.folder, env=self.env, capture_output=True, check=True).stdout
        self.next: str = json.loads(out)["next"]

    def run(self) -> str:
        """Have the client follow the script to its end; return what it printed."""
        out = subprocess.run(
            self.words,
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        return out.stdout + out.stderr


@pytest.mark.timeout(300)
@pytest.mark.parametrize("way", ["as installed", "allow", "flag"])
@pytest.mark.parametrize("client", ["claude-code", "codex", "copilot", "qwen"])
def test_a_headless_client(tmp_path: Path, model: Served, client: str, way: str) -> None:
    """A call is refused as installed, and made with `--allow`, or with the flag that `next` names."""
    if (client, way) == ("copilot", "allow"):
        pytest.skip("no file of it holds the switch")
    project = Project(tmp_path, model, client, *(["--allow"] if way == "allow" else []))
    if way == "flag":
        flag = project.next.partition("needs `")[2].partition("`")[0].split(" ")
        words = project.words
        project.words = [*words[:-1], *flag, words[-1]] if client == "codex" else [*words, *flag]
    out = project.run()
    assert (project.folder / "made").exists() is (way != "as installed"), out


def session_of(answers: list[str]) -> int:
    """Return the number of the session that the last answer names."""
    found = re.search(r"session ID (\d+)", answers[-1])
    assert found, answers[-1]
    return int(found[1])


def typed(text: str) -> Step:
    """Return the step that types something into the session of the last answer."""
    return lambda heard: (
        "write_stdin",
        {"session_id": session_of(heard), "chars": text, "yield_time_ms": 20_000},
    )


BOTH = pytest.mark.parametrize("client", ["claude-code", "codex"])
FOUR = pytest.mark.parametrize("client", ["claude-code", "codex", "gemini", "opencode"])


@pytest.mark.timeout(300)
@FOUR
def test_a_repl_keeps_its_state_between_calls(tmp_path: Path, model: Served, client: str) -> None:
    model.script = Script(
        lambda _: ("exec_command", {"cmd": "python3 -q", "tty": True, "yield_time_ms": 20_000}),
        typed("x = 6\n"),
        typed("x * 7\n"),
        typed("exit()\n"),
    )
    out = Project(tmp_path, model, client, "--allow").run()
    assert len(model.script.answers) == 4, out
    assert "42" in model.script.answers[2]
    assert "exit code 0" in model.script.answers[3]


@pytest.mark.timeout(300)
@FOUR
def test_a_server_of_one_call_is_reached_by_the_next(tmp_path: Path, model: Served, client: str) -> None:
    fetch = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8123/page').read())"
    ready = ["port:8123"] if client == "gemini" else "port:8123"  # it refuses the text that our schema allows
    model.script = Script(
        lambda _: (
            "exec_command",
            {"cmd": "python3 -m http.server 8123", "wait_for": ready, "yield_time_ms": 30_000},
        ),
        lambda heard: ("exec_command", {"cmd": f'echo {session_of(heard)}; python3 -c "{fetch}"'}),
        lambda heard: ("kill_session", {"session_id": session_of(heard[:1])}),
    )
    project = Project(tmp_path, model, client, "--allow")
    (project.folder / "page").write_text("welcome")
    out = project.run()
    assert len(model.script.answers) == 3, out
    assert "welcome" in model.script.answers[1]
    assert "ended, 0 left" in model.script.answers[2]


@pytest.mark.timeout(300)
@FOUR
def test_the_failing_test_in_a_long_log_is_in_the_first_answer(
    tmp_path: Path, model: Served, client: str
) -> None:
    lines = (
        "seq -f 'test %g ... ok' 40000; echo 'FAILED tests/test_cart.py::test_sum - assert 3 == 4'; exit 1"
    )
    model.script = Script(lambda _: ("exec_command", {"cmd": lines, "yield_time_ms": 20_000}))
    out = Project(tmp_path, model, client, "--allow").run()
    assert model.script.answers, out
    assert "test_cart.py::test_sum - assert 3 == 4" in model.script.answers[0]
    assert len(model.script.answers[0]) < 4000


@pytest.mark.timeout(300)
@BOTH
def test_a_question_that_no_person_can_answer_is_refused_with_its_rule(
    tmp_path: Path, model: Served, client: str
) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nprefix = ["touch"]\nverdict = "ask"\nreason = "files are made by people"\n')
    model.script = Script(lambda _: ("exec_command", {"cmd": "touch made"}))
    project = Project(tmp_path, model, client, "--allow", "--rules", str(rules))
    out = project.run()
    assert model.script.answers, out
    assert not (project.folder / "made").exists()
    assert "files are made by people" in model.script.answers[0]


@pytest.mark.timeout(300)
@BOTH
def test_a_client_that_is_ended_takes_its_sessions_with_it_and_leaves_its_jobs(
    tmp_path: Path, model: Served, client: str
) -> None:
    model.script = Script(
        lambda _: ("run", {"command": ["sh", "-c", "touch began; sleep 600"], "until": 1}),
        lambda _: ("exec_command", {"cmd": "touch waits; sleep 600", "yield_time_ms": 50_000}),
    )
    project = Project(tmp_path, model, client, "--allow")
    with subprocess.Popen(
        project.words,
        cwd=project.folder,
        env=project.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as running:
        wait_until((project.folder / "waits").exists, seconds=200)
        running.terminate()
        running.wait(60)
    listed = [str(PROGRAM), "list", "--all", "--state", "running"]
    out = subprocess.run(listed, cwd=project.folder, env=project.env, capture_output=True, check=True).stdout
    (job,) = json.loads(out)["jobs"]
    kill = [str(PROGRAM), "kill", job["job_id"]]
    told = json.loads(subprocess.run(kill, env=project.env, capture_output=True, check=True).stdout)
    assert (told["state"], told["processes_left"]) == ("killed", 0)
