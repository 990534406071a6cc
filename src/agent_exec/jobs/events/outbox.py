"""Notifications that were not delivered yet: an index beside the jobs, and files in the folder of each.

A job with sinks is named in the index from before it exists until everything
was delivered. Its supervisor appends notifications to the outbox; a
courier, a process of its own, delivers it, and notes each attempt. How a job
has ended stands in the record, so no crash can lose that.
"""

import os
from time import time

from agent_exec.host import FileLock, is_locked
from agent_exec.jobs.events import NOTIFY
from agent_exec.jobs.record import LOCK, stamp
from agent_exec.jobs.store import is_id
from agent_exec.logs.stream import FLAGS, open_to_read
from agent_exec.model.jsonline import dump, load
from agent_exec.places import make_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from agent_exec.jobs.store import Store

COURIER = "courier"
"""The lock that a courier holds."""
OUTBOX = "outbox.jsonl"
DELIVERIES = "deliveries.jsonl"
COMPLETION = "completion_event.json"
TOLD = "notification_events.ndjson"

_ENTRY = "agent_exec.jobs.events.courier"
_LARGEST = 16 << 20
_PATIENCE = 5.0
_ATTEMPTS = 8


def enter(store: "Store", job_id: str) -> None:
    """Name a job in the index; raise OSError if that is not possible."""
    folder = os.path.join(store.root, NOTIFY)
    for left in reversed(range(_ATTEMPTS)):
        make_folder(folder)
        try:
            os.close(os.open(os.path.join(folder, job_id), os.O_WRONLY | os.O_CREAT | FLAGS, 0o600))
        except FileNotFoundError:  # its last entry was taken out just now
            if not left:
                raise
        else:
            return


def leave(store: "Store", job_id: str) -> None:
    """Take a job out of the index: all was delivered."""
    try:
        os.unlink(os.path.join(store.root, NOTIFY, job_id))
        os.rmdir(os.path.join(store.root, NOTIFY))
    except OSError:
        return  # others are in it


def put_off(store: "Store", job_id: str, seconds: float) -> None:
    """Have no process look at a job's outbox for so long."""
    try:
        os.utime(os.path.join(store.root, NOTIFY, job_id), (time() + seconds,) * 2)
    except OSError:
        return


def add_line(path: str, value: object) -> None:
    """Append a line of JSON to a file of ours in one piece; raise OSError if the disk does not take it."""
    line = dump(value).encode() + b"\n"
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | FLAGS, 0o600)
    try:
        size = os.fstat(fd).st_size
        if os.write(fd, line) != len(line):
            os.ftruncate(fd, size)
            raise OSError("the disk took only a part")
    finally:
        os.close(fd)


def lines_of(path: str) -> "Iterator[dict[str, Any]]":
    """Return the whole lines of a file of ours; none if it is not there."""
    try:
        fd = open_to_read(path)
    except OSError:
        return
    try:
        data = b""
        while len(data) < _LARGEST and (more := os.read(fd, 1 << 20)):
            data += more
    finally:
        os.close(fd)
    for line in data.split(b"\n")[:-1]:
        try:
            yield load(line.decode())
        except (ValueError, RecursionError):
            continue


def add(folder: str, payload: "dict[str, Any]", sinks: "list[list[str]]") -> None:
    """Add an event to the outbox of a job."""
    add_line(os.path.join(folder, OUTBOX), {"event": payload, "sinks": sinks, "at": stamp(time())})


def start_courier(store: "Store", job_id: str) -> None:
    """Start a courier for a job, unless one is at work; return once it has signed its lock.

    Then the process that adopts it leaves it alone: it is known by its lock.
    """
    if is_locked(os.path.join(store.folder(job_id), COURIER)):
        return  # it looks again before it goes
    from agent_exec.host import Report, detach

    report = Report()
    reader, writer = os.pipe()
    try:
        os.write(writer, os.fsencode(f"{job_id}{store.root}"))
        detach(_ENTRY, [reader, report.fd])
        report.listen()
        report.hear(_PATIENCE)
    finally:
        report.close()
        os.close(reader)
        os.close(writer)


def sweep(store: "Store", own: str = "") -> None:
    """Start couriers for jobs whose own process is gone, and which have something left to tell.

    `own` is the job whose supervisor calls this: it is over.
    """
    index = os.path.join(store.root, NOTIFY)
    try:
        names = list(filter(is_id, os.listdir(index)))
    except OSError:
        return
    for job_id in names:
        try:
            if job_id != own and (
                os.lstat(os.path.join(index, job_id)).st_mtime > time()
                or is_locked(os.path.join(store.folder(job_id), LOCK))
            ):
                continue
            if not os.path.isdir(store.folder(job_id)):
                leave(store, job_id)
            else:
                start_courier(store, job_id)
        except Exception:
            continue


def courier_lock(folder: str) -> FileLock:
    """Return the lock of a job's courier."""
    return FileLock(os.path.join(folder, COURIER))
