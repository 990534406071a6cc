"""A running server, and requests to it as any client sends them."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from cli import Cli
from support import wait_until

READY = re.compile(r"at (?P<url>http\S+)\n(.*\n)*?agent-exec: every request .*; TOKEN is in (?P<file>.+)\n")


class Reply:
    """What came back: the status, the fields of the head in lower case, and the object in the body."""

    def __init__(self, answer: HTTPResponse) -> None:
        self.status = answer.status
        self.fields = {name.lower(): value for name, value in answer.getheaders()}
        self.body: Any = json.loads(answer.read() or b"null")


class UnixConnection(HTTPConnection):
    """A connection to a server at a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=60)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(60)
        self.sock.connect(self._path)


class Served:
    """A running server."""

    def __init__(self, process: "subprocess.Popen[bytes]", url: str, token_file: str) -> None:
        self.process = process
        self.url = url
        self.token_file = token_file
        self.token = Path(token_file).read_text().strip()
        self.port = 0 if url.startswith("http+unix") else int(url.rpartition(":")[2])

    def connection(self) -> HTTPConnection:
        """Return a connection to it."""
        if not self.port:
            return UnixConnection(self.url.removeprefix("http+unix://"))
        return HTTPConnection("127.0.0.1", self.port, timeout=60)

    def send(
        self,
        connection: HTTPConnection,
        method: str,
        path: str,
        body: object = None,
        headers: "Mapping[str, str | None] | None" = None,
        token: str | None = None,
    ) -> HTTPResponse:
        """Send a request over a connection, and return the answer, unread."""
        fields: dict[str, str | None] = {"authorization": f"Bearer {self.token if token is None else token}"}
        data = None
        if body is not None:
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            fields["content-type"] = "application/json"
        fields |= headers or {}
        connection.request(
            method, path, data, {name: value for name, value in fields.items() if value is not None}
        )
        return connection.getresponse()

    def __call__(self, method: str, path: str, body: object = None, **more: Any) -> Reply:
        """Send one request; return what comes back."""
        connection = self.connection()
        try:
            return Reply(self.send(connection, method, path, body, **more))
        finally:
            connection.close()

    def run(self, *argv: str, **fields: object) -> dict[str, Any]:
        """Start a job; return the answer."""
        reply = self("POST", "/v1/jobs", {"argv": argv, **fields})
        assert reply.status == 200, reply.body
        found: dict[str, Any] = reply.body
        return found

    @contextmanager
    def stream(self, path: str, last: str | None = None, **more: Any) -> "Iterator[Iterator[Event]]":
        """Read a stream of events, from right after the one with this cursor."""
        connection = self.connection()
        try:
            headers = {"accept": "text/event-stream", "last-event-id": last}
            answer = self.send(connection, "GET", path, headers=headers, **more)
            assert answer.status == 200, answer.read()
            assert answer.getheader("content-type", "").startswith("text/event-stream")
            yield events(answer)
        finally:
            connection.close()


class Event:
    """One event of a stream."""

    def __init__(self, name: str, cursor: str, data: Any) -> None:
        self.name = name
        self.cursor = cursor
        self.data = data


def events(answer: HTTPResponse) -> Iterator[Event]:
    """Yield the events of a stream as a browser reads them."""
    fields: dict[str, str] = {}
    for line in answer:
        text = line.decode().rstrip("\r\n")
        if text.startswith(":"):
            continue
        if text:
            name, _, value = text.partition(": ")
            fields[name] = value
        elif fields:
            yield Event(fields["event"], fields.get("id", ""), json.loads(fields["data"]))
            fields = {}


@contextmanager
def served(
    cli: Cli,
    *words: object,
    address: tuple[object, ...] = ("--port", "0"),
    sandbox: str = "full-access",
    before: str = "",
) -> Iterator[Served]:
    """Start a server in the folder of the program; end it by force if it has not ended.

    `before` is code that its process runs first.
    """
    program = (
        ["-c", f"{before}; from agent_exec.apps.main import main; main()"] if before else ["-m", "agent_exec"]
    )
    argv = [sys.executable, "-P", *program, "serve", *map(str, address), "--sandbox", sandbox]
    state = cli.root.with_name("state")
    with (
        TemporaryFile() as errors,
        subprocess.Popen(
            [*argv, *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            cwd=cli.cwd,
            env={**cli.env, "XDG_STATE_HOME": str(state)},
        ) as process,
    ):

        def said() -> str:
            return os.pread(errors.fileno(), 1 << 20, 0).decode()

        try:
            wait_until(lambda: READY.search(said()) or process.poll() is not None)
            found = READY.search(said())
            assert found, said()
            yield Served(process, found["url"], found["file"])
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
            assert "Traceback" not in said(), said()
