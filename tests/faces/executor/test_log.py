"""The log: every line of the contract, at its level, and nothing that was not asked for."""

import logging

import pytest

from agent_exec.faces.executor.errors import CommandExecutionError, CommandValidationError
from agent_exec.faces.executor.executor import CommandExecutor
from agent_exec.faces.executor.result import CommandExecutionResult
from faces.executor.recorder import DEAF, ENDLESS, MISSING, Recorder, in_time, made, python


def heard(logger: Recorder) -> None:
    """Log a command that does not end before it is killed."""

    def attempt(timeout: int) -> CommandExecutionResult:
        logger.lines.clear()
        return python(made(logger, kill_timeout=100), DEAF, timeout=timeout)

    in_time(attempt, lambda: "Received" not in str(logger.lines[4:]))


def test_c9_c16_c32_c33_the_lines_of_a_command_that_succeeds() -> None:
    logger = Recorder()
    out = made(logger).execute_command("echo", ["a", "b c"])
    pid = next(line for line in logger.at("debug") if line.startswith("Process spawned"))
    assert logger.lines == [
        ("debug", "Validating command: echo"),
        ("info", "Executing command: echo a b c"),
        ("debug", pid),
        ("debug", "Received output: 6 bytes"),
        ("info", f"Command executed: echo (exit: 0, duration: {out.metadata.duration_ms})"),
    ]


def test_c16_the_line_of_a_command_that_fails() -> None:
    logger = Recorder()
    python(made(logger), "raise SystemExit(3)")
    assert logger.at("error") == ["Command failed: python3 (exit code: 3)"]
    assert len(logger.at("info")) == 1
    logger = Recorder()
    python(made(logger), "import os; os.kill(os.getpid(), 9)")
    assert logger.at("error") == ["Command failed: python3 (exit code: None)"]


def test_c32_c33_c34_the_lines_of_a_timeout() -> None:
    logger = Recorder()
    heard(logger)
    assert logger.lines[3:] == [
        ("debug", "Received output: 4 bytes"),
        ("info", "Command timeout: python3 (sent SIGTERM)"),
        ("debug", "Signal SIGTERM sent to process"),
        ("debug", "Signal SIGKILL sent to process"),
        ("error", "Command timeout exceeded: python3"),
    ]


def test_c34_the_line_of_too_much_output() -> None:
    logger = Recorder()
    python(made(logger, max_output_bytes=1), "import os, time; os.write(1, b'xx'); time.sleep(600)")
    assert logger.lines[3:] == [
        ("debug", "Received output: 2 bytes"),
        ("debug", "Signal SIGTERM sent to process"),
        ("error", "Output size exceeded: python3"),
    ]


def test_c34_the_lines_of_what_is_refused_or_cannot_be_started() -> None:
    logger = Recorder()
    executor = made(logger)
    with pytest.raises(CommandValidationError):
        executor.execute_command("sudo", ["x"])
    assert logger.lines == [
        ("debug", "Validating command: sudo"),
        ("error", "Command validation failed: sudo"),
    ]
    logger.lines.clear()
    executor.execute_command(MISSING)
    assert logger.lines == [
        ("debug", f"Validating command: {MISSING}"),
        ("info", f"Executing command: {MISSING}"),
        ("error", f"Command execution error: {MISSING}"),
    ]


def test_asking_alone_logs_no_error() -> None:
    logger = Recorder()
    made(logger).validate_command("sudo")
    assert logger.lines == [("debug", "Validating command: sudo")]


def test_c33_a_logger_that_wants_no_debug_lines_is_not_asked_to_take_them() -> None:
    class Quiet(Recorder):
        def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - the standard library's name
            return level > logging.DEBUG

    logger = Quiet()
    heard(logger)
    assert logger.at("debug") == []
    assert [level for level, _ in logger.lines] == ["info", "info", "error"]


def test_the_standard_librarys_logger_takes_every_text_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("agent_exec.tests.executor")
    with caplog.at_level(logging.DEBUG, logger.name):
        made(logger).execute_command("echo", ["100%", "%s %d", "{x}"])  # type: ignore[arg-type]
    assert "Executing command: echo 100% %s %d {x}" in caplog.messages
    assert {record.levelname for record in caplog.records} == {"DEBUG", "INFO"}
    caplog.clear()
    with caplog.at_level(logging.INFO, logger.name):
        made(logger).execute_command("echo")  # type: ignore[arg-type]
    assert {record.levelname for record in caplog.records} == {"INFO"}


def test_no_argument_can_forge_a_line() -> None:
    logger = Recorder()
    made(logger).execute_command("echo", ["a\nError: all is lost", "\x1b[31m", "é"])
    assert "Executing command: echo a\\nError: all is lost \\x1b[31m é" in logger.at("info")
    with pytest.raises(CommandValidationError):
        made(logger).execute_command("sudo\nls\ud800")
    assert all(line.isprintable() for _, line in logger.lines)


@pytest.mark.parametrize("level", ["info", "debug", "error"])
def test_a_logger_that_raises_costs_no_slot_and_leaves_nothing(level: str) -> None:
    class Broken(Recorder):
        calm = False

    def fail(self: Broken, _message: str) -> None:
        if not self.calm:
            raise OSError("no space left for logs")

    logger = type("Broken", (Broken,), {level: fail})()
    executor = made(logger, max_concurrent=1)
    code = "import os, sys; os.write(1, b'x'); sys.exit(1)"
    with pytest.raises(OSError, match="no space"):
        python(executor, code)
    assert executor.concurrent_count == 0
    logger.calm = True
    assert python(executor, code).exit_code == 1


def test_a_logger_that_raises_in_the_middle_ends_the_command() -> None:
    class Late(Recorder):
        def __init__(self, bad: str) -> None:
            super().__init__()
            self.bad = bad

        def debug(self, message: str) -> None:
            if message.startswith(self.bad):
                raise OSError("no space left for logs")

        info = debug

    for bad in ("Process spawned", "Received", "Command timeout", "Signal SIGTERM"):
        executor = made(Late(bad), kill_timeout=100)
        with pytest.raises(OSError, match="no space"):
            python(executor, ENDLESS, timeout=60000 if bad in ("Process spawned", "Received") else 50)
        assert executor.concurrent_count == 0
    executor = made(Late("Signal SIGKILL"), kill_timeout=100)
    with pytest.raises(OSError, match="no space"):
        for timeout in (400, 2000, 10000, 60000):
            python(executor, DEAF, timeout=timeout)
    assert executor.concurrent_count == 0


def test_c34_the_line_of_what_was_raised_on_the_way() -> None:
    logger = Recorder()
    executor = made(logger, max_concurrent=1)

    def again(_stream: str, _chunk: bytes) -> None:
        executor.execute_command("echo", ["inner"])

    with pytest.raises(CommandExecutionError, match="Concurrent limit exceeded"):
        executor.execute_command("echo", ["outer"], on_output=again)
    assert logger.at("error") == ["Command execution error: echo"] * 2


def test_without_a_logger_nothing_is_logged() -> None:
    assert CommandExecutor(None).execute_command("echo", ["x"]).output == "x\n"
