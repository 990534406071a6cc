"""The event log of a store: a line for each change of a job, appended by any process, read by any number.

The log is in segments, files named after their numbers. A line counts if it
begins before a segment's limit; the writer sees where its line came to lie,
and writes one that came too late into the next segment. So no lock is needed,
every event is in exactly one place, and a cursor is a segment and an offset.
"""

import os
from time import time

from agent_exec.jobs.record import stamp
from agent_exec.logs.stream import FLAGS
from agent_exec.model.jsonline import dump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_exec.jobs.store import Store

FOLDER = ".events"
NOTIFY = ".notify"
"""The index of jobs with notifications to deliver."""
SEGMENT = 1 << 20
"""A line that begins at this offset of a segment, or later, does not count."""
KEPT = 8
"""How many segments are kept."""
BEGINNING = b'{"id":"'
"""How every line begins, and what no line holds anywhere else."""

_LONGEST_COMMAND = 1024


def segments(folder: str) -> list[int]:
    """Return the numbers of all segments, the oldest first; none if there is no log."""
    try:
        return sorted(int(name) for name in os.listdir(folder) if name.isdecimal())
    except FileNotFoundError:
        return []


def append(root: str, lines: "Sequence[bytes]") -> int:
    """Append lines to the log of a store, each in one piece; return how many could not be written."""
    left = list(lines)
    folder = os.path.join(root, FOLDER)
    try:
        known = segments(folder)
        if not known:
            _make(folder)
        number = known[-1] if known else 1
        while left:
            left = _put(folder, number, left)
            number += 1
    except OSError:
        pass  # a full disk, or no right to write: a job goes on without
    return len(left)


def _make(folder: str) -> None:
    """Make the folder of the log in a store that exists: one that was deleted stays so."""
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        return  # another process was faster


def _put(folder: str, number: int, lines: "list[bytes]") -> "list[bytes]":
    """Append lines to a segment; return those that came to lie behind its limit."""
    fd = os.open(os.path.join(folder, str(number)), os.O_WRONLY | os.O_APPEND | os.O_CREAT | FLAGS, 0o600)
    try:
        size = os.fstat(fd).st_size
        if size >= SEGMENT:
            return lines
        if not size:
            _drop(folder, number - KEPT)
        done = os.write(fd, b"".join(lines))
        place = os.lseek(fd, 0, os.SEEK_CUR) - done
    finally:
        os.close(fd)
    end = place + done
    while lines and place < SEGMENT and place + len(lines[0]) <= end:
        place += len(lines[0])
        lines = lines[1:]
    if lines and place < SEGMENT:
        raise OSError("the disk took only a part")
    return lines


def _drop(folder: str, number: int) -> None:
    """Delete a segment that is too old, and those before it that were left."""
    while number > 0:
        try:
            os.unlink(os.path.join(folder, str(number)))
        except OSError:
            return
        number -= 1


def event_id(job_id: str, attempt: int, kind: str, count: int = 1) -> str:
    """Return the id of an event: the same whenever and by whichever process it is made."""
    return f"{job_id}.{attempt}.{kind}" if count == 1 else f"{job_id}.{attempt}.{kind}.{count}"


def event(name: str, kind: str, job_id: str, fields: "dict[str, Any]") -> "dict[str, Any]":
    """Return an event of now."""
    return {"id": name, "kind": kind, "job_id": job_id, "time": stamp(time()), **fields}


def creation_fields(facts: "dict[str, Any]") -> "dict[str, Any]":
    """Return what an event says of a job that has just been made."""
    words: list[str] = []
    room = _LONGEST_COMMAND
    for word in facts["command"]:
        if len(word) > room:
            words.append("…")
            break
        words.append(word)
        room -= len(word) + 1
    return {"command": words, "cwd": facts["cwd"], "tags": facts["tags"]}


def ending_fields(facts: "dict[str, Any]") -> "dict[str, Any]":
    """Return what an event says of how a job ended."""
    names = ("state", "exit_code", "signal", "reason", "duration_ms")
    return {name: facts[name] for name in names if facts.get(name) is not None}


def have_told(store: "Store", job_id: str) -> None:
    """Have the undelivered notifications of jobs delivered: of this one, which is over, and of lost ones."""
    if os.path.exists(os.path.join(store.root, NOTIFY)):
        from agent_exec.jobs.events.outbox import sweep

        sweep(store, job_id)


class EventWriter:
    """The events of one job, written by its supervisor; what cannot be written is counted in the next."""

    __slots__ = ("_counts", "_job", "_late", "_missed", "_root", "attempt")

    def __init__(self, root: str, job_id: str, attempt: int = 1) -> None:
        self._root = root
        self._job = job_id
        self._counts: dict[tuple[int, str], int] = {}
        self._late: list[bytes] = []
        self._missed = 0
        self.attempt = attempt

    def begin(self, attempt: int) -> None:
        """Go on with another attempt."""
        self.attempt = attempt
        self._counts.clear()

    def note(self, kind: str, fields: "dict[str, Any]") -> "dict[str, Any]":
        """Keep an event for the next `write`, and return it."""
        key = self.attempt, kind
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if self.attempt > 1:
            fields = {"attempt": self.attempt, **fields}
        if self._missed and not self._late:
            fields = {**fields, "missed": self._missed}
        found = event(event_id(self._job, self.attempt, kind, count), kind, self._job, fields)
        self._late.append(dump(found).encode() + b"\n")
        return found

    def write(self) -> bool:
        """Write what was noted, in one piece; False if the log has not taken all of it."""
        lines, self._late = self._late, []
        lost = append(self._root, lines)
        self._missed = lost + self._missed * (lost == len(lines))  # the first line says how many before it
        return not lost
