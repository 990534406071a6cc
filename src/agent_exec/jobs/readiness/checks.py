"""A command that says by its exit code whether a job is ready or healthy: run by a process of its own.

That process is no part of the job's tree. For a confined job it runs the
command in a box of its own, by the same profile and in the same network. It runs the command once, with a
time limit, kills all that is left of it, reports, and exits. It ends the
command at once if the process that has started it is gone.
"""

import os
from marshal import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from agent_exec.jobs.start import Detach

    CheckBox = tuple[tuple[dict[str, Any], str, list[str]], list[int]]
    """Profile, store and names of variables, and descriptors of the network of the box, to be closed."""

ENTRY = __name__
_GRACE = 1.0
_SHOWN = 300
_READ = 1


class Check:
    """One run of a check; `lock` is a file by which the job's supervisor knows its process, "" for none."""

    __slots__ = ("_data", "_orders", "_report")

    def __init__(
        self,
        detach: "Detach",
        argv: "Sequence[str]",
        *,
        cwd: str,
        env: "Mapping[bytes, bytes]",
        timeout: float,
        lock: str = "",
        box: "CheckBox | None" = None,
    ) -> None:
        from agent_exec.host import Report
        from agent_exec.jobs.start import send_order

        reader, self._orders = os.pipe()
        self._report = Report()
        self._data = b""
        order, network = (None, []) if box is None else box
        try:
            detach(ENTRY, [reader, self._report.fd, *network])
            send_order(self._orders, (list(argv), cwd, dict(env), timeout, lock, order))
        except BaseException:
            self.close()
            raise
        finally:
            for fd in (reader, *network):
                os.close(fd)
            self._report.listen()

    def poll(self) -> "dict[str, Any] | None":
        """Return how it has ended: `exit_code`, `timed_out`, `output`, its last line; None while it runs."""
        while more := self._report.hear(0):
            self._data += more
        if more is not None:
            return None
        try:
            found: dict[str, Any] = loads(self._data)
        except (EOFError, ValueError, TypeError):
            found = {"exit_code": None, "timed_out": False, "output": "its process was killed"}
        return found

    def close(self) -> None:
        """End it, if it still runs; harmless when repeated."""
        if self._orders >= 0:
            os.close(self._orders)
            self._orders = -1
        self._report.close()


def main(fds: list[int]) -> None:
    """Take the order from the first descriptor, run the command, and report to the second.

    The others are those of the network of its box, if it has one.
    """
    from agent_exec.jobs.start import take_order

    orders, report, *network = fds
    order = take_order(orders)
    if order is not None:
        told = dumps(_run(orders, network, *order))
        while told:
            told = told[os.write(report, told) :]


def _run(
    orders: int,
    network: list[int],
    argv: list[str],
    cwd: str,
    env: dict[bytes, bytes],
    timeout: float,
    lock: str,
    box: "tuple[dict[str, Any], str, list[str]] | None",
) -> "dict[str, Any]":
    from agent_exec.engine.loop import Loop
    from agent_exec.engine.run import Run
    from agent_exec.host import FileLock, LocalSpawner
    from agent_exec.model.command import Command, Limits
    from agent_exec.model.errors import AgentExecError
    from agent_exec.model.output import Tail, newest_line

    held = FileLock(lock) if lock else None
    if held is not None:
        held.acquire(wait=True)
        held.sign()
    spawner: Any = LocalSpawner()
    guard = None
    loop = Loop(many=False, wakeable=True)
    command = Command(argv, cwd=cwd, env=env, limits=Limits(timeout=timeout, grace=_GRACE), keep=Tail(4096))
    try:
        if box is not None:
            from agent_exec.jobs.confined_job import BoxedSpawner

            spawner = BoxedSpawner(-1, *box, network)
            spawner.start(argv, cwd, env)
            guard = spawner.guard
        run = Run(command, spawner.prepare(command), loop, spawner, lambda _run: None, guard=guard)
        loop.watch(orders, _READ, lambda _events: _give_up(loop, orders, run))
        run.launch()
        while not run.done:
            loop.turn()
        outcome = run.outcome()
    except AgentExecError as error:
        spawner.abandon()
        return {"exit_code": None, "timed_out": False, "output": error.message[:_SHOWN]}
    if box is not None:
        spawner.close()
    text = (outcome.stdout + outcome.stderr).decode("utf-8", "replace")
    return {
        "exit_code": outcome.exit_code if not outcome.signal else None,
        "timed_out": outcome.timed_out,
        "output": newest_line(text)[:_SHOWN],
    }


def _give_up(loop: "Any", orders: int, run: "Any") -> None:
    """End the command: the process that has asked for it is gone, or wants it no more."""
    loop.unwatch(orders)
    run.kill()
