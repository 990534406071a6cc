"""Jobs whose output can be waited for: one that says what it is told to, and one that tells its tree."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cli import Cli
from support import python, wait_until

_CODE = """
import os, sys
with open(sys.argv[1]) as orders:
    for order in orders:
        number, _, text = order.partition(" ")
        if number == "0":
            sys.exit(int(text))
        os.write(int(number), bytes.fromhex(text))
"""


class Talker:
    """The job, once it runs; `out` and `err` return when what they say has been logged."""

    def __init__(self, cli: Cli, orders: int, job_id: str) -> None:
        self._cli = cli
        self._orders = orders
        self.id = job_id

    def out(self, data: bytes) -> None:
        self._say(1, data)

    def err(self, data: bytes) -> None:
        self._say(2, data)

    def end(self, code: int = 0) -> None:
        """Let it end; `wait` tells when it has."""
        os.write(self._orders, b"0 %d\n" % code)

    def _say(self, number: int, data: bytes) -> None:
        log = self._cli.folder(self.id) / ("stdout.log" if number == 1 else "stderr.log")
        size = log.stat().st_size + len(data)
        os.write(self._orders, b"%d %s\n" % (number, data.hex().encode()))
        wait_until(lambda: log.stat().st_size == size)


@contextmanager
def orders(folder: Path) -> Iterator[tuple[int, list[str]]]:
    """Return a descriptor for orders, and the argv of the one who takes them."""
    pipe = folder / "orders"
    os.mkfifo(pipe)
    fd = os.open(pipe, os.O_RDWR)
    try:
        yield fd, python(_CODE, pipe)
    finally:
        os.close(fd)


@contextmanager
def talker(cli: Cli, *options: object) -> Iterator[Talker]:
    """Start such a job."""
    with orders(cli.cwd) as (fd, argv):
        answer = cli("run", "--no-wait", *options, "--", *argv)
        assert answer["ok"], answer
        yield Talker(cli, fd, answer["job_id"])


def pids_of(cli: Cli, job_id: str, count: int) -> list[int]:
    """Return the pids that a job prints, one a line, once there are so many."""
    log = cli.folder(job_id) / "stdout.log"

    def printed() -> list[int]:
        return [int(line) for line in log.read_text().split("\n")[:-1] if line.isdecimal()]

    wait_until(lambda: len(printed()) == count)
    return printed()


def ready(cli: Cli, job_id: str) -> str:
    """Wait until a job has printed `ready`; return its id."""
    wait_until(lambda: b"ready" in (cli.folder(job_id) / "stdout.log").read_bytes())
    return job_id
