"""A client of the server: the SDK's own over a real process, or bare lines."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

pytest.importorskip("mcp", reason="the SDK of the protocol is not installed")

import anyio
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextContent

from support import wait_until
from warmstart import WARMSTART

__all__ = [
    "ERAS",
    "FAKE",
    "Bare",
    "Client",
    "anyio",
    "bare",
    "jobs",
    "lean",
    "oneshot",
    "talk",
    "text",
    "until",
]

Value = TypeVar("Value")
ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])
FAKE = (str(Path(__file__).with_name("fake.py")),)
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "0"},
}

warm = ""
"""The name of the process that servers are copies of."""


def python(*words: object) -> list[str]:
    """Return the argv of a server that does what `python WORDS…` does, and is there sooner."""
    start = [sys.executable, "-IS", WARMSTART, warm] if warm else [sys.executable]
    return [*start, *map(str, words)]


def oneshot(*words: object) -> tuple[str, ...]:
    """Return the words after `python` that serve the toolset oneshot to a program."""
    return jobs("--toolset", "oneshot", *words)


def jobs(*words: object) -> tuple[str, ...]:
    """Return the words after `python` that serve a toolset, or jobs, to a program: with objects beside texts."""
    toolset = () if "--toolset" in words else ("--toolset", "jobs")
    return lean("--output-schemas", *toolset, *words)


def lean(*words: object) -> tuple[str, ...]:
    """Return the words after `python` that serve the default toolset to a model."""
    return ("-m", "agent_exec", "mcp", *map(str, words))


def talk(
    work: Callable[[Client], Awaitable[Value]],
    *words: object,
    mode: str = "legacy",
    cwd: Path | None = None,
    **able: Any,
) -> Value:
    """Start a server, do some work as its client, hang up; return what came of it.

    `able` is what the client can do besides, as the SDK names it.
    """

    async def conversation() -> Value:
        program, *rest = python(*words)
        started = StdioServerParameters(command=program, args=rest, env=dict(os.environ), cwd=cwd)
        with anyio.fail_after(60):
            async with Client(started, mode=mode, **able) as client:
                return await work(client)

    try:
        return anyio.run(conversation)
    finally:  # whoever has waited for the server's process may take a moment to go
        wait_until(lambda: not any(one.name.startswith("asyncio-waitpid") for one in threading.enumerate()))


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, and let others work meanwhile."""
    with anyio.fail_after(20):
        while not condition():
            await anyio.sleep(0.005)


def text(result: CallToolResult) -> str:
    """Return the one text of a result."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


class Bare:
    """A server, spoken to in lines."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self.last = 0

    def say(self, line: bytes) -> None:
        """Write a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, params: object = None, *, notify: bool = False) -> None:
        """Send a request, or a notification."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        if not notify:
            self.last += 1
            message["id"] = self.last
        self.say(json.dumps(message).encode())

    def hear(self) -> dict[str, Any]:
        """Return the next message."""
        assert self.process.stdout is not None
        message: dict[str, Any] = json.loads(self.process.stdout.readline())
        return message

    def greet(self) -> dict[str, Any]:
        """Shake hands."""
        self.send("initialize", HELLO)
        answer = self.hear()
        self.send("notifications/initialized", notify=True)
        return answer

    def call(self, name: str, **arguments: object) -> None:
        """Ask for a call of a tool."""
        self.send("tools/call", {"name": name, "arguments": arguments})

    def hang_up(self) -> None:
        """Close the server's stdin."""
        assert self.process.stdin is not None
        self.process.stdin.close()


@contextmanager
def bare(*words: object, cwd: Path | None = None, before: Sequence[str] = ()) -> Iterator[Bare]:
    """Start a server that is spoken to in lines; end it by force if it has not ended.

    `before` are words that start a program which starts it.
    """
    with subprocess.Popen(
        [*before, sys.executable, *map(str, words)] if before else python(*words),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
    ) as process:
        try:
            yield Bare(process)
        finally:
            process.kill()
            process.wait()


async def meet(client: Client) -> None:
    """Have fifty calls wait for each other, and all of them answered."""
    done = []

    async def call() -> None:
        done.append(text(await client.call_tool("meet")))

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(call)
    assert done == ["done"] * 50
