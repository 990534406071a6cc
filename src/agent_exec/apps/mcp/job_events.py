"""Tells a client of the jobs that it has left running: in its log, and as changed resources."""

from threading import Lock

from agent_exec.apps.mcp.notices import on_line, parts_of
from agent_exec.apps.mcp.resources import SCHEME
from agent_exec.apps.mcp.rpc import clean
from agent_exec.model.errors import AgentExecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.mcp.clock import Clock, Tick
    from agent_exec.apps.mcp.connection import Connection, Request
    from agent_exec.apps.mcp.notices import Notices
    from agent_exec.apps.mcp.subscriptions import Watching
    from agent_exec.jobs.events.reading import EventReader
    from agent_exec.tools.tool import Result, Toolset

EVERY = 0.5
"""Seconds between two looks, while a job of a client runs."""
_MOST = 256
"""How many jobs are looked after; of more, the oldest are forgotten."""
_LIVE = ("created", "running")


class JobEvents:
    """The live jobs of one server's clients; nothing is looked at while there are none.

    Clients of the later protocol, which hear nothing outside of their requests, subscribe to resources.
    """

    def __init__(self, toolset: "Toolset", clock: "Clock", watching: "Watching", notices: "Notices") -> None:
        self._toolset = toolset
        self._clock = clock
        self._watching = watching
        self._notices = notices
        self._lock = Lock()
        self._live: dict[str, Connection] = {}
        self._reader: EventReader | None = None
        self._tick: Tick | None = None

    def look(self, request: "Request", answer: "Result") -> None:
        """Take note of the jobs in an answer: the client is notified of those that run from now on."""
        for part in () if request.modern else parts_of(answer.structured or {}):
            job_id, state = part.get("job_id"), part.get("state")
            if not isinstance(job_id, str) or state is None:
                continue
            if state in _LIVE:
                try:
                    self._add(job_id, request.connection)
                except (AgentExecError, OSError):
                    continue  # a store that cannot be read now: the call itself has its answer
            else:
                with self._lock:
                    self._live.pop(job_id, None)

    def _add(self, job_id: str, client: "Connection") -> None:
        jobs = self._jobs()
        if jobs is None:
            return
        from agent_exec.jobs.events.reading import NOW, EventReader

        with self._lock:
            known = job_id in self._live
            self._live[job_id] = client
            while len(self._live) > _MOST:
                del self._live[next(iter(self._live))]
            if self._reader is None:
                self._reader = EventReader(jobs.store, NOW)
                self._tick = self._clock.every(EVERY, self._read)
        # It may have ended before there was a reader.
        found = None if known else jobs.store.read(job_id)
        if found is not None and found.ended:
            self._tell({"kind": "ended", "job_id": job_id, **found.facts, "state": found.state})

    def _jobs(self) -> "Any":
        """Return the jobs of the toolset, if it has some."""
        parts: tuple[Any, ...] = getattr(self._toolset, "parts", (self._toolset,))
        return next((part.jobs for part in parts if part.name == "jobs"), None)

    def _read(self) -> None:
        """Look what has happened; stop looking once no job is left."""
        with self._lock:
            reader = self._reader
            if not self._live or reader is None:
                self._clock.stop(self._tick)
                self._reader = None
                return
        try:
            for event in reader.read():
                self._tell(event)
        except (AgentExecError, OSError):
            return  # it is looked at again

    def _tell(self, event: "dict[str, Any]") -> None:
        """Tell the client whose job it is."""
        job_id = event.get("job_id", "")
        said = _said(event)
        with self._lock:
            client = self._live.get(job_id)
            if event["kind"] in ("ended", "lost"):
                self._live.pop(job_id, None)
        if client is None or not said:
            return
        if self._notices.hears_info:
            told = {"level": "info", "logger": "agent-exec", "data": clean(on_line(said))}
            client.notify("notifications/message", told)
        self._watching.tell(f"{SCHEME}://jobs/{job_id}/")


def _said(event: "dict[str, Any]") -> str:
    """Return the text of an event for a person; empty for one that is not shown."""
    from agent_exec.jobs.store import short

    job = f"job {short(event.get('job_id', ''))}"
    kind, details = event["kind"], event.get("details", {})
    if kind == "ended":
        how = event.get("signal") or event.get("exit_code")
        return f"{job} has ended: {event['state']}{'' if how is None else f' {how}'}"
    if kind == "output-match" and "line" in details:
        return f"{job} has printed: {details['line']}"
    said = {"lost": "has lost its supervisor", "ready": "is ready", "retrying": "is tried again"}
    said |= {"healthy": "is healthy", "unhealthy": "is unhealthy"}
    return f"{job} {said[kind]}" if kind in said else ""
