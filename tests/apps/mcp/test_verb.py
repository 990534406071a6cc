"""The verb `mcp`: what it refuses, and that nobody else pays for it; needs no SDK."""

import subprocess
import sys
from pathlib import Path

import pytest

from cli import Cli


@pytest.fixture
def without(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which the SDK is not installed."""
    shim = tmp_path / "shim"
    shim.mkdir()
    (shim / "mcp.py").write_text("raise ModuleNotFoundError(\"No module named 'mcp'\", name='mcp')\n")
    return {"PYTHONPATH": str(shim)}


def test_without_the_extra_it_says_what_to_install(cli: Cli, without: dict[str, str]) -> None:
    out = cli.raw("mcp", "--toolset", "oneshot", env=without)
    assert (out.returncode, out.stdout) == (2, b"")
    assert b"install agent-exec[mcp], in a clone with pip install '.[mcp]'" in out.stderr
    assert b"Traceback" not in out.stderr


def test_an_sdk_of_another_age_is_none(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mcp").mkdir()
    (tmp_path / "mcp" / "__init__.py").touch()
    out = cli.raw("mcp", "--toolset", "oneshot", env={"PYTHONPATH": str(tmp_path)})
    assert (out.returncode, out.stdout) == (2, b"")
    assert b"install agent-exec[mcp]" in out.stderr


def test_without_the_extra_all_else_works(cli: Cli, without: dict[str, str]) -> None:
    assert cli("run", "--", "echo", "hello", env=without)["ok"]
    assert cli.raw("mcp", "--help", env=without).returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--toolset", "none"], "there is no toolset 'none'; there are jobs, session, oneshot, executor"),
        (["--workspace", "nowhere"], "--workspace takes a folder that exists; got 'nowhere'"),
        (["--toolset", "session", "--toolset", "oneshot"], "session and oneshot cannot be served together"),
        (["--toolset", "jobs,executor,oneshot"], "executor and oneshot cannot be served together"),
        (["--toolset", "jobs,jobs"], "'jobs' is named twice"),
        (["--workspace", ""], "--workspace takes a folder"),
        (
            ["--workspace", "/"],
            "'/' is or holds your home folder, which no sandbox gives away: name a folder below",
        ),
        (["--max-wait", "0"], "--max-wait takes a second at least"),
        (["--policy", "nowhere.toml"], "nowhere.toml"),
        (["--toolset", "oneshot", "--sandbox", "none"], "--sandbox takes read-only, workspace-write,"),
        (["--toolset", "oneshot", "--rules", "nowhere.toml"], "nowhere.toml"),
        (["serve"], "'serve' is one word too many"),
        (["--port", "1"], "--port"),
    ],
)
def test_what_makes_no_sense_is_reported_on_stderr(cli: Cli, words: list[str], said: str) -> None:
    if "--rules" in words or "--policy" in words:  # which are read last
        pytest.importorskip("mcp")
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
    assert not {
        name for name in loaded if name.partition(".")[0] in ("mcp", "mcp_types", "anyio", "pydantic")
    }
    assert not {name for name in loaded if name.startswith("agent_exec.apps.mcp")}
