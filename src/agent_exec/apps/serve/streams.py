"""Streams of events over HTTP: a job's output, and what happens to jobs; each event has a cursor.

A client that was cut off sends the last cursor it has seen as Last-Event-ID,
and goes on right behind it.
"""

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from agent_exec.apps.serve.problems import of_error
from agent_exec.engine.awaiting import in_thread
from agent_exec.faces.answers import of_the_system
from agent_exec.host import Changes
from agent_exec.jobs.follow import Attempt, Follower, Gap
from agent_exec.model.cancel import Cancel
from agent_exec.model.errors import AgentExecError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from agent_exec.apps.serve.service import Service
    from agent_exec.apps.web.events import Event

_LOOK = 1.0
"""Seconds between looks at a job that prints nothing: its supervisor may have been killed."""


async def ended(events: "AsyncGenerator[Event, None]") -> "AsyncGenerator[Event, None]":
    """Return events, the last of which is `error` if something goes wrong meanwhile."""
    async with aclosing(events) as found:
        try:
            async for event in found:
                yield event
        except (AgentExecError, OSError) as error:  # such as a job that was deleted meanwhile
            known = error if isinstance(error, AgentExecError) else of_the_system(error)
            yield "error", of_error(known)[1], ""


def job_output(
    service: "Service", job_id: str, cursor: str | None, attempt: int | None = None
) -> "AsyncGenerator[Event, None]":
    """Return a job's output in the order in which it came, from a cursor or the beginning on, and its end."""
    return _output(service, Follower(service.jobs.store, job_id, cursor, attempt))


async def _output(service: "Service", follower: Follower) -> "AsyncGenerator[Event, None]":
    watching = Watching(follower.job.home)
    try:
        while True:
            for found in follower.read():
                if isinstance(found, Attempt):
                    watching.close()
                    watching = Watching(follower.job.home)
                    yield "attempt", {"job_id": follower.job.id, "attempt": found.number}, ""
                elif isinstance(found, Gap):
                    yield "gap", {"stream": found.stream, "bytes": found.size}, ""
                else:
                    end = follower.offsets[found.stream]
                    data = {
                        "stream": found.stream,
                        "from": end - len(found.data),
                        "to": end,
                        "text": found.data.decode("utf-8", "replace"),
                    }
                    yield "output", data, follower.cursor
            if follower.job.ended:
                yield "end", service.jobs.status(follower.job.id), follower.cursor
                return
            await watching.wait(_LOOK)
    finally:
        watching.close()


def job_events(service: "Service", given: "dict[str, Any]") -> "AsyncGenerator[Event, None]":
    """Return what happens to jobs, from a cursor or from now on, without end."""
    cancel = Cancel()
    asked = {name: value for name, value in given.items() if name != "limit"}
    return _followed(service, service.jobs.follow_events(**asked, cancel=cancel), cancel)


async def _followed(
    service: "Service", found: "Iterator[dict[str, Any]]", cancel: Cancel
) -> "AsyncGenerator[Event, None]":
    try:
        while (event := await in_thread(lambda: next(found, None), cancel.set)) is not None:
            if service.reaches(str(event.get("job_id", ""))):
                yield event["kind"], event, event["cursor"]
    finally:
        cancel.set()


class Watching:
    """Waits for changes in a folder, in the event loop; to be closed."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._changes = Changes(folder)
        self._changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        if self._changes.fd >= 0:
            self._loop.add_reader(self._changes.fd, self._note)

    def _note(self) -> None:
        self._changes.read()
        self._changed.set()

    async def wait(self, seconds: float) -> None:
        """Wait until something has changed since the last time, at most so long."""
        try:
            async with asyncio.timeout(seconds if self._changes.fd >= 0 else min(seconds, 0.1)):
                await self._changed.wait()
        except TimeoutError:
            pass
        self._changed.clear()

    def close(self) -> None:
        """Wait no more; harmless when repeated."""
        if self._changes.fd >= 0:
            self._loop.remove_reader(self._changes.fd)
        self._changes.close()
