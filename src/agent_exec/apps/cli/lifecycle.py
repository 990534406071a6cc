"""The verbs for a job that exists, or is not to run yet: create, start, restart, timeout, abandon, tag."""

from time import monotonic

from agent_exec.apps.cli.act import job_of, jobs_of
from agent_exec.apps.cli.run import (
    Asking,
    configured,
    environment_of,
    hidden_from,
    input_of,
    observation,
    refuse_both,
)
from agent_exec.apps.parse import UsageError
from agent_exec.faces import answers, defaults, verbs
from agent_exec.host import Interrupts, detach
from agent_exec.jobs.restart import Surroundings, profile_of
from agent_exec.jobs.restart import restart as begin_again
from agent_exec.requests.opening import IN_FORCE, gate_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.parse import Parsed
    from agent_exec.jobs.record import Record
    from agent_exec.jobs.store import Store


def create(asked: "Parsed") -> "dict[str, Any]":
    """Create a job, and start nothing."""
    from agent_exec.jobs.create import create as make

    asking = Asking(asked, configured(asked), Interrupts())
    given = {"stdin", "stdin-file"} & asked.options.keys()
    job = make(asking.store, asking.order, gate=asking.gate, stdin=asking.stdin if given else None)
    return answers.created(job, asking.environment.shown)


def start(asked: "Parsed") -> "dict[str, Any]":
    """Start a job that was created, and watch it."""
    return _begin(asked, None)


def restart(asked: "Parsed") -> "dict[str, Any]":
    """Start a job once more, and watch it."""
    name = job_of(asked)
    if name != name.upper():  # not as answers write the id of a job
        from agent_exec.apps.cli.project import restart_service

        told = restart_service(asked, name)
        if told is not None:
            return told
    return _begin(asked, verbs.signal_of(asked.options.get("signal", "TERM")))


def _begin(asked: "Parsed", signal: int | None) -> "dict[str, Any]":
    began = monotonic()
    observe = observation(asked)
    refuse_both(asked, ("stdin", "stdin-file"))
    name = job_of(asked)
    store = asked.store()
    job = store.find(name)
    interrupts = Interrupts()
    around = _around(asked, store, job, interrupts)
    begun = begin_again(
        store,
        job,
        around,
        signal=signal,
        gate=lambda argv: gate_for(argv, asked.options.get("rules", IN_FORCE)),
        detach=detach,
        cancel=interrupts,
    )
    return verbs.Jobs(store).watch(
        begun,
        observe=observe,
        tail_lines=asked.options.get("tail-lines", defaults.TAIL_LINES),
        max_bytes=asked.options.get("max-bytes", defaults.MAX_BYTES),
        env_vars=around.environment.shown,
        cancel=interrupts,
        began=began,
        kind=str(asked.verb),
    )


def _around(asked: "Parsed", store: "Store", job: "Record", interrupts: Interrupts) -> Surroundings:
    """Return what the options give for an attempt at a job."""
    hidden = hidden_from(asked, profile_of(job), store)
    environment = environment_of(asked, hidden, interrupts)
    if not {"stdin", "stdin-file"} & asked.options.keys():
        return Surroundings(environment)
    return Surroundings(environment, lambda: input_of(asked, store, hidden, interrupts))


def timeout(asked: "Parsed") -> "dict[str, Any]":
    """Set or clear the deadline of a running job."""
    from agent_exec.jobs.deadline import set_deadline

    what, name = _what(asked, ("set", "clear"))
    seconds = asked.options.get("in")
    if (seconds is None) == (what == "set"):
        needs = "needs --in and a time" if what == "set" else "takes no --in"
        raise UsageError(f"{what} {needs}, such as: agent-exec {asked.verb} set {name} --in 10m", asked.verb)
    if asked.remote is not None:
        return asked.remote.set_timeout(name, seconds)
    store = asked.store()
    job = set_deadline(store, store.find(name), seconds)
    return answers.timeout_moved(job, what, str(asked.verb))


abandon = timeout


def tag(asked: "Parsed") -> "dict[str, Any]":
    """Change the tags of a job."""
    what, name = _what(asked, ("set", "add", "remove"))
    tags = asked.options.get("tag", [])
    if not tags and what != "set":
        raise UsageError(f"{what} needs a tag, such as: agent-exec tag {what} {name} --tag build", "tag")
    return jobs_of(asked).tag(name, **{"replace" if what == "set" else what: tags})


def _what(asked: "Parsed", known: tuple[str, ...]) -> tuple[str, str]:
    """Return the two words of a verb that does several things to a job: which, and the job."""
    if len(asked.words) != 2 or asked.words[0] not in known:
        forms = ", ".join(f"`{asked.verb} {what} JOB`" for what in known)
        raise UsageError(f"say what, and of which job: {forms}", asked.verb)
    return asked.words[0], asked.words[1]
