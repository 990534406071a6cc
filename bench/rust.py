"""The program of the same name in Rust, where BENCH_RUST names it: its calls, and a store of its jobs."""

import json
import os
import shutil
import subprocess
import uuid
from typing import Literal

from bench.commands import Call
from bench.worker import require

RUST = "agent-exec in Rust"


class Rust:
    """Its calls, with a store in this folder; each is None where the program is not on this machine."""

    def __init__(self, folder: str) -> None:
        self._program = shutil.which(os.environ.get("BENCH_RUST", "")) or None
        self.root = os.path.join(folder, "rust")

    def call(
        self, *words: str, expect: str = '"ok":true', until: Literal["exit", "answer"] = "exit"
    ) -> Call | None:
        """Return a call of it."""
        return Call([self._program, "--root", self.root, *words], expect, until) if self._program else None

    def run(self) -> str:
        """Have a job run to its end, and return its id; nothing where it is missing."""
        if self._program is None:
            return ""
        words = [self._program, "--root", self.root, "run", "--", "true"]
        told = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
        require(told["state"] == "exited", f"its job did not run: {told}")
        return str(told["job_id"])

    def fill(self, job_id: str, count: int) -> None:
        """Copy a job until there are so many."""
        if not job_id:
            return
        source = os.path.join(self.root, job_id)
        files = {name: _read(os.path.join(source, name)) for name in os.listdir(source)}
        for _ in range(count - 1):
            copy = uuid.uuid4().hex
            os.mkdir(os.path.join(self.root, copy))
            for name, data in files.items():
                with open(os.path.join(self.root, copy, name), "wb") as file:
                    file.write(data.replace(job_id.encode(), copy.encode()))


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
