"""Calls a program as a shell would, and times it."""

import os
from collections.abc import Sequence
from time import monotonic

from bench.worker import require


class Called:
    """What a program printed, when it `started`, and the seconds until its first line and until its end."""

    def __init__(self, argv: Sequence[str]) -> None:
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        reader, writer = os.pipe()
        answered: float | None = None
        printed = b""
        start = monotonic()
        pid = os.posix_spawn(argv[0], [*argv], env, file_actions=[(os.POSIX_SPAWN_DUP2, writer, 1)])
        os.close(writer)
        while data := os.read(reader, 1 << 20):
            printed += data
            if answered is None and b"\n" in data:
                answered = monotonic()
        _, status = os.waitpid(pid, 0)
        exited = monotonic()
        os.close(reader)
        self.printed = printed.decode()
        self.started = start
        self.exited = exited - start
        self.answered = self.exited if answered is None else answered - start
        code = os.waitstatus_to_exitcode(status)
        require(code == 0, f"{argv[0]} exited with {code}, and printed {self.printed[:200]!r}")
