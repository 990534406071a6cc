"""An agent without a model: calls the tools of a server, and counts what a model would read and write."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}


class Agent:
    """Talks to one server over stdin and stdout; counts calls and tokens since `forget`."""

    def __init__(
        self,
        words: Sequence[str],
        folder: Path,
        count: Callable[[str], int],
    ) -> None:
        self._words = [sys.executable, *words] if words[0] == "-m" else [*words]
        self.folder = folder
        self._count = count
        self._last = 0
        self.calls = self.tokens = 0
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._words,
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        hello = self._ask("initialize", HELLO)
        self._say({"method": "notifications/initialized"})
        self.tools: list[dict[str, Any]] = self._ask("tools/list", {})["tools"]
        self.definitions = self._count(hello.get("instructions", "")) + sum(
            self._count(json.dumps([tool["name"], tool.get("description"), tool["inputSchema"]]))
            for tool in self.tools
        )

    def restart(self) -> None:
        """Kill the server, as a crash of the client would, and start another."""
        self._process.kill()
        self._process.wait()
        self._start()

    def forget(self) -> None:
        """Count from zero."""
        self.calls = self.tokens = 0

    def call(self, tool: str, /, **arguments: object) -> str:
        """Call a tool; return what the model reads: the structured answer if there is one, else the text."""
        self.calls += 1
        read = self.unseen(tool, **arguments)
        self.tokens += self._count(json.dumps({"name": tool, "arguments": arguments})) + self._count(read)
        return read

    def unseen(self, tool: str, /, **arguments: object) -> str:
        """Call a tool without counting it: to clean up."""
        found = self._ask("tools/call", {"name": tool, "arguments": arguments})
        if found.get("structuredContent"):
            return json.dumps(found["structuredContent"], ensure_ascii=False)
        return "\n".join(part["text"] for part in found["content"] if part["type"] == "text")

    def _ask(self, method: str, params: object) -> dict[str, Any]:
        self._last += 1
        self._say({"id": self._last, "method": method, "params": params})
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == self._last and "method" not in message:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                found: dict[str, Any] = message["result"]
                return found
        raise RuntimeError(f"the server ended before it answered {method}")

    def _say(self, message: dict[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n")
        self._process.stdin.flush()

    def close(self) -> None:
        """End the server."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
