"""A server of small tools that show what the protocol does to them: `python fake.py FOLDER`."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from agent_exec.apps.mcp.main import serve
from agent_exec.model.cancel import Cancel
from agent_exec.model.errors import InvalidArgument
from agent_exec.tools.tool import Result, watch

FLOOD = b"x" * 300_000 + b"\n"
ANY: dict[str, Any] = {"type": "object"}


class Fake:
    """Writes what happens to it into files of a folder."""

    name = "fake"
    instructions = "Only for tests."

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.together = threading.Barrier(50)
        self.waiting: set[int] = set()

    def definitions(self) -> list[dict[str, Any]]:
        names = ("crash", "leave", "meet", "noise", "odd", "refuse", "starve", "wait")
        others = [{"name": name, "description": f"To {name}.", "parameters": ANY} for name in names]
        others[names.index("odd")]["output_schema"] = ANY
        text = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        said = {
            "name": "say",
            "title": "Say",
            "description": "Says it again.",
            "parameters": text,
            "output_schema": text,
            "annotations": {"read_only_hint": True},
        }
        return [said, *others]

    def call(self, name: str, arguments: dict[str, Any], cancelled: Cancel) -> Result:
        if name == "say":
            return Result(arguments["text"], {"text": arguments["text"], "nothing": None})
        if name == "refuse":
            raise InvalidArgument("not so; say it otherwise")
        if name == "crash":
            raise ValueError("a bug")
        if name == "starve":
            raise OSError(24, "Too many open files")
        if name == "leave":
            sys.exit(3)
        if name == "meet":
            self.together.wait(60)
        if name == "odd":
            return Result("a\ud800b", {"a": ["\udc80"], "n": float("nan")})
        if name == "noise":
            return self._noise()
        if name == "wait":
            if arguments.get("unseen"):
                watch(cancelled, "it", self._unseen)
            self.waiting.add(threading.get_ident())
            self._note("waits")
            if cancelled.wait(arguments.get("seconds", 60)):
                self._note("cancelled")
            self.waiting.discard(threading.get_ident())
        return Result("done")

    def close(self) -> None:
        while self.waiting:  # all of them have been told
            time.sleep(0.005)
        self._note("closed")

    def _unseen(self) -> tuple[int, str]:
        self._note("looked")
        raise OSError(24, "too many open files")

    def _note(self, word: str) -> None:
        (self.folder / word).touch()

    def _noise(self) -> Result:
        print("{}")
        sys.stdout.flush()
        os.write(1, FLOOD)
        subprocess.run(["sh", "-c", "cat; echo child; echo child >&2"], check=True)
        return Result(sys.stdin.read())


def _crowded(folder: Path) -> None:
    """Have no thread to give, as a machine that is full of processes, while the file `full` is there."""
    start = threading.Thread.start

    def refuse(self: threading.Thread) -> None:
        if (folder / "full").exists():
            raise RuntimeError("can't start new thread")
        start(self)

    threading.Thread.start = refuse  # type: ignore[method-assign]


if __name__ == "__main__":
    from agent_exec.apps.mcp import server

    _crowded(Path(sys.argv[1]))
    server.PROGRESS_EVERY = 0.05
    os._exit(serve(lambda: Fake(Path(sys.argv[1]))))
