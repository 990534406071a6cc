"""The verbs that begin jobs anew, and change what holds for them."""

import os
from time import monotonic

from agent_exec.faces import answers, defaults
from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Unpack

    from agent_exec.faces.asked import Asked
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

    return _begin(
        self,
        job_id,
        signal_of(signal),
        (env, stdin, stdin_file),
        cancel,
        observe=observe,
        tail_lines=tail_lines,
        max_bytes=max_bytes,
        on_begin=on_begin,
        kind="restart",
    )


def _begin(
    self: "Jobs",
    job_id: str,
    signal: int | None,
    given: "tuple[Mapping[str, str] | None, bytes | None, str | None]",
    cancel: "Cancel | None",
    **watching: "Any",
) -> "Answer":
    """Start a job that exists, with the variables and the input given, and watch it."""
    from agent_exec.jobs.restart import restart as begin

    job = self.store.find(job_id)
    around = _around(self, job, *given)
    begun = begin(self.store, job, around, signal=signal, gate=lambda _argv: self.gate, cancel=cancel)
    return self.watch(begun, cancel=cancel, **watching)


def _refuse_two_inputs(stdin: bytes | None, stdin_file: str | None) -> None:
    if stdin is not None and stdin_file is not None:
        raise InvalidArgument("stdin and stdin_file contradict each other; give one of them")


def _around(
    self: "Jobs", job: "Record", env: "Mapping[str, str] | None", stdin: bytes | None, stdin_file: str | None
) -> "Surroundings":
    """Return what a caller gives for an attempt at a job."""
    from agent_exec.faces.jobs import environment_of, input_of
    from agent_exec.jobs.restart import Surroundings, profile_of
    from agent_exec.model.command import Command

    _refuse_two_inputs(stdin, stdin_file)
    environment = environment_of(Command(job.facts.get("command", ["?"]), env=env, stdin=stdin))
    if stdin is None and stdin_file is None:
        return Surroundings(environment)
    profile = profile_of(job)
    return Surroundings(
        environment,
        lambda: input_of(self.store, stdin, stdin_file, -1, profile),
        stdin or os.fsencode(f"the file {stdin_file}"),
    )


def create(
    self: "Jobs",
    argv: "Sequence[str]",
    *,
    stdin: bytes | None = None,
    stdin_file: str | None = None,
    **asked: "Unpack[Asked]",
) -> "Answer":
    """Create a job that `start` starts, with all that may be asked of `run`.

    Until then the values of `env`, and the input, are kept on disk.
    """
    from agent_exec.faces.jobs import input_of, order_of
    from agent_exec.jobs.create import create as make

    _refuse_two_inputs(stdin, stdin_file)
    order = order_of(self, argv, stdin=stdin, **asked)
    given = stdin is not None or stdin_file is not None
    job = make(
        self.store,
        order,
        gate=self.gate,
        stdin=(lambda: input_of(self.store, stdin, stdin_file, -1, order.profile)) if given else None,
        shown=stdin or os.fsencode(f"the file {stdin_file}" if stdin_file else ""),
    )
    return answers.created(job)


def start(
    self: "Jobs",
    job_id: str,
    *,
    env: "Mapping[str, str] | None" = None,
    stdin: bytes | None = None,
    stdin_file: str | None = None,
    observe: float | None = defaults.SNAPSHOT_CAP,
    tail_lines: int = defaults.TAIL_LINES,
    max_bytes: int = defaults.MAX_BYTES,
    cancel: "Cancel | None" = None,
    on_begin: "Callable[[str], object] | None" = None,
) -> "Answer":
    """Start a job that was created, and watch it; raise InvalidState for one that was started before."""
    return _begin(
        self,
        job_id,
        None,
        (env, stdin, stdin_file),
        cancel,
        observe=observe,
        tail_lines=tail_lines,
        max_bytes=max_bytes,
        on_begin=on_begin,
        kind="start",
    )


def rejoin(
    self: "Jobs",
    job_id: str,
    *,
    kind: str,
    observe: float | None = defaults.SNAPSHOT_CAP,
    tail_lines: int = defaults.TAIL_LINES,
    max_bytes: int = defaults.MAX_BYTES,
    until_ready: bool = False,
    cancel: "Cancel | None" = None,
) -> "Answer":
    """Watch a job that was started before, and return the answer of the verb that started it, `kind`."""
    from agent_exec.jobs.wait import wait_for_end

    begin = monotonic()
    found = self.store.find(job_id)
    if until_ready and observe != 0:
        from agent_exec.faces.readiness import watching_of

        watching = watching_of(self.store, found, ["ready"], None, every=False, forks=False)
        try:
            found = wait_for_end(self.store, found, observe, cancel, watching)
        finally:
            watching.close()
    elif observe != 0:
        found = wait_for_end(self.store, found, observe, cancel)
    return self._watched(
        found,
        begin,
        0.0 if observe == 0 else monotonic() - begin,
        observe=observe,
        tail_lines=tail_lines,
        max_bytes=max_bytes,
        env_vars=(),
        cancel=cancel,
        kind=kind,
        until_ready=until_ready,
    )


def set_timeout(self: "Jobs", job_id: str, seconds: float | None) -> "Answer":
    """End a running job so many seconds from now, whatever was said before; None is never."""
    from agent_exec.jobs.deadline import set_deadline

    job = set_deadline(self.store, self.store.find(job_id), seconds)
    return answers.timeout_moved(job, "clear" if seconds is None else "set")


def tag(
    self: "Jobs",
    job_id: str,
    *,
    replace: "Sequence[str] | None" = None,
    add: "Sequence[str]" = (),
    remove: "Sequence[str]" = (),
) -> "Answer":
    """Change the tags of a job: replace all, or add and remove some."""
    from agent_exec.jobs.amend import amend
    from agent_exec.jobs.start import check_tags

    check_tags([*(replace or ()), *add, *remove])

    def change(job: "Record") -> "dict[str, list[str]]":
        kept = job.facts["tags"] if replace is None else replace
        return {"tags": [one for one in check_tags([*kept, *add]) if one not in remove]}

    job = amend(self.store, self.store.find(job_id), change)
    kind = "set" if replace is not None else "add" if add else "remove"
    return answers.answer(f"tag_{kind}", {**answers.head(job), "tags": job.facts["tags"]})
