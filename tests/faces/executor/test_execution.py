"""One command: what it is given, what it prints, how it ends."""

import dataclasses
import json
import os
import sys
from pathlib import Path

import pytest

from agent_exec.faces.executor.config import CommandExecutorConfig
from agent_exec.faces.executor.errors import CommandValidationError
from agent_exec.faces.executor.executor import CommandExecutor
from agent_exec.faces.executor.result import CommandExecutionResult, CommandMetadata
from agent_exec.model.errors import InvalidArgument
from faces.executor.recorder import DEAF, ENDLESS, MISSING, Recorder, each, in_time, made, python
from support import exists, wait_until


def test_c2_an_executor_is_made_of_a_logger_and_a_config() -> None:
    logger = Recorder()
    config = CommandExecutorConfig(timeout=60000)
    executor = CommandExecutor(logger, config)
    assert executor.config is config
    assert executor.execute_command("echo", ["x"]).status == "success"
    assert logger.lines
    assert CommandExecutor().execute_command("echo").status == "success"
    for bad in (object(), "logger", 1):
        with pytest.raises(InvalidArgument, match="logger"):
            CommandExecutor(bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="config"):
        CommandExecutor(None, {"timeout": 1})  # type: ignore[arg-type]


def test_c3_every_term_has_its_default() -> None:
    config = CommandExecutorConfig()
    assert config.timeout == 300000
    assert config.max_concurrent == 3
    assert config.max_output_bytes == 10 * 1024 * 1024 == 10485760
    assert config.kill_timeout == 10000
    assert config.workspace_root is None
    assert config.on_limit == "raise"
    assert CommandExecutorConfig(timeout=0) == CommandExecutorConfig(timeout=None) == config
    assert dataclasses.is_dataclass(config)


@each([-1, float("nan"), float("inf"), -float("inf"), True, "5", [], 10**15])
def test_c6_times_that_are_none_are_refused(bad: object) -> None:
    with pytest.raises(InvalidArgument, match="timeout"):
        CommandExecutorConfig(timeout=bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="kill_timeout"):
        CommandExecutorConfig(kill_timeout=bad)  # type: ignore[arg-type]
    executor = made()
    with pytest.raises(InvalidArgument, match="timeout"):
        executor.execute_command("echo", timeout=bad)  # type: ignore[arg-type]
    assert executor.concurrent_count == 0


@each(
    [
        {"kill_timeout": None},
        {"max_concurrent": 0},
        {"max_concurrent": True},
        {"max_concurrent": 1.5},
        {"max_output_bytes": -1},
        {"max_output_bytes": "1"},
        {"workspace_root": ""},
        {"workspace_root": b"x"},
        {"workspace_root": "a\0b"},
        {"on_limit": "wait"},
        {"policy": ["ls"]},
        {"policy": None},
    ]
)
def test_terms_out_of_their_bounds_are_refused(bad: dict[str, object]) -> None:
    with pytest.raises((InvalidArgument, TypeError)) as caught:
        CommandExecutorConfig(**bad)  # type: ignore[arg-type]
    assert isinstance(caught.value, InvalidArgument)
    assert next(iter(bad)) in str(caught.value)


def test_c6_all_arguments_but_the_command_are_optional(tmp_path: Path) -> None:
    executor = made()
    assert executor.execute_command("pwd").output.strip() == os.getcwd()
    assert executor.execute_command("pwd", [], 0, tmp_path).output == f"{tmp_path}\n"
    assert executor.execute_command("pwd", None, None, "").output.strip() == os.getcwd()
    assert (
        executor.execute_command(command="echo", args=("a", "b"), timeout=5000, cwd=str(tmp_path)).output
        == "a b\n"
    )
    assert executor.execute_command("echo", iter(["a"])).output == "a\n"  # type: ignore[arg-type]


@each(
    [
        {"command": None},
        {"command": ["echo"]},
        {"command": b"echo"},
        {"command": "echo", "args": "x"},
        {"command": "echo", "args": b"x"},
        {"command": "echo", "args": 5},
        {"command": "echo", "args": ["a", 1]},
        {"command": "echo", "args": [b"a"]},
        {"command": "echo", "args": ["a\0b"]},
        {"command": "echo", "args": ["\ud800"]},
        {"command": "echo", "cwd": b"/"},
        {"command": "echo", "cwd": "a\0b"},
        {"command": "echo", "on_output": 5},
        {"command": "echo", "on_limit": "wait"},
    ]
)
def test_arguments_of_the_wrong_kind_are_refused(bad: dict[str, object]) -> None:
    executor = made()
    with pytest.raises(InvalidArgument):
        executor.execute_command(**bad)  # type: ignore[arg-type]
    assert executor.concurrent_count == 0


