"""The verb `mcp`: what it refuses, what it loads, and that no other verb loads it; needs no SDK."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cli import Cli

SDK = ("mcp", "mcp_types", "pydantic", "anyio", "starlette", "httpx2")
"""The protocol's SDK and what it brings."""


@pytest.fixture
def without(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which neither the SDK nor the extra is installed."""
    shim = tmp_path / "shim"
    shim.mkdir()
    for name in (*SDK, "uvicorn", "h11"):
        missing = f"raise ModuleNotFoundError(\"No module named '{name}'\", name='{name}')\n"
        (shim / f"{name}.py").write_text(missing)
    return {"PYTHONPATH": str(shim)}


def test_without_the_extra_http_says_what_to_install(cli: Cli, without: dict[str, str]) -> None:
    out = cli.raw("mcp", "--toolset", "oneshot", "--http", "--port", "0", env=without)
    assert (out.returncode, out.stdout) == (2, b"")
    assert b"install agent-exec[mcp], in a clone with pip install '.[mcp]'" in out.stderr
    assert b"Traceback" not in out.stderr


def test_a_parser_of_another_age_is_none(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "uvicorn").mkdir()
    (tmp_path / "uvicorn" / "__init__.py").touch()
    words = ("mcp", "--toolset", "oneshot", "--http", "--port", "0")
    out = cli.raw(*words, env={"PYTHONPATH": str(tmp_path)})
    assert (out.returncode, out.stdout) == (2, b"")
    assert b"install agent-exec[mcp]" in out.stderr


def test_without_the_extra_all_else_works(cli: Cli, without: dict[str, str]) -> None:
    assert cli("run", "--", "echo", "hello", env=without)["ok"]
    assert cli.raw("mcp", "--help", env=without).returncode == 0
    out = cli.raw("mcp", "--workspace", cli.cwd, input=asked("initialize", "tools/list"), env=without)
    assert out.returncode == 0
    hello, listed = map(json.loads, out.stdout.splitlines())
    assert hello["result"]["serverInfo"]["name"] == "agent-exec"
    assert "run" in [tool["name"] for tool in listed["result"]["tools"]]


def asked(*methods: str) -> bytes:
    """Return requests as lines, which are all sent before any is answered."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
    lines = [
        {"jsonrpc": "2.0", "id": number, "method": method, "params": hello if method == "initialize" else {}}
        for number, method in enumerate(methods)
    ]
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


def test_a_server_over_stdio_loads_nothing_that_is_slow(cli: Cli) -> None:
    """From its start to the list of tools: neither the SDK nor an event loop."""
    code = "import sys; from agent_exec.apps.main import main; main(['mcp', '--workspace', '.'])"
    loads = [sys.executable, "-X", "importtime", "-c", code]
    out = subprocess.run(
        loads,
        input=asked("initialize", "tools/list", "resources/list"),
        capture_output=True,
        env=cli.env,
        cwd=cli.cwd,
        check=True,
    )
    assert len(out.stdout.splitlines()) == 3
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in out.stderr.decode().splitlines()}
    assert "agent_exec" in loaded
    assert not loaded & {*SDK, "asyncio", "concurrent", "email", "http", "logging", "subprocess", "uvicorn"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--toolset", "none"],
            "there is no toolset 'none'; there are lean, jobs, session, oneshot, executor",
        ),
        (["--workspace", "nowhere"], "--workspace takes a folder that exists; got 'nowhere'"),
        (["--toolset", "session", "--toolset", "oneshot"], "session and oneshot cannot be served together"),
        (["--toolset", "jobs,executor,oneshot"], "executor and oneshot cannot be served together"),
        (["--toolset", "jobs,jobs"], "'jobs' is named twice"),
        (["--workspace", ""], "--workspace takes a folder"),
        (
            ["--workspace", "/"],
            "'/' is or holds your home folder, which no sandbox gives away: name a folder below",
        ),
        (["--max-wait", "500ms"], "--max-wait takes 0, or a second at least"),
        (["--toolset", "oneshot", "--max-wait", "0"], "--max-wait takes a second at least with the toolset"),
        (["--policy", "nowhere.toml"], "nowhere.toml"),
        (["--toolset", "oneshot", "--sandbox", "none"], "--sandbox takes read-only, workspace-write,"),
        (["--toolset", "oneshot", "--rules", "nowhere.toml"], "nowhere.toml"),
        (["serve"], "'serve' is one word too many"),
        (["--port", "1"], "--port"),
    ],
)
def test_what_makes_no_sense_is_reported_on_stderr(cli: Cli, words: list[str], said: str) -> None:
    out = cli.raw("mcp", *words)
    assert (out.returncode, out.stdout) == (2, b"")
    assert said in out.stderr.decode()
    assert b"Traceback" not in out.stderr


@pytest.mark.parametrize("most", [7, 10, 16])
def test_too_few_descriptors_are_reported(cli: Cli, most: int) -> None:
    line = f'ulimit -n {most}; exec "$0" -m agent_exec mcp'
    out = subprocess.run(
        ["sh", "-c", line, sys.executable],
        cwd=cli.cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert (out.returncode, out.stdout) == (2, b"")
    assert b"ulimit -n" in out.stderr
    assert b"Traceback" not in out.stderr


def test_no_other_verb_loads_it(cli: Cli) -> None:
    code = "import sys; from agent_exec.apps.main import main; main(['list']); print(*sys.modules)"
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=cli.env, check=True
    )
    loaded = set(out.stdout.split())
    assert "agent_exec.apps.cli.act" in loaded
    assert not {name for name in loaded if name.partition(".")[0] in (*SDK, "uvicorn")}
    assert not {name for name in loaded if name.startswith("agent_exec.apps.mcp")}
