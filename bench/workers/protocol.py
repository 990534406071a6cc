"""A server of the protocol over stdin and stdout: protocol CONTESTANT; see CONTESTANTS."""

import atexit
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter
from typing import Any

import agent_exec
from bench import proc
from bench.ground import site
from bench.worker import require, serve

Call = tuple[str, dict[str, object]]

OURS = ("-m", "agent_exec", "mcp", "--sandbox", "full-access")
BOXED = ("-m", "agent_exec", "mcp", "--sandbox", "workspace-write", "--workspace")
DEFAULT = ("-m", "agent_exec", "mcp", "--workspace")
"""Confined, because that works here."""
BARE = ("-m", "bench.workers.bare_server")
HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "0"},
}
EXEC: Call = ("exec_command", {"cmd": "true", "shell": "sh", "login": False})
RUN: Call = ("run", {"command": ["true"]})
PEERS: dict[str, Call] = {
    "mcp-shell-server": ("shell_execute", {"command": ["true"], "directory": "/"}),
    "desktop-commander": ("start_process", {"command": "true", "timeout_ms": 5000, "shell": "sh"}),
}
"""The servers of others by their programs, where they are installed, and what they are asked."""
SETTLED = 1.0
FOLDERS, FILES = 500, 10
"""What a workspace has, and how many in each."""
AGED = 4.0
"""Seconds until what was just made counts as settled, which a workspace is."""


class Server:
    """A server that is spoken to in lines; of what it says, only answers are heard."""

    def __init__(self, *words: str, variables: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            [*((sys.executable,) if words[0] == "-m" else ()), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if variables is None else subprocess.DEVNULL,
            env={**os.environ, **(variables or {})},
        )
        self._last = 0

    def ask(self, method: str, params: object = None) -> None:
        self._last += 1
        self._say({"id": self._last, "method": method} | ({} if params is None else {"params": params}))

    def _say(self, message: dict[str, object]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        message: dict[str, Any] = {}
        while "id" not in message:
            message = json.loads(self.process.stdout.readline())
        require("result" in message, f"it answered {message}")
        found: dict[str, Any] = message["result"]
        return found

    def greet(self) -> None:
        self.ask("initialize", HELLO)
        self.hear()
        self._say({"method": "notifications/initialized"})

    def call(self, name: str, arguments: dict[str, object]) -> None:
        self.ask("tools/call", {"name": name, "arguments": arguments})

    def good(self) -> None:
        told = self.hear()
        structured = told.get("structuredContent") or {"exit_code": 0}  # a peer has none
        require(not told.get("isError") and structured["exit_code"] == 0, f"it answered {told}")

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(30)


def calling(
    words: tuple[str, ...],
    name: str,
    arguments: dict[str, object],
    at_once: int = 1,
    variables: Mapping[str, str] | None = None,
) -> Callable[[], None]:
    """Return what calls a tool of a warm server; so many at once, if so."""
    server = Server(*words, variables=variables)
    atexit.register(server.close)
    server.greet()

    def once() -> None:
        for _ in range(at_once):
            server.call(name, arguments)
        for _ in range(at_once):
            server.good()

    return once


def starting(*words: str) -> Callable[[], None]:
    """Return what starts a server and has it list its tools; it is ended later."""

    def once() -> None:
        server = Server(*words)
        server.greet()
        server.ask("tools/list")
        require(bool(server.hear()["tools"]), "it has no tools")
        atexit.register(server.close)

    return once


def engine(*roots: str) -> Callable[[], None]:
    """Return the same by the engine alone, on a thread as a server has it; confined, if there are roots."""
    found = agent_exec.Engine()
    atexit.register(found.close)
    command = agent_exec.Command(["sh", "-c", "true"], cwd=roots[0] if roots else None)
    box = agent_exec.Profile("workspace-write", roots) if roots else None

    def once() -> None:
        require(found.start(command, sandbox=box).outcome().exit_code == 0, "it failed")

    return once


def workspace(folder: str) -> str:
    """Make a repository of some thousand files, and wait until nothing in it is new."""
    place = os.path.join(folder, "work")
    for number in range(FOLDERS):
        there = os.path.join(place, f"package{number // 20}", f"module{number}")
        os.makedirs(there)
        for file in range(FILES):
            with open(os.path.join(there, f"{file}.py"), "w") as made:
                made.write("pass\n")
    subprocess.run(["git", "init", "-q", place], check=True)
    time.sleep(AGED)
    return place


def memory(*words: str) -> dict[str, object]:
    """Return what an idle server holds, with all its helpers, and what it does in a second."""
    server = Server(*words)
    server.greet()
    server.ask("tools/list")
    server.hear()
    time.sleep(SETTLED)
    pid = server.process.pid
    used = -proc.used(pid)
    time.sleep(SETTLED)
    told: dict[str, object] = {"resident": proc.resident(pid), "own": proc.proportional(pid)}
    told["used"] = used + proc.used(pid)
    server.close()
    return told


def peer(program: str, folder: str) -> Callable[[], None]:
    """Return what has another's server run `true`, with a home of its own."""
    name, arguments = PEERS[program]
    variables = {"HOME": folder, "ALLOW_COMMANDS": "true"}
    return calling((program,), name, arguments, variables=variables)


CONTESTANTS: dict[str, Callable[[str], Callable[[], None]]] = {
    "engine": lambda _: engine(),
    "engine-boxed": lambda folder: engine(workspace(folder)),
    "bare": lambda _: calling(BARE, "nothing", {}),
    "exec": lambda _: calling((*OURS, "--toolset", "session"), *EXEC),
    "exec-boxed": lambda folder: calling((*BOXED, workspace(folder), "--toolset", "session"), *EXEC),
    "exec-20": lambda _: calling((*OURS, "--toolset", "session"), *EXEC, at_once=20),
    "run": lambda _: calling(OURS, *RUN),
    "run-boxed": lambda folder: calling((*BOXED, workspace(folder)), *RUN),
    **{program: partial(peer, program) for program in PEERS},
    "start": lambda _: starting(*OURS),
    "start-boxed": lambda folder: starting(*DEFAULT, workspace(folder)),
    "start-bare": lambda _: starting(*BARE),
}
"""What is measured, each given a folder that a box sees."""


def main(contestant: str) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-jobs-") as root, site() as folder:
        os.environ["AGENT_EXEC_ROOT"] = root
        if contestant == "memory":
            serve(lambda count: memory(*OURS) if count else {})
            return
        once = CONTESTANTS[contestant](folder)

        def block(count: int) -> dict[str, object]:
            seconds: list[float] = []
            for _ in range(count):
                start = perf_counter()
                once()
                seconds.append(perf_counter() - start)
            return {"seconds": seconds}

        serve(block)
        atexit._run_exitfuncs()  # before the folder goes


if __name__ == "__main__":
    main(*sys.argv[1:])