def test_c10_the_arguments_arrive_as_they_are_and_no_shell_is_asked() -> None:
    words = ["$HOME", "`id`", "$(id)", "a b", "*", "'", '"', ";", "&&", "é", "", "\\", "\n"]
    out = python(made(), "import sys; print(sys.argv[1:])", *words)
    assert out.output == f"{words!r}\n"


def test_c10_there_is_no_input() -> None:
    assert made().execute_command("cat").output == ""
    assert python(made(), "import sys; print(repr(sys.stdin.read()))").output == "''\n"


def test_c10_the_environment_is_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOMETHING_OF_OURS", "yes")
    assert python(made(), "import os; print(os.environ['SOMETHING_OF_OURS'])").output == "yes\n"


def test_c10_c18_the_timeout_is_the_calls_or_the_configs() -> None:
    assert python(made(), ENDLESS, timeout=50).status == "timeout"
    assert python(made(timeout=50), ENDLESS).status == "timeout"
    assert python(made(timeout=50), ENDLESS, timeout=0).status == "timeout"
    assert python(made(timeout=1), "import time; time.sleep(0.05)", timeout=60000).status == "success"


def test_c11_c37_the_streams_are_apart() -> None:
    out = python(made(), "import os; os.write(1, b'out'); os.write(2, b'err'); os.write(1, b'more')")
    assert (out.output, out.error) == ("outmore", "err")


def test_c11_any_output_becomes_text() -> None:
    out = python(made(), "import os; os.write(1, 'é€'.encode()); os.write(2, b'a\\xffb\\0')")
    assert (out.output, out.error) == ("é€", "a\ufffdb\0")
    assert out.metadata.output_size_bytes == 5, "bytes, not characters"
    assert out.metadata.error_size_bytes == 4, "what was printed, not what it is shown as"


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_c11_c19_c29_c36_too_much_output_ends_the_command(stream: str) -> None:
    flood = f"import os\nwhile True: os.write({1 if stream == 'stdout' else 2}, b'x' * 1000)"
    out = python(made(max_output_bytes=4096), flood)
    assert out.status == "error"
    assert out.code == "OUTPUT_SIZE_EXCEEDED"
    assert (out.exit_code, out.signal) == (None, "SIGTERM")
    text = out.output if stream == "stdout" else out.error
    assert text == "x" * 4096, "what came before is kept, up to the limit"
    assert (out.output, out.error).count("") == 1


def test_c11_a_flood_that_is_over_before_it_is_seen_is_too_much_as_well() -> None:
    out = python(made(max_output_bytes=10), "import os; os.write(1, b'x' * 11)")
    assert (out.status, out.code, out.output) == ("error", "OUTPUT_SIZE_EXCEEDED", "x" * 10)
    assert python(made(max_output_bytes=10), "import os; os.write(1, b'x' * 10)").status == "success"
    assert made(max_output_bytes=0).execute_command("true").status == "success"
    assert made(max_output_bytes=0).execute_command("echo").code == "OUTPUT_SIZE_EXCEEDED"


def test_c11_a_character_at_the_limit_is_not_cut_in_two() -> None:
    out = python(made(max_output_bytes=4), "import os; os.write(1, 'ab€€'.encode())")
    assert out.output == "ab"
    assert python(made(max_output_bytes=5), "import os; os.write(1, 'ab€€'.encode())").output == "ab€"


def test_c28_c29_a_flood_that_does_not_hear_is_killed() -> None:
    deaf = "import os, signal; signal.signal(15, signal.SIG_IGN)\nwhile True:\n os.write(1, b'x' * 65536); os.write(2, b'y' * 65536)"
    logger = Recorder()
    out = python(made(logger, max_output_bytes=1 << 20, kill_timeout=100), deaf)
    assert (out.code, out.signal, out.exit_code) == ("OUTPUT_SIZE_EXCEEDED", "SIGKILL", None)
    assert len(out.output) <= 1 << 20
    assert len(out.error) <= 1 << 20
    received = [int(line.split()[2]) for line in logger.at("debug") if line.startswith("Received output")]
    assert sum(received) < 6 << 20, "what is thrown away is not told, or the log would be the flood"


