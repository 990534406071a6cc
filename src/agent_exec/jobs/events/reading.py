"""Reads the event log from a cursor on; adds what a supervisor that is gone could not write."""

import os
from time import sleep, time

from agent_exec.jobs.events import (
    BEGINNING,
    FOLDER,
    SEGMENT,
    creation_fields,
    ending_fields,
    event,
    event_id,
    segments,
)
from agent_exec.jobs.record import stamp
from agent_exec.jobs.store import short
from agent_exec.logs.stream import open_to_read
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.jsonline import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any

    from agent_exec.jobs.record import Record
    from agent_exec.jobs.store import Store

    Event = dict[str, Any]

START = "start"
NOW = "now"
_BLOCK = 1 << 18
_MOMENT = 0.01
_MOST_KNOWN = 64
"""How many jobs a cursor names of which it has shown an event that is not in the log."""


class EventReader:
    """One reader of a store's events, at a place in the log; nothing is changed by reading.

    `job` and `kinds` say which events are wanted: none means all.
    """

    def __init__(
        self, store: "Store", since: str = START, *, job: str | None = None, kinds: "Collection[str]" = ()
    ) -> None:
        self._store = store
        self._folder = os.path.join(store.root, FOLDER)
        self._job = job
        self._kinds = frozenset(kinds)
        self._known: list[str] = []  # the ends of the ids of jobs whose missing event was shown
        known = segments(self._folder)
        if since == START:
            self._segment, self._offset = (known[0] if known else 1), 0
        elif since == NOW:
            self._segment, self._offset = (known[-1] if known else 1), 0
            self._offset = min(self._size(), SEGMENT)
            self._known = [short(one.id) for one in self._gone()]
        else:
            self._segment, self._offset, self._known = _parse(since)
            newest = known[-1] if known else 1
            if self._segment > newest + 1 or (self._segment == newest and self._offset > self._size()):
                raise InvalidArgument(
                    f"cursor {since!r} is not of this store's log, or the log was deleted; leave it out",
                    cursor=since,
                )

    @property
    def cursor(self) -> str:
        """The place after the last event that was read."""
        return "-".join((f"{self._segment:x}", f"{self._offset:x}", *self._known))

    def read(self) -> "Iterator[Event]":
        """Return the events up to the end of the log, then those that are missing there.

        `cursor` is the place after each, once it was returned.
        """
        seen: set[str] = set()
        for found in self._logged():
            seen.add(found["id"])
            if self._wants(found):
                yield found
        yield from self.missing(seen)

    def missing(self, seen: "Collection[str]" = ()) -> "Iterator[Event]":
        """Return an event for each job whose supervisor is gone and has not written how it ended, once."""
        gone = self._gone()
        ends = {short(job.id) for job in gone}
        self._known = [one for one in self._known if one in ends][-_MOST_KNOWN:]
        for job in gone:
            if short(job.id) in self._known:
                continue
            found = closing_event(job)
            self._known.append(short(job.id))
            if found["id"] not in seen and self._wants(found):
                yield found

    def _gone(self) -> "list[Record]":
        """Return the jobs that the index of live ones names although their supervisor is gone."""
        from agent_exec.host import is_locked
        from agent_exec.jobs.record import LOCK
        from agent_exec.jobs.store import LIVE

        live = os.path.join(self._store.root, LIVE)
        found = [job for job in map(self._store.read, self._store.live_ids()) if job is not None]
        return [
            job
            for job in found
            if job.supervisor == "lost"
            # In this order: a supervisor that has written its last event leaves the index before it goes.
            or (
                job.ended
                and not is_locked(os.path.join(job.folder, LOCK))
                and os.path.exists(os.path.join(live, job.id))
            )
        ]

    def _wants(self, found: "Event") -> bool:
        if found["kind"] == "gap":
            return True
        return (self._job is None or found["job_id"] == self._job) and (
            not self._kinds or found["kind"] in self._kinds
        )

    def _logged(self) -> "Iterator[Event]":
        patient = True
        while True:
            try:
                fd = open_to_read(os.path.join(self._folder, str(self._segment)))
            except OSError:
                known = [number for number in segments(self._folder) if number > self._segment]
                if not known:
                    return  # no event has come yet
                self._segment, self._offset = known[0], 0
                yield _gap(self.cursor, "the log has dropped events that were not read yet")
                continue
            try:
                yield from self._lines(fd)
                size = os.fstat(fd).st_size
            finally:
                os.close(fd)
            following = os.path.exists(os.path.join(self._folder, str(self._segment + 1)))
            if self._offset < SEGMENT and not (size >= SEGMENT and following):
                return
            if self._offset < SEGMENT:
                if patient:
                    patient = False
                    sleep(_MOMENT)  # the last line is being written just now, or a full disk has cut it off
                    continue
                yield _gap(self.cursor, "a full disk has cut off an event")
            self._segment, self._offset, patient = self._segment + 1, 0, True

    def _lines(self, fd: int) -> "Iterator[Event]":
        """Return the events of a segment from our offset on; the offset follows."""
        os.lseek(fd, self._offset, os.SEEK_SET)
        rest, whole = b"", True
        while self._offset < SEGMENT and (data := os.read(fd, _BLOCK)):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                begin = max(0, line.rfind(BEGINNING))
                counts = self._offset + begin < SEGMENT
                self._offset += len(line) + 1
                found = _event(line[begin:]) if counts else None
                if whole and (begin or (counts and found is None)):
                    yield _gap(self.cursor, "a full disk has cut off an event")
                whole = found is not None
                if found is not None:
                    yield found
                if self._offset >= SEGMENT:
                    return

    def _size(self) -> int:
        try:
            return os.lstat(os.path.join(self._folder, str(self._segment))).st_size
        except OSError:
            return 0


def closing_event(job: "Record") -> "Event":
    """Return the last event of a job whose supervisor is gone: how it ended, or that this is not known."""
    again = {"attempt": job.attempt} if job.attempt > 1 else {}
    if job.ended and job.reason != "supervisor_lost":
        fields = {**again, **ending_fields(job.facts)}
        found = event(event_id(job.id, job.attempt, "ended"), "ended", job.id, fields)
        return found | {"time": job.facts.get("finished_at", found["time"])}
    fields = {**again, "state": job.state, "reason": "supervisor_lost", **creation_fields(job.facts)}
    return event(event_id(job.id, job.attempt, "lost"), "lost", job.id, fields)


def _event(line: bytes) -> "Event | None":
    try:
        found = load(line.decode())
    except (ValueError, RecursionError):
        return None
    known = isinstance(found, dict) and all(
        isinstance(found.get(one), str) for one in ("id", "kind", "job_id")
    )
    return found if known else None


def _gap(cursor: str, message: str) -> "Event":
    return {"id": f"gap.{cursor}", "kind": "gap", "time": stamp(time()), "message": message}


def _parse(text: str) -> tuple[int, int, list[str]]:
    try:
        segment, offset, *known = text.split("-")
        if not all(one.isalnum() for one in known):
            raise ValueError(text)
        return int(segment, 16), int(offset, 16), known
    except ValueError:
        raise InvalidArgument(
            f"{text[:80]!r} is not a cursor of events; use the one of an answer, {START} or {NOW}",
            cursor=text,
        ) from None
