"""Follows the event log: returns each event as it is written, and notices supervisors that are killed."""

import os
from time import monotonic

from agent_exec.host import Changes
from agent_exec.jobs.events import FOLDER
from agent_exec.jobs.events.reading import EventReader
from agent_exec.jobs.record import CONTROL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_exec.jobs.events.reading import Event
    from agent_exec.jobs.store import Store
    from agent_exec.model.cancel import Cancel

_MOST_WATCHED = 400
"""How many live jobs are watched at once; the others are looked at from time to time."""
_SELDOM, _OFTEN, _MOMENT = 30.0, 1.0, 0.02


def follow(
    store: "Store", reader: EventReader, seconds: float | None = None, cancel: "Cancel | None" = None
) -> "Iterator[Event]":
    """Return the events that a reader finds, and wait for more: so long, or until `cancel` is set."""
    from agent_exec.places import make_folder

    deadline = None if seconds is None else monotonic() + seconds
    folder = os.path.join(store.root, FOLDER)
    try:
        make_folder(folder)  # or there is nothing that could change
    except OSError:
        pass  # a store that may only be read
    changes = Changes(folder)
    doubtful = 0.0  # until then, a supervisor that has gone may still hold its lock
    try:
        while True:
            pipes = [os.path.join(store.folder(job_id), CONTROL) for job_id in store.live_ids()]
            changes.watch(pipes[:_MOST_WATCHED])
            yield from reader.read()
            pause = _MOMENT if monotonic() < doubtful else _OFTEN if len(pipes) > _MOST_WATCHED else _SELDOM
            if deadline is not None:
                pause = min(pause, deadline - monotonic())
            if pause <= 0 or (cancel is not None and cancel.is_set()):
                return
            if changes.wait(pause, cancel):
                doubtful = monotonic() + _OFTEN
    finally:
        changes.close()
