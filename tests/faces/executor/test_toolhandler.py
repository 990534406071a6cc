"""The tool as an agent calls it."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agent_exec.faces.executor.errors import CommandExecutionError, CommandValidationError, ToolTypeError
from agent_exec.faces.executor.toolhandler import ToolHandler
from agent_exec.model.errors import InvalidArgument
from faces.executor.recorder import ENDLESS, made


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
