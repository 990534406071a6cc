"""The contract as a whole: its duties in order, and that each of its lines has a test."""

import re
import tomllib
from pathlib import Path

import pytest

from agent_exec.faces.executor.errors import CommandExecutionError, CommandValidationError
from agent_exec.faces.executor.executor import CommandExecutor
from agent_exec.faces.executor.result import CommandExecutionResult
from faces.executor.recorder import DEAF, MISSING, Recorder, in_time, made, python

HERE = Path(__file__).parent
LINES = 41


def test_c1_c27_c40_validated_spawned_collected_returned() -> None:
    logger = Recorder()
    seen: list[bytes] = []
    out = made(logger).execute_command("echo", ["hello"], on_output=lambda _, chunk: seen.append(chunk))
    assert [text.split(":")[0].split(" (")[0] for _, text in logger.lines] == [
        "Validating command",
        "Executing command",
        "Process spawned",
        "Received output",
        "Command executed",
    ]
    assert (out.status, out.output, seen) == ("success", "hello\n", [b"hello\n"])


def test_c1_c27_c40_a_timeout_goes_from_term_to_kill_to_its_result() -> None:
    logger = Recorder()

    def attempt(timeout: int) -> CommandExecutionResult:
        logger.lines.clear()
        return python(made(logger, kill_timeout=100), DEAF, timeout=timeout)

    out = in_time(attempt)
    assert out.status == "timeout"
    assert [text for _, text in logger.lines if "Signal" in text or "exceeded" in text] == [
        "Signal SIGTERM sent to process",
        "Signal SIGKILL sent to process",
        "Command timeout exceeded: python3",
    ]


def test_c1_c40_validation_and_the_limit_are_raised_all_else_is_returned() -> None:
    executor = made(max_output_bytes=5, max_concurrent=1)
    with pytest.raises(CommandValidationError):
        executor.execute_command("curl")
    assert executor.execute_command(MISSING).status == "error"
    assert executor.execute_command("echo", ["too much"]).code == "OUTPUT_SIZE_EXCEEDED"
    errors: list[CommandExecutionError] = []

    def another(_stream: str, _chunk: bytes) -> None:
        with pytest.raises(CommandExecutionError) as caught:
            executor.execute_command("echo")
        errors.append(caught.value)

    executor.execute_command("echo", ["x"], on_output=another)
    assert [error.code for error in errors] == ["CONCURRENT_LIMIT_EXCEEDED"]
    assert executor.concurrent_count == 0


def test_c41_every_line_of_the_contract_has_its_test() -> None:
    """Named by number: c7, or c7_c17 for two at once."""
    found: set[int] = set()
    for file in HERE.glob("test_*.py"):
        for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE):
            found.update(int(number) for number in re.findall(r"_c(\d+)(?=_)", name))
    assert found == set(range(1, LINES + 1)), sorted(set(range(1, LINES + 1)) ^ found)


def test_c41_the_method_is_there_in_both_forms() -> None:
    assert callable(CommandExecutor.execute_command)
    assert callable(CommandExecutor.execute_command_async)
    root = HERE.parents[2]
    assert (
        "coverage"
        in tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]["dev"]
    )
