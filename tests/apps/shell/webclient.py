"""A server of the shell, and a client of it that speaks HTTP and websockets as a browser does."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

pytest.importorskip("aiohttp", reason="the extra web is not installed")
pytest.importorskip("textual_serve", reason="the extra web is not installed")

import aiohttp

from agent_exec.terminal.screen import Screen
from support import CHILDREN, processes_marked, wait_until

__all__ = [
    "APP",
    "SERVE",
    "STAND_IN",
    "Client",
    "Page",
    "Server",
    "aiohttp",
    "apps",
    "serving",
    "until",
    "visit",
]

Value = TypeVar("Value")
APP = str(CHILDREN / "webapp.py")
SERVE = (
    "import sys; from agent_exec.apps.shell.web.server import serve_app; sys.exit(serve_app(sys.argv[1:]))"
)
STAND_IN = [sys.executable, "-c", SERVE, sys.executable, APP]


class Server:
    """A server that runs."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process
        assert process.stdout is not None
        self.said = process.stdout.readline()
        found = re.search(r"http://(127\.0\.0\.1:(\d+))/\?token=([\w-]+)", self.said)
        assert found, (self.said, process.poll())
        self.host = found[1]
        self.port = int(found[2])
        self.token = found[3]
        self.origin = f"http://{self.host}"
        self.address = f"{self.origin}/?token={self.token}"
        self.cookie = f"agent_exec_{self.port}"

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send it a signal, and return its exit status."""
        self.process.send_signal(number)
        return self.process.wait(20)

    def errors(self) -> str:
        """Return what it has on stderr, once it has ended."""
        assert self.process.stderr is not None
        return self.process.stderr.read()


@contextmanager
def serving(argv: Sequence[str] = STAND_IN, cwd: Path | None = None, **env: str) -> Iterator[Server]:
    """Start a server; end it by force if it has not ended."""
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, **env},
    ) as process:
        try:
            yield Server(process)
        finally:
            process.kill()


class Page:
    """A tab: the socket of an app, and the screen that it draws."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, width: int, height: int) -> None:
        self.socket = socket
        self.screen = Screen(height, width)

    async def type(self, text: str) -> None:
        """Type, with an Enter at the end."""
        await self.socket.send_str(json.dumps(["stdin", text + "\r"]))

    async def sees(self, text: str) -> None:
        """Read until a text is on the screen."""
        try:
            async with asyncio.timeout(30):
                while text not in self.screen.text():
                    message = await self.socket.receive()
                    assert message.type is aiohttp.WSMsgType.BINARY, (message, self.screen.text())
                    self.screen.feed(message.data)
        except TimeoutError:
            raise AssertionError(f"{text!r} is not on the screen:\n{self.screen.text()}") from None

    async def end(self) -> tuple[int, str]:
        """Read until the server hangs up; return the code and the reason."""
        async with asyncio.timeout(30):
            while True:
                message = await self.socket.receive()
                if message.type is aiohttp.WSMsgType.CLOSE:
                    return message.data, message.extra or ""
                assert message.type is aiohttp.WSMsgType.BINARY, message


class Client:
    """A browser that has nothing, until it enters with the address."""

    def __init__(self, server: Server, session: aiohttp.ClientSession) -> None:
        self.server = server
        self.session = session

    async def get(
        self, path: str = "/", *, method: str = "GET", **headers: str
    ) -> tuple[int, str, dict[str, str]]:
        """Return status, text and headers of an answer."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        url = self.server.origin + path
        async with self.session.request(method, url, headers=named, allow_redirects=False) as answer:
            return answer.status, await answer.text(errors="replace"), dict(answer.headers)

    async def enter(self) -> None:
        """Open the address that was printed."""
        assert (await self.get(f"/?token={self.server.token}"))[0] == 200

    @asynccontextmanager
    async def page(
        self, *, token: str | None = None, width: int = 80, height: int = 24, **headers: str
    ) -> AsyncIterator[Page]:
        """Open the socket of an app, with the origin of our own pages unless another is given."""
        query = f"width={width}&height={height}&token={self.server.token if token is None else token}"
        named = {"Origin": self.server.origin, **headers}
        async with self.session.ws_connect(
            f"ws://{self.server.host}/ws?{query}",
            headers={name: value for name, value in named.items() if value},
            max_msg_size=0,
        ) as socket:
            yield Page(socket, width, height)


def visit(server: Server, work: Callable[[Client], Coroutine[Any, Any, Value]]) -> Value:
    """Do some work as a client of a server; return what came of it."""

    async def conversation() -> Value:
        jar = aiohttp.CookieJar(unsafe=True)  # which keeps cookies of addresses that are numbers
        async with aiohttp.ClientSession(cookie_jar=jar) as session, asyncio.timeout(90):
            return await work(Client(server, session))

    return asyncio.run(conversation())


def apps(mark: str) -> list[int]:
    """Return the apps that run."""
    return [pid for pid, words in processes_marked(mark).items() if words.split()[1:] == [APP]]


async def until(condition: Callable[[], object]) -> None:
    """Wait for a condition, and let others work meanwhile."""
    await asyncio.to_thread(wait_until, condition)