def test_c29_ten_mebibytes_by_default() -> None:
    out = python(
        made(), "import os\nfor _ in range(11): os.write(1, b'x' * (1 << 20))\nwhile True: os.write(1, b'x')"
    )
    assert out.code == "OUTPUT_SIZE_EXCEEDED"
    assert len(out.output) == out.metadata.output_size_bytes == 10485760
    fits = python(
        made(),
        "import os, sys\nfor fd in 1, 2:\n  for _ in range(10): sys.stdout.buffer.flush(); os.write(fd, b'') or [os.write(fd, b'x' * 65536) for _ in range(16)]",
    )
    assert (fits.status, len(fits.output), len(fits.error)) == ("success", 10485760, 10485760)


def test_c12_c21_c28_a_deaf_command_is_killed_after_the_kill_timeout() -> None:
    logger = Recorder()

    def attempt(timeout: int) -> CommandExecutionResult:
        logger.lines.clear()
        return python(made(logger, kill_timeout=300), DEAF, timeout=timeout)

    out = in_time(attempt)
    assert (out.status, out.code, out.exit_code, out.signal) == ("timeout", "TIMEOUT", None, "SIGKILL")
    assert out.output == "deaf", "what came before is kept"
    assert out.metadata.duration_ms >= 700
    sent = [line for line in logger.at("debug") if line.startswith("Signal")]
    assert sent == ["Signal SIGTERM sent to process", "Signal SIGKILL sent to process"]


def test_c12_c28_a_command_may_end_gracefully() -> None:
    code = "import os, signal, sys, time; signal.signal(15, lambda *_: (os.write(1, b'bye'), os._exit(3))); time.sleep(600)"
    logger = Recorder()
    out = in_time(lambda timeout: python(made(logger, kill_timeout=60000), code, timeout=timeout))
    assert (out.status, out.output, out.exit_code, out.signal) == ("timeout", "bye", None, None)
    assert "Signal SIGKILL sent to process" not in logger.at("debug")


def test_c13_a_clock_that_was_not_needed_is_gone() -> None:
    """The descriptor and thread check of every test is the other half of this."""
    executor = made(timeout=30000)
    assert [executor.execute_command("true").status for _ in range(20)] == ["success"] * 20
    assert executor.execute_command(MISSING).code == "COMMAND_NOT_FOUND"


def test_c14_c25_c36_a_result_is_whole() -> None:
    out = made().execute_command("echo", ["hello"])
    assert out == CommandExecutionResult(
        "success", "hello\n", "", 0, CommandMetadata(out.metadata.duration_ms, 6, 0)
    )
    assert out.to_wire() == {
        "status": "success",
        "output": "hello\n",
        "error": "",
        "exitCode": 0,
        "metadata": {"duration_ms": out.metadata.duration_ms, "output_size_bytes": 6, "error_size_bytes": 0},
    }
    assert json.loads(json.dumps(out.to_wire())) == out.to_wire()
    assert isinstance(out.metadata.duration_ms, int)
    assert dataclasses.is_dataclass(out)
    with pytest.raises(dataclasses.FrozenInstanceError):
        out.status = "error"  # type: ignore[misc]


def test_c14_c36_a_non_zero_exit_is_an_error_with_its_code() -> None:
    out = python(made(), "import sys; sys.stderr.write('why'); sys.exit(7)")
    assert (out.status, out.exit_code, out.error, out.code, out.signal) == ("error", 7, "why", None, None)
    assert out.to_wire()["exitCode"] == 7
    assert "code" not in out.to_wire()


def test_c21_a_signal_from_elsewhere_is_an_error() -> None:
    out = python(made(), "import os; os.write(1, b'x'); os.kill(os.getpid(), 9)")
    assert (out.status, out.code, out.exit_code, out.signal) == ("error", "EXECUTION_FAILED", None, "SIGKILL")
    assert out.output == "x"
    wire = out.to_wire()
    assert (wire["exitCode"], wire["code"], wire["signal"]) == (None, "EXECUTION_FAILED", "SIGKILL")
    assert python(made(), "import os; os.kill(os.getpid(), 15)").signal == "SIGTERM"


def test_c20_c36_a_command_that_is_not_there_is_an_error() -> None:
    out = made().execute_command(MISSING, ["x"])
    assert (out.status, out.code, out.exit_code, out.output) == ("error", "COMMAND_NOT_FOUND", None, "")
    assert MISSING in out.error
    assert out.metadata.error_size_bytes == len(out.error)


def test_c20_a_name_is_run_as_it_is_given() -> None:
    assert made().execute_command("ECHO").code == "COMMAND_NOT_FOUND"


