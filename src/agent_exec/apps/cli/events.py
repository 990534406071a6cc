"""The verb `events`: reads the event log of a store, or follows it."""

import os

from agent_exec.apps.cli.act import jobs_of
from agent_exec.apps.parse import UsageError
from agent_exec.faces.event_verbs import LIMIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.parse import Parsed


def events(asked: "Parsed") -> "dict[str, Any]":
    """Return the events that the options ask for; with --follow print one a line, and end the process."""
    if asked.words:
        raise UsageError(f"{asked.words[0]!r} is one word too many; give --job {asked.words[0]}", "events")
    options = asked.options
    if "until" in options and "follow" not in options:
        raise UsageError("--until needs --follow", "events")
    jobs = jobs_of(asked)
    wanted: dict[str, Any] = {
        "since": options.get("since"),
        "job": options.get("job"),
        "kinds": [kind for given in options.get("kind", ()) for kind in given.split(",")],
    }
    if "follow" not in options:
        return jobs.events(**wanted, limit=options.get("limit", LIMIT))
    from agent_exec.host import Interrupts
    from agent_exec.model.jsonline import dump

    found = jobs.follow_events(
        **wanted, limit=options.get("limit", 0), seconds=options.get("until"), cancel=Interrupts()
    )
    for event in found:
        line = memoryview(dump(event).encode() + b"\n")
        try:
            while line:
                line = line[os.write(1, line) :]
        except OSError:
            break  # the reader has gone
    os._exit(0)
