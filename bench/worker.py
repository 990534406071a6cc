"""Both sides of a worker: a process that is told a count, does so many iterations, and answers with a line.

A worker's own start is never measured, because it answers one block before
the measurement begins.
"""

import json
import os
import select
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench import package

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PATIENCE = 60.0


class Misbehaved(Exception):
    """A contestant did the wrong thing, or nothing at all."""


class Worker:
    """A worker, as the bench sees it; to be closed."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, **_import_path(), **(env or {})},
        )

    def ask(self, count: int) -> dict[str, Any]:
        """Have so many iterations done and return the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(b"%d\n" % count)
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Misbehaved("it ended before its time") from None
        # A whole line comes at once or not at all, so nothing of it is left in the buffer.
        if not select.select([self._process.stdout], [], [], _PATIENCE)[0]:
            raise Misbehaved(f"no answer within {_PATIENCE:.0f} s")
        line = self._process.stdout.readline()
        if not line:
            raise Misbehaved("it ended before its time")
        try:
            answer: dict[str, Any] = json.loads(line)
        except ValueError:
            raise Misbehaved(f"it answered {line[:80]!r}") from None
        if "error" in answer:
            raise Misbehaved(str(answer["error"]))
        return answer

    def close(self) -> None:
        """End it, and wait for that."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def serve(block: Callable[[int], Mapping[str, object]]) -> None:
    """Answer blocks until there are no more; what a block raises is its answer."""
    orders, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    # The protocol moves away from 0 and 1, so that no child holds or disturbs it.
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)
    with open(orders, "rb", buffering=0) as source, open(answers, "wb", buffering=0) as sink:
        while line := source.readline():
            try:
                answer = block(int(line))
            except Exception as error:  # a wrong contestant is told of, whatever it raised
                answer = {"error": f"{type(error).__name__}: {error}"}
            sink.write(json.dumps(answer).encode() + b"\n")


def require(condition: bool, what: str) -> None:
    """Call a contestant wrong unless it did what was asked."""
    if not condition:
        raise Misbehaved(what)


def python(module: str, *words: str) -> list[str]:
    """Return the command line of a worker of ours."""
    return [sys.executable, "-m", f"bench.workers.{module}", *words]


def _import_path() -> dict[str, str]:
    """Return the variable that lets a worker import what we import."""
    former = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([ROOT, package.root(), *([former] if former else [])])}