def test_c20_what_the_system_refuses_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ls").write_text("no first line\n")
    (tmp_path / "ls").chmod(0o755)
    (tmp_path / "cat").write_text("")
    monkeypatch.setenv("PATH", str(tmp_path))
    out = made().execute_command("ls")
    assert (out.status, out.code) == ("error", "EXECUTION_FAILED")
    assert out.error
    assert made().execute_command("cat").status == "error"
    assert made().execute_command("echo", ["x" * (1 << 22)]).status == "error"


@pytest.mark.parametrize("root", [False, True])
def test_a_missing_cwd_is_an_error(root: bool, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    executor = made(workspace_root=tmp_path if root else None)
    for cwd in (tmp_path / "missing", tmp_path / "file"):
        out = executor.execute_command("pwd", cwd=cwd)
        assert (out.status, out.code, out.output) == ("error", "EXECUTION_FAILED", "")
        assert str(cwd) in out.error


def test_a_cwd_outside_of_the_workspace_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "root2").mkdir()
    (root / "out").symlink_to(tmp_path)
    (root / "in").symlink_to(root / "sub")
    logger = Recorder()
    executor = made(logger, workspace_root=root)
    assert executor.execute_command("pwd").output == f"{root}\n"
    for inside in ("sub", "./sub/.", root / "sub", "in", "sub\\"):
        assert executor.execute_command("pwd", cwd=inside).output == f"{root}/sub\n"
    logger.lines.clear()
    for outside in ("..", "/", tmp_path, tmp_path / "root2", "out", "sub/../..", "..\\root2"):
        with pytest.raises(CommandValidationError, match="outside the workspace") as caught:
            executor.execute_command("touch", ["x"], cwd=outside)
        assert caught.value.code == "EXECUTION_FAILED"
        assert caught.value.details["workspace_root"] == str(root)
    assert logger.at("error") == ["Command validation failed: touch"] * 7
    assert not list(tmp_path.rglob("x"))


def test_c30_output_comes_as_it_is_printed(tmp_path: Path) -> None:
    seen: list[tuple[str, bytes]] = []

    def note(stream: str, chunk: bytes) -> None:
        seen.append((stream, chunk))
        if chunk.endswith(b"ready"):
            go.touch()

    go = tmp_path / "go"
    code = "import os, sys\nos.write(1, b'ready')\nwhile not os.path.exists(sys.argv[1]): pass\nos.write(2, b'steady')"
    out = python(made(), code, str(go), on_output=note)
    assert (out.output, out.error) == ("ready", "steady")
    assert seen == [("stdout", b"ready"), ("stderr", b"steady")]


def test_c30_callbacks_get_exactly_what_is_kept() -> None:
    seen: list[bytes] = []
    flood = "import os\nwhile True: os.write(1, b'x' * 1000)"
    out = python(made(max_output_bytes=12345), flood, on_output=lambda _, chunk: seen.append(chunk))
    assert b"".join(seen).decode() == out.output == "x" * 12345


def test_c38_c41_everything_a_command_starts_ends_with_it(tmp_path: Path) -> None:
    """A grandchild holds the pipes for ten minutes; nobody waits for it, and nobody leaves it."""
    code = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n  open(sys.argv[1], 'w').write(str(os.getpid()))\n  time.sleep(600)\n os._exit(0)\n"
        "while not (os.path.exists(sys.argv[1]) and open(sys.argv[1]).read()): pass\nprint('done')"
    )
    out = python(made(), code, str(tmp_path / "pid"))
    assert (out.status, out.output) == ("success", "done\n")
    assert not exists(int((tmp_path / "pid").read_text()))
    endless = code.replace("print('done')", "os.write(1, b'on'); time.sleep(600)")
    timed = in_time(lambda timeout: python(made(), endless, str(tmp_path / "pid2"), timeout=timeout))
    assert timed.status == "timeout"
    assert not exists(int((tmp_path / "pid2").read_text()))


def test_c38_the_process_is_the_one_that_was_logged() -> None:
    logger = Recorder()
    out = python(made(logger), "import os; print(os.getpid())")
    assert f"Process spawned (pid: {out.output.strip()})" in logger.at("debug")
    wait_until(lambda: not exists(int(out.output)))


def test_c36_ls_with_arguments(tmp_path: Path) -> None:
    (tmp_path / "a-file").touch()
    out = made().execute_command("ls", ["-la"], cwd=tmp_path)
    assert out.status == "success"
    assert "a-file" in out.output
    assert sys.platform == "win32" or out.output.startswith("total")
