"""Calls a program as a shell would, and times it."""

import os
from collections.abc import Sequence
from time import perf_counter

from bench.worker import require


class Called:
    """What a program printed, and the seconds until its first line and until it had exited."""

    def __init__(self, argv: Sequence[str]) -> None:
        env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        reader, writer = os.pipe()
        answered: float | None = None
        printed = b""
        start = perf_counter()
        pid = os.posix_spawn(argv[0], [*argv], env, file_actions=[(os.POSIX_SPAWN_DUP2, writer, 1)])
        os.close(writer)
        while data := os.read(reader, 1 << 20):
            printed += data
            if answered is None and b"\n" in data:
                answered = perf_counter()
        _, status = os.waitpid(pid, 0)
        exited = perf_counter()
        os.close(reader)
        self.printed = printed.decode()
        self.exited = exited - start
        self.answered = self.exited if answered is None else answered - start
        code = os.waitstatus_to_exitcode(status)
        require(code == 0, f"{argv[0]} exited with {code}, and printed {self.printed[:200]!r}")
