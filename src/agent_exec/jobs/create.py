"""Creates a job that is started later: a record without a process.

Values of the variables that were given for it, and its input, are kept in
files of its folder that only the user can read, until it is started or ended.
"""

import os
from time import time

from agent_exec.host import FileLock
from agent_exec.jobs.events import EventWriter, creation_fields, ending_fields
from agent_exec.jobs.owned import INPUT, VARIABLES, first_facts, never_started
from agent_exec.jobs.record import LOCK, stamp
from agent_exec.jobs.record_writer import RecordWriter
from agent_exec.jobs.start import judge
from agent_exec.jobs.store import broken, new_id, place_of
from agent_exec.logs.stream import create as create_file
from agent_exec.logs.stream import open_to_read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from agent_exec.jobs.record import Record
    from agent_exec.jobs.start import Order
    from agent_exec.jobs.store import Store
    from agent_exec.requests.gate import Gate

_CHUNK = 1 << 20


def create(
    store: "Store",
    order: "Order",
    *,
    gate: "Gate | None" = None,
    stdin: "Callable[[], int] | None" = None,
    shown: bytes = b"",
) -> "Record":
    """Judge an order, and make a job of it that runs once it is started."""
    judge(order, gate, shown)
    fd = -1 if stdin is None else stdin()
    order.input = fd >= 0
    job_id = new_id()
    cwd = place_of(order.cwd)
    folder = store.make(job_id, cwd)
    lock = FileLock(os.path.join(folder, LOCK))
    try:
        lock.acquire()
        _keep(folder, order, fd)
        facts = first_facts(job_id, cwd, order.fields())
        del facts["supervisor_pid"]
        if "notify" in order.terms:
            facts["notification"] = order.terms["notify"]
        RecordWriter(folder, facts | {"awaits": "start"}).finish()
    except BaseException as error:
        store.remove(job_id, cwd)
        if isinstance(error, OSError):
            raise broken(error, store.root) from error
        raise
    finally:
        lock.release()
        if fd >= 0:
            os.close(fd)
    events = EventWriter(store.root, job_id)
    events.note("created", creation_fields(facts))
    events.write()
    found = store.read(job_id)
    assert found is not None
    return found


def _keep(folder: str, order: "Order", stdin: int) -> None:
    """Keep what the record has not: values of variables, and input."""
    given = [name for name in map(os.fsencode, order.env_keys) if name in order.env]
    if given:
        fd = create_file(os.path.join(folder, VARIABLES))
        with os.fdopen(fd, "wb") as file:
            file.write(b"".join([name + b"=" + order.env[name] + b"\0" for name in given]))
    if stdin >= 0:
        fd = create_file(os.path.join(folder, INPUT))
        with os.fdopen(fd, "wb") as file:
            while chunk := os.read(stdin, _CHUNK):
                file.write(chunk)


def kept_variables(job: "Record") -> dict[bytes, bytes]:
    """Return the values of variables that are kept for a job that was not started."""
    try:
        fd = open_to_read(os.path.join(job.folder, VARIABLES))
    except OSError:
        return {}
    with os.fdopen(fd, "rb") as file:
        pairs = [entry.partition(b"=") for entry in file.read().split(b"\0") if entry]
    return {name: value for name, _, value in pairs}


def kept_input(job: "Record") -> int:
    """Return a descriptor of the input that is kept for a job that was not started; -1 if there is none."""
    try:
        return open_to_read(os.path.join(job.folder, INPUT))
    except OSError:
        return -1


def drop(store: "Store", job: "Record") -> "Record":
    """End a job that was not started: it never will be."""
    from agent_exec.jobs.amend import amend

    dropped: list[bool] = []

    def change(found: "Record") -> "dict[str, Any]":
        if not found.facts.get("awaits"):
            return {}
        more = {"awaits": None, "duration_ms": 0, "output_complete": True, "finished_at": stamp(time())}
        dropped.append(True)
        return never_started(terminated=False) | more

    found = amend(store, job, change)
    if found.ended:
        for name in (VARIABLES, INPUT):
            try:
                os.unlink(os.path.join(job.folder, name))
            except OSError:
                continue
        events = EventWriter(store.root, job.id)
        if dropped:
            events.note("ended", ending_fields(found.facts))
        if events.write():
            store.settle(job.id)
    return found
