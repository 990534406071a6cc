"""The notifications of a job, as answers of the program: set, shown, cleared."""

import os

from agent_exec.faces.answers import answer
from agent_exec.jobs.events import NOTIFY, outbox
from agent_exec.jobs.events.notification import FACT, checked, commands_of, merged, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from agent_exec.faces.verbs import Answer, Jobs
    from agent_exec.jobs.events.notification import Config
    from agent_exec.jobs.record import Record
    from agent_exec.jobs.store import Store
    from agent_exec.requests.gate import Gate

_SHOWN = 100


def notify(self: "Jobs", job_id: str, changes: "Mapping[str, Any] | None" = None) -> "Answer":
    """Change the notifications of a job; without changes return them, with an empty one clear them."""
    if changes is None:
        return show(self.store, job_id)
    if not changes:
        return clear(self.store, job_id)
    rest = {name: value for name, value in changes.items() if name != "output_matches"}
    rules = changes.get("output_matches")
    return set_(self.store, job_id, rest, rules, check=lambda config: judge(config, self.gate, "/"))


def set_(
    store: "Store",
    job_id: str,
    changes: "Config",
    rules: "Sequence[Mapping[str, Any]] | None" = None,
    *,
    check: "Callable[[Config], object] | None" = None,
) -> "Answer":
    """Change the notifications of a job; earlier events are not delivered again.

    `rules` replace the former ones; None keeps these. `check` may refuse the whole.
    """
    from agent_exec.jobs.amend import amend

    def change(job: "Record") -> "dict[str, Any]":
        config = merged(job.facts.get(FACT, {}), changes, rules)
        if check is not None:
            check(config)
        if not job.ended:
            outbox.enter(store, job.id)  # before it is on record: the index names too many, never too few
        return {FACT: config}

    return _answer("notify.set", amend(store, store.find(job_id), change))


def clear(store: "Store", job_id: str) -> "Answer":
    """Clear the notifications of a job."""
    from agent_exec.jobs.amend import amend

    return _answer("notify.clear", amend(store, store.find(job_id), lambda _: {FACT: {}}))


def show(store: "Store", job_id: str) -> "Answer":
    """Return the notifications of a job, and how each was delivered."""
    job = store.find(job_id)
    found = {
        (one["event_id"], one["sink"]): one
        for one in outbox.lines_of(os.path.join(job.folder, outbox.DELIVERIES))
    }
    results = [
        {name: value for name, value in one.items() if name != "sink"}
        for one in list(found.values())[-_SHOWN:]
    ]
    pending = os.path.lexists(os.path.join(store.root, NOTIFY, job.id))
    return _answer("notify.show", job) | {"delivery_results": results, "pending": pending}


def _answer(kind: str, job: "Record") -> "Answer":
    return answer(
        kind, {"job_id": job.id, "state": job.state, "notification": shown(job.facts.get(FACT, {}))}
    )


def wanted(given: "Mapping[str, Any]", gate: "Gate | None", cwd: str) -> "Config":
    """Return the notifications that a caller asks for; raise for what is wrong, and for a refused command."""
    config = checked(given)
    judge(config, gate, cwd)
    return config


def judge(config: "Config", gate: "Gate | None", cwd: str) -> None:
    """Raise unless the gate admits every command of a configuration."""
    from agent_exec.host import shell

    for line in commands_of(config) if gate is not None else ():
        gate.admit(shell(line), cwd, ())  # type: ignore[union-attr]  # as was asked
