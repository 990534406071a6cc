"""A server over HTTP and WebSockets, ours or another's: serve CONTESTANT; see CONTESTANTS."""

import asyncio
import atexit
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from http.client import HTTPConnection
from time import perf_counter
from typing import Any

import agent_exec
from bench.worker import require, serve

Once = Callable[[], None]

CROWD = 500
"""How many requests there are at once."""
LINE, BACK = b"0123456789\n", b"0123456789\r\n"
CAT = "stty -echo; exec cat"
_READY = re.compile(r"at http://127\.0\.0\.1:(\d+)\n(?:.*\n)*?.*TOKEN is in (.+)\n")
_PATIENCE = 30.0


def start(*words: str) -> tuple[int, str]:
    """Start a server of ours, which ends with this process; return its port and its token."""
    folder = tempfile.mkdtemp(prefix="bench-serve-")
    log = os.path.join(folder, "log")
    argv = [sys.executable, "-m", "agent_exec", "serve", "--port", "0", "--sandbox", "full-access"]
    with open(log, "wb") as errors:
        process = subprocess.Popen(
            [*argv, "--workspace", folder, "--token-file", os.path.join(folder, "token"), *words],
            stdin=subprocess.DEVNULL,
            stderr=errors,
            env={**os.environ, "AGENT_EXEC_ROOT": os.path.join(folder, "jobs")},
        )
    ends_with_us(process, folder)
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        with open(log) as text:
            found = _READY.search(text.read())
        if found:
            with open(found[2]) as file:
                return int(found[1]), file.read().strip()
        time.sleep(0.05)
    raise TimeoutError("the server did not start")


def ends_with_us(process: "subprocess.Popen[bytes]", folder: str = "") -> None:
    """Have a server ended at the end of this process."""

    def end() -> None:
        process.terminate()
        process.wait(30)
        if folder:
            subprocess.run(["rm", "-rf", folder], check=True)

    atexit.register(end)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def posting(port: int, path: str, body: object, headers: dict[str, str], good: Callable[[Any], bool]) -> Once:
    """Return what sends one request over a connection that stays open."""
    connection = HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
    data = json.dumps(body)
    head = {"Content-Type": "application/json", **headers}

    def once() -> None:
        try:
            connection.request("POST", path, data, head)
            answer = connection.getresponse()
        except ConnectionError:  # it was idle between two blocks for longer than the server allows
            connection.close()
            connection.request("POST", path, data, head)
            answer = connection.getresponse()
        told = json.loads(answer.read())
        require(answer.status == 200 and good(told), f"it answered {answer.status} {told}")

    return once


def engine() -> Once:
    found = agent_exec.Engine()
    atexit.register(found.close)
    command = agent_exec.Command(["true"])
    return lambda: require(found.start(command).outcome().exit_code == 0, "it failed")


def execute() -> Once:
    port, token = start()
    bearer = {"Authorization": f"Bearer {token}"}
    return posting(port, "/v1/exec", {"command": ["true"]}, bearer, lambda told: told["exit_code"] == 0)


def crowd() -> Once:
    """Return what sends all requests at once, each over a connection of its own."""
    port, token = start()
    body = b'{"command":["true"]}'
    head = f"POST /v1/exec HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"

    async def one() -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head.encode() + body)
        answer = await reader.read()
        writer.close()
        return answer.startswith(b"HTTP/1.1 200") and b'"exit_code":0' in answer

    async def all_of_them() -> None:
        done = await asyncio.gather(*(one() for _ in range(CROWD)), return_exceptions=True)
        failed = [one for one in done if one is not True]
        require(not failed, f"{len(failed)} of {CROWD} requests failed, such as {failed[:1]}")

    return lambda: asyncio.run(all_of_them())


def ours_as_swerex() -> Once:
    port, token = start("--compat", "swerex")
    return swerex_execute(port, token)


def swerex() -> Once:
    port = free_port()
    start_other(port, "swerex-remote", "--host", "127.0.0.1", "--port", str(port), "--auth-token", "bench")
    return swerex_execute(port, "bench")


def swerex_execute(port: int, token: str) -> Once:
    key = {"X-API-Key": token}
    return posting(port, "/execute", {"command": ["true"]}, key, lambda told: told["exit_code"] == 0)


def start_other(port: int, *argv: str) -> None:
    """Start another's server, which ends with this process, and wait until it listens."""
    null = subprocess.DEVNULL
    ends_with_us(subprocess.Popen(argv, stdin=null, stdout=null, stderr=null))
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError("the server did not start")


def echo() -> Once:
    """Return what types a line into a terminal of ours, and reads it back."""
    from websockets.sync.client import connect

    port, token = start()
    head = {"Authorization": f"Bearer {token}"}
    asked = {"cmd": CAT, "tty": True, "login": False, "shell": "sh", "yield_time_ms": 500}
    told: dict[str, Any] = {}
    posting(port, "/v1/sessions", asked, head, lambda answer: told.update(answer) is None)()
    url = f"ws://127.0.0.1:{port}/v1/sessions/{told['session_id']}/terminal"
    wire = connect(url, additional_headers=head, compression=None)
    atexit.register(wire.close)
    wire.send(json.dumps({"type": "take"}))
    while True:
        message = wire.recv(_PATIENCE)
        if isinstance(message, str) and json.loads(message).get("writer") == "you":
            break

    def once() -> None:
        wire.send(LINE)
        heard = b""
        while BACK not in heard:
            message = wire.recv(_PATIENCE)
            heard += message if isinstance(message, bytes) else b""

    return once


def ttyd() -> Once:
    """Return the same by ttyd, whose messages begin with a letter."""
    from websockets.sync.client import connect
    from websockets.typing import Subprotocol

    port = free_port()
    start_other(port, "ttyd", "-i", "127.0.0.1", "-p", str(port), "-W", "sh", "-c", CAT)
    wire = connect(f"ws://127.0.0.1:{port}/ws", subprotocols=[Subprotocol("tty")], compression=None)
    atexit.register(wire.close)
    wire.send(json.dumps({"AuthToken": "", "columns": 80, "rows": 24}).encode())

    def once() -> None:
        wire.send(b"0" + LINE)
        heard = b""
        while BACK not in heard:
            message = wire.recv(_PATIENCE)
            heard += message[1:] if isinstance(message, bytes) and message[:1] == b"0" else b""

    time.sleep(1)  # until cat has the terminal
    return once


CONTESTANTS: dict[str, Callable[[], Once]] = {
    "engine": engine,
    "exec": execute,
    "crowd": crowd,
    "compat": ours_as_swerex,
    "swerex": swerex,
    "echo": echo,
    "ttyd": ttyd,
}


def main(contestant: str) -> None:
    once = CONTESTANTS[contestant]()

    def block(count: int) -> dict[str, object]:
        seconds: list[float] = []
        for _ in range(count):
            begin = perf_counter()
            once()
            seconds.append(perf_counter() - begin)
        return {"seconds": seconds}

    serve(block)


if __name__ == "__main__":
    main(*sys.argv[1:])
