"""A server over real HTTP, and the SDK's own client of it, or bare requests."""

import json
import os
import re
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the SDK of the protocol is not installed")

import anyio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from apps.mcp.talking import HELLO, python
from support import wait_until

FAKE_HTTP = (str(Path(__file__).with_name("fake_http.py")),)
READY = re.compile(
    r"at (?P<url>http://\S+)\n(.*\n)*?agent-exec: every request .*; TOKEN is in (?P<file>.+)\n"
)
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


class Served:
    """A running server."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", url: str, token: str, said: Callable[[], str]
    ) -> None:
        self.process = process
        self.said = said
        self.url = url
        self.token = token
        self.host, _, port = url[7:].partition("/")[0].rpartition(":")
        self.port = int(port)

    @asynccontextmanager
    async def client(
        self, mode: str = "legacy", name: str = "", path: str = "", **settings: Any
    ) -> AsyncIterator[Client]:
        """Be a client of it."""
        headers = {"authorization": f"Bearer {self.token}"}
        info = Implementation(name=name or "test", version="0")
        async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
            transport = streamable_http_client(self.url + path, http_client=http)
            async with Client(transport, mode=mode, client_info=info, **settings) as client:
                yield client

    def request(
        self,
        method: str = "POST",
        body: object = b"",
        headers: "Mapping[str, str | None] | None" = None,
        path: str = "/mcp",
    ) -> tuple[int, dict[str, str], bytes]:
        """Send one request; return status, fields and body of the answer."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        fields: dict[str, str | None] = {"authorization": f"Bearer {self.token}", **ACCEPT, **(headers or {})}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(
                method, path, data, {name: value for name, value in fields.items() if value is not None}
            )
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def greet(self) -> str:
        """Begin a session by hand; return its id."""
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
        status, fields, _ = self.request(body=hello)
        assert status == 200
        return fields["mcp-session-id"]

    def connect(self) -> socket.socket:
        """Return a bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)


@contextmanager
def served(*words: object, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Iterator[Served]:
    """Start a server and wait until it is ready; end it by force if it has not ended."""
    with (
        TemporaryDirectory() as state,  # for the token
        TemporaryFile() as errors,  # which is never full
        subprocess.Popen(
            python(*words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=cwd,
            env={**os.environ, "XDG_STATE_HOME": state, **(env or {})},
        ) as process,
    ):

        def said() -> str:
            return os.pread(errors.fileno(), 1 << 20, 0).decode()

        try:
            wait_until(lambda: READY.search(said()) or process.poll() is not None)
            found = READY.search(said())
            assert found, said()
            yield Served(process, found["url"], Path(found["file"]).read_text().strip(), said)
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            assert process.stdout.read() == b""


def over_http(*words: object) -> tuple[str, ...]:
    """Return the words after `python` that serve over HTTP at any port."""
    return ("-m", "agent_exec", "mcp", "--output-schemas", "--http", "--port", "0", *map(str, words))


def talk(work: Any, *, seconds: float = 60) -> Any:
    """Do some work, asynchronously, within a time."""

    async def limited() -> Any:
        with anyio.fail_after(seconds):
            return await work()

    return anyio.run(limited)
