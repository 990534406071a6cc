"""The verbs that begin a job that exists: `restart`."""

from time import monotonic

from agent_exec.apps.cli.act import job_of
from agent_exec.apps.cli.run import environment_of, hidden_from, input_of, observation, refuse_both
from agent_exec.faces import defaults, verbs
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


def restart(asked: "Parsed") -> "dict[str, Any]":
    """Start a job once more, and watch it."""
    began = monotonic()
    observe = observation(asked)
    refuse_both(asked, ("stdin", "stdin-file"))
    name = job_of(asked)
    number = verbs.signal_of(asked.options.get("signal", "TERM"))
    store = asked.store()
    job = store.find(name)
    interrupts = Interrupts()
    around = _around(asked, store, job, interrupts)
    begun = begin_again(
        store,
        job,
        around,
        signal=number,
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
        kind="restart",
    )


def _around(asked: "Parsed", store: "Store", job: "Record", interrupts: Interrupts) -> Surroundings:
    """Return what the options give for an attempt at a job."""
    hidden = hidden_from(asked, profile_of(job), store)
    environment = environment_of(asked, hidden, interrupts)
    if not {"stdin", "stdin-file"} & asked.options.keys():
        return Surroundings(environment)
    return Surroundings(environment, lambda: input_of(asked, store, hidden, interrupts))
