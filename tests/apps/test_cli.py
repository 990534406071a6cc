"""The installed program, from outside."""

import sys
from pathlib import Path

import pytest

import agent_exec

PROGRAM = str(Path(sys.executable).parent / "agent-exec")


def test_version_and_help() -> None:
    version = agent_exec.run([PROGRAM, "--version"])
    assert version.stdout_text == f"agent-exec {agent_exec.__version__}\n"
    usage = agent_exec.run([PROGRAM, "--help"])
    assert usage.stdout_text.startswith("usage: agent-exec")
    assert usage.ok


@pytest.mark.parametrize("words", [[], ["nonsense"], ["--version", "twice"]])
def test_a_usage_error_is_text_on_stderr_and_exit_2(words: list[str]) -> None:
    out = agent_exec.run([PROGRAM, *words])
    assert (out.exit_code, out.stdout) == (2, b"")
    assert out.stderr_text.startswith("agent-exec: ")
    assert "Traceback" not in out.stderr_text


def test_the_module_is_the_program() -> None:
    out = agent_exec.run([sys.executable, "-m", "agent_exec.apps.cli.main", "--version"])
    assert out.stdout_text.startswith("agent-exec ")
