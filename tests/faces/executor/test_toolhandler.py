"""The tool as an agent calls it."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agent_exec.faces.executor import toolhandler
from agent_exec.faces.executor.errors import CommandExecutionError, CommandValidationError, ToolTypeError
from agent_exec.faces.executor.toolhandler import ToolHandler
from agent_exec.model.cancel import Cancel
from agent_exec.model.errors import InvalidArgument
from faces.executor.recorder import ENDLESS, made
from support import wait_until


def test_c31_the_handler_passes_all_four(tmp_path: Path) -> None:
    handler = ToolHandler(made())
    assert handler.command_timeout_ms == 300000
    call = {"command": "python3", "args": ["-IS", "-c", ENDLESS], "timeout": 50, "cwd": str(tmp_path)}
    assert handler.execute_command(call).status == "timeout"
    assert (
        handler.handle("execute_command", {"command": "pwd", "cwd": str(tmp_path)}).output == f"{tmp_path}\n"
    )
    assert handler.handle("execute_command", {"command": "echo"}).to_wire()["exitCode"] == 0


@pytest.mark.parametrize("given", [{}, {"timeout": None}, {"timeout": 0}])
def test_c31_the_timeout_is_the_events_or_the_handlers(given: dict[str, object]) -> None:
    endless = {"command": "python3", "args": ["-IS", "-c", ENDLESS], **given}
    assert ToolHandler(made(), command_timeout_ms=50).handle("execute_command", endless).code == "TIMEOUT"
    assert ToolHandler(made(), command_timeout_ms=0).command_timeout_ms == 300000


def test_c31_c39_calls_beyond_the_limit_wait_in_order() -> None:
    executor = made(max_concurrent=1)
    handler = ToolHandler(executor)

    async def main() -> list[str]:
        calls = [
            handler.handle_async("execute_command", {"command": "echo", "args": [str(i)]}) for i in range(6)
        ]
        return [out.output for out in await asyncio.gather(*calls)]

    with executor:
        assert asyncio.run(main()) == [f"{i}\n" for i in range(6)]
        with ThreadPoolExecutor(6) as pool:
            outs = list(
                pool.map(lambda i: handler.execute_command({"command": "echo", "args": [str(i)]}), range(6))
            )
        assert [out.output for out in outs] == [f"{i}\n" for i in range(6)]


def test_c31_what_is_refused_is_raised_by_the_handler_too() -> None:
    handler = ToolHandler(made())
    with pytest.raises(ToolTypeError) as caught:
        handler.handle("read_file", {"path": "x"})
    assert isinstance(caught.value, CommandExecutionError)
    assert (caught.value.code, caught.value.details) == ("TOOL_NOT_FOUND", {"tool": "read_file"})
    with pytest.raises(ToolTypeError):
        asyncio.run(handler.handle_async("", {}))
    with pytest.raises(CommandValidationError):
        handler.handle("execute_command", {"command": "sudo"})
    bad_calls: list[object] = [
        {},
        {"args": []},
        {"command": "echo", "env": {}},
        ["echo"],
        None,
        {"command": 5},
        {"command": "echo", "timeout": -1},
    ]
    for bad in bad_calls:
        with pytest.raises(InvalidArgument):
            handler.handle("execute_command", bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument):
        ToolHandler(made(), command_timeout_ms=-1)


def served(tmp_path: Path, **arguments: object) -> dict[str, Any]:
    """Call it as a server does, and return the object, whose output is in the text too."""
    with made() as executor:
        result = ToolHandler(executor, roots=[str(tmp_path)]).call("execute_command", arguments, Cancel())
    assert result.structured is not None
    found: dict[str, Any] = result.structured
    assert found["output"].rstrip("\n") in result.text
    assert found["error"].rstrip("\n") in result.text
    assert result.is_error is (found["status"] == "error" and found["exitCode"] is None)
    return found


def test_a_server_gets_answers_and_no_errors(tmp_path: Path) -> None:
    assert served(tmp_path, command="pwd")["output"] == f"{tmp_path}\n"
    assert served(tmp_path, command="ls", args=["nothing"])["status"] == "error"
    for arguments, code, said in (
        ({"command": "sudo"}, "COMMAND_BLACKLISTED", "it is blacklisted; use a program that is on the list"),
        ({"command": "pwd", "cwd": ".."}, "invalid_argument", "outside of the workspace"),
        ({"command": "pwd", "timeout": 1.5}, "invalid_argument", "timeout must be a whole number, 0 or more"),
        ({"command": "pwd", "cwd": "none"}, "EXECUTION_FAILED", "no working directory"),
    ):
        told = served(tmp_path, **arguments)
        assert (told["status"], told["code"], told["exitCode"]) == ("error", code, None)
        assert said in told["error"]


def test_what_a_server_offers(tmp_path: Path) -> None:
    with made(max_concurrent=2) as executor:
        handler = ToolHandler(executor, command_timeout_ms=5_000)
        assert "at most 5 s; 2 run at once" in handler.instructions
        (tool,) = handler.definitions()
        assert (handler.name, tool["name"]) == ("executor", "execute_command")
        asked = {"command": "pwd", "cwd": str(tmp_path)}
        done = handler.call("execute_command", asked, Cancel())
        assert (done.structured or {})["output"] == f"{tmp_path}\n"
        handler.close()
        closed = handler.call("execute_command", asked, Cancel())
        assert (closed.is_error, (closed.structured or {})["code"]) == (True, "invalid_state")


def test_a_call_of_a_server_whose_turn_does_not_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolhandler, "MARGIN", 0.0)
    holder = Cancel()
    with made(max_concurrent=1) as executor:
        line = f"open({str(tmp_path / 'runs')!r}, 'w'); {ENDLESS}"
        first = threading.Thread(
            target=lambda: executor.execute_command("python3", ["-IS", "-c", line], cancelled=holder)
        )
        first.start()
        wait_until((tmp_path / "runs").exists)
        handler = ToolHandler(executor, command_timeout_ms=50)
        told = handler.call("execute_command", {"command": "pwd"}, Cancel()).structured or {}
        holder.set()
        first.join()
    assert (told["code"], told["exitCode"]) == ("CONCURRENT_LIMIT_EXCEEDED", None)
    assert "try again later" in told["error"]
