"""The verbs that begin jobs anew, and change what holds for them."""

import os

from agent_exec.faces import defaults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from agent_exec.faces.verbs import Answer, Jobs
    from agent_exec.jobs.record import Record
    from agent_exec.jobs.restart import Surroundings
    from agent_exec.model.cancel import Cancel


def restart(
    self: "Jobs",
    job_id: str,
    *,
    signal: str = "TERM",
    env: "Mapping[str, str] | None" = None,
    stdin: bytes | None = None,
    stdin_file: str | None = None,
    observe: float | None = defaults.SNAPSHOT_CAP,
    tail_lines: int = defaults.TAIL_LINES,
    max_bytes: int = defaults.MAX_BYTES,
    cancel: "Cancel | None" = None,
    on_begin: "Callable[[str], object] | None" = None,
) -> "Answer":
    """Start a job once more under its id, as its next attempt; one that runs is ended first, by the signal.

    Its variables are those of this process, and `env`, which must have all that were given for it before.
    """
    from agent_exec.faces.verbs import signal_of
    from agent_exec.jobs.restart import restart as begin

    job = self.store.find(job_id)
    begun = begin(
        self.store,
        job,
        _around(self, job, env, stdin, stdin_file),
        signal=signal_of(signal),
        gate=lambda _argv: self.gate,
        cancel=cancel,
    )
    return self.watch(
        begun,
        observe=observe,
        tail_lines=tail_lines,
        max_bytes=max_bytes,
        cancel=cancel,
        on_begin=on_begin,
        kind="restart",
    )


def _around(
    self: "Jobs", job: "Record", env: "Mapping[str, str] | None", stdin: bytes | None, stdin_file: str | None
) -> "Surroundings":
    """Return what a caller gives for an attempt at a job."""
    from agent_exec.faces.jobs import environment_of, input_of
    from agent_exec.jobs.restart import Surroundings, profile_of
    from agent_exec.model.command import Command
    from agent_exec.model.errors import InvalidArgument

    if stdin is not None and stdin_file is not None:
        raise InvalidArgument("stdin and stdin_file contradict each other; give one of them")
    environment = environment_of(Command(job.facts.get("command", ["?"]), env=env, stdin=stdin))
    if stdin is None and stdin_file is None:
        return Surroundings(environment)
    profile = profile_of(job)
    return Surroundings(
        environment,
        lambda: input_of(self.store, stdin, stdin_file, -1, profile),
        stdin or os.fsencode(f"the file {stdin_file}"),
    )
