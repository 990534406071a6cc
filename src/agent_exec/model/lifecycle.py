"""The only state table of a run.

Rules:

1. A run is queued, then running, then ended. What ends it early is asked for
   once politely (stopping) and then by force (killing).
2. A command that has exited is not over while processes it started live: they
   may finish what they write for a bounded time (lingering), then they are
   killed or left.
3. The run is over when nothing of its tree exists, or when what exists was
   to be left, or belongs to another.
4. At most one clock runs: the timeout, the grace, the drain, or the one that
   repeats the force while something resists it.

Every pair of phase and event is in the table or is an error of ours.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from agent_exec.model.choices import Phase

    Event = Literal["launch", "stop", "abort", "exited", "emptied", "expired", "left", "handed", "failed"]
    Effect = Literal[
        "spawn", "terminate", "kill", "leak", "release", "time_run", "time_grace", "time_drain", "finish"
    ]

PHASES: "tuple[Phase, ...]" = ("queued", "running", "stopping", "killing", "lingering", "ended")

EVENTS: "dict[Event, str]" = {
    "launch": "a slot is free",
    "stop": "someone, or the timeout, or the overflow rule, asks it to end",
    "abort": "it must end now: an exception, or a closing engine",
    "exited": "its main process has exited and left something behind",
    "emptied": "nothing of its tree exists any more",
    "expired": "the clock that was running has run out",
    "left": "the drain has run out and leftovers are to be left",
    "handed": "another process has taken it over",
    "failed": "it could not be started, or its keeper was lost",
}

TABLE: "dict[tuple[Phase, Event], tuple[Phase, tuple[Effect, ...]]]" = {
    ("queued", "launch"): ("running", ("spawn", "time_run")),
    ("queued", "stop"): ("ended", ("finish",)),
    ("queued", "abort"): ("ended", ("finish",)),
    ("queued", "failed"): ("ended", ("finish",)),
    ("running", "stop"): ("stopping", ("terminate", "time_grace")),
    ("running", "abort"): ("killing", ("kill",)),
    ("running", "expired"): ("stopping", ("terminate", "time_grace")),
    ("running", "exited"): ("lingering", ("time_drain",)),
    ("running", "emptied"): ("ended", ("finish",)),
    ("running", "handed"): ("ended", ("finish",)),
    ("running", "failed"): ("ended", ("finish",)),
    ("stopping", "stop"): ("killing", ("kill",)),
    ("stopping", "abort"): ("killing", ("kill",)),
    ("stopping", "expired"): ("killing", ("kill",)),
    ("stopping", "exited"): ("stopping", ()),
    ("stopping", "emptied"): ("ended", ("finish",)),
    ("stopping", "failed"): ("ended", ("finish",)),
    ("lingering", "stop"): ("killing", ("leak", "kill")),
    ("lingering", "abort"): ("killing", ("leak", "kill")),
    ("lingering", "expired"): ("killing", ("leak", "kill")),
    ("lingering", "left"): ("ended", ("leak", "release", "finish")),
    ("lingering", "emptied"): ("ended", ("finish",)),
    ("lingering", "failed"): ("ended", ("finish",)),
    ("killing", "stop"): ("killing", ()),
    ("killing", "abort"): ("killing", ()),
    ("killing", "expired"): ("killing", ("kill",)),
    ("killing", "exited"): ("killing", ()),
    ("killing", "emptied"): ("ended", ("finish",)),
    ("killing", "failed"): ("ended", ("finish",)),
    ("ended", "stop"): ("ended", ()),
    ("ended", "abort"): ("ended", ()),
}


def step(phase: "Phase", event: "Event") -> "tuple[Phase, tuple[Effect, ...]]":
    """Return the next phase and what is to be done, in order."""
    return TABLE[phase, event]


def picture() -> str:
    """Draw the table as text, one line a transition, for the documentation."""
    rows = [
        f"{phase:<10} {event:<8} -> {to:<10} {' '.join(effects)}".rstrip()
        for (phase, event), (to, effects) in TABLE.items()
    ]
    return "\n".join(rows)
