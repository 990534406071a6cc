"""Starts a job that exists: one that was only created, or any other once more, as its next attempt.

The order is made again of what the record says. Values of variables and input
are not on record: what was given for the job must be given again.
"""

import os

from agent_exec.jobs.amend import editing
from agent_exec.jobs.attempts import following
from agent_exec.jobs.kill import kill
from agent_exec.jobs.start import Order, judge, start
from agent_exec.model.errors import InvalidArgument, InvalidState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from agent_exec.jobs.record import Record
    from agent_exec.jobs.start import Detach, Started
    from agent_exec.jobs.store import Store
    from agent_exec.model.cancel import Cancel
    from agent_exec.requests.gate import Gate
    from agent_exec.requests.given_variables import Environment
    from agent_exec.sandbox.profile import Profile


class Surroundings:
    """What a caller gives for an attempt: variables, and input.

    `stdin` returns a descriptor of the input; `shown` is what an approver is
    shown of it. `kept` are variables that were given before.
    """

    __slots__ = ("environment", "kept", "shown", "stdin")

    def __init__(
        self,
        environment: "Environment",
        stdin: "Callable[[], int] | None" = None,
        shown: bytes = b"",
        kept: "Mapping[bytes, bytes] | None" = None,
    ) -> None:
        self.environment = environment
        self.kept = kept or {}
        self.stdin = stdin
        self.shown = shown


def restart(
    store: "Store",
    job: "Record",
    around: Surroundings,
    *,
    signal: int | None,
    gate: "Callable[[Sequence[str]], Gate | None] | None" = None,
    detach: "Detach | None" = None,
    cancel: "Cancel | None" = None,
) -> "Started":
    """Start a job once more, under its id; one that is not over is ended first, by the signal given.

    Without a signal, start one that was created and never started; raise InvalidState for others.
    Nothing is ended unless the rules let it start again, and all that it needs is given. Restarts of one job
    take turns.
    """
    with editing(store, job) as found:
        waits = bool(found.facts.get("awaits"))
        if signal is None and not waits:
            raise InvalidState(
                f"job {found.id} is {found.state}; `agent-exec restart {found.id}` starts it once more",
                job_id=found.id,
                state=found.state,
            )
        if waits:
            around = _with_kept(found, around)
        order = order_again(found, around)
        judge(order, None if gate is None else gate(order.argv), around.shown)
        if signal is not None and not waits:
            _end(store, found, signal, cancel)
        order.again = {"id": found.id, "attempt": following(found)}
        begun = start(store, order, stdin=around.stdin, cancel=cancel, detach=detach)
        begun.begin()
    return begun


def _with_kept(job: "Record", around: Surroundings) -> Surroundings:
    """Return what a caller gives for a job that was only created, with what was kept for it."""
    from agent_exec.jobs.create import kept_input, kept_variables

    stdin, shown = around.stdin, around.shown
    if stdin is None and job.facts.get("order", {}).get("input"):
        stdin, shown = (lambda: kept_input(job)), b"what was given when it was created"
    return Surroundings(around.environment, stdin, shown, kept_variables(job))


def _end(store: "Store", job: "Record", signal: int, cancel: "Cancel | None") -> None:
    """End a job, or what is left of it; raise InvalidState if it goes on."""
    found = kill(store, job, signal, cancel=cancel)
    if not found.ended:
        raise InvalidState(
            f"job {job.id} has not ended, so it is not restarted; try again with --signal KILL",
            job_id=job.id,
            state=found.state,
        )


def order_again(job: "Record", around: Surroundings) -> Order:
    """Return the order of a job as its record has it, with what a caller gives for it."""
    facts = job.facts
    if job.reason == "record_damaged":
        raise InvalidState(
            f"the record of job {job.id} is damaged, so its command is unknown; run it anew",
            job_id=job.id,
            state=job.state,
        )
    more = facts.get("order", {})
    fresh = {name: around.environment.values[name] for name in map(os.fsencode, around.environment.given)}
    set_for_it = {**around.kept, **fresh}
    given = [os.fsdecode(name) for name in set_for_it]
    ports = [str(name) for name in more.get("terms", {}).get("port", ())]  # which the supervisor sets
    missing = [name for name in facts["env_keys"] if name not in given and name not in ports]
    if missing:
        raise InvalidArgument(
            f"values of variables are not kept: give {', '.join(missing)} again with --env NAME=VALUE",
            job_id=job.id,
            variables=missing,
        )
    if more.get("input") and around.stdin is None:
        raise InvalidArgument(
            f"input is not kept: give that of job {job.id} again, with --stdin or --stdin-file", job_id=job.id
        )
    terms = dict(more.get("terms") or {})
    if facts.get("notification"):
        terms["notify"] = facts["notification"]  # as it was changed since
    elif "notification" in facts:
        terms.pop("notify", None)
    inherit = more.get("inherit", True)
    timeout = facts.get("launch_timeout_ms", facts["timeout_ms"])
    return Order(
        facts["command"],
        cwd=facts["cwd"],
        env={**around.environment.values, **set_for_it} if inherit else set_for_it,
        env_keys=[*given, *(name for name in ports if name not in given)],
        tags=facts["tags"],
        timeout=None if timeout is None else timeout / 1000,
        grace=facts["kill_after_ms"] / 1000,
        leftovers=facts["leftovers"],
        quota=facts["max_log_bytes"],
        progress=more.get("progress", 0.0),
        mark=more.get("mark", True),
        inherit=inherit,
        sandbox=profile_of(job),
        own=more.get("sandbox", {}).get("own", ()),
        terms=terms,
    )


def profile_of(job: "Record") -> "Profile | None":
    """Return the profile that confines a job; None if none does."""
    if "sandbox" not in job.facts:
        return None
    box = job.facts.get("order", {}).get("sandbox")
    if box is None:
        raise InvalidState(
            f"the sandbox of job {job.id} is not on record; run the command anew",
            job_id=job.id,
            state=job.state,
        )
    from agent_exec.sandbox.profile import Profile

    return Profile.from_json(box["text"]).replace(loopback=box["loopback"])
