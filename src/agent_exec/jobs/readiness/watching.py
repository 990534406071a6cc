"""Watches a job until its conditions hold: the same for a caller that waits and for the job's supervisor."""

import os
from time import monotonic

from agent_exec.jobs.readiness.looks import KINDS
from agent_exec.jobs.record import LOCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from agent_exec.host import Listening
    from agent_exec.jobs.readiness.checks import CheckBox
    from agent_exec.jobs.readiness.conditions import Condition
    from agent_exec.jobs.readiness.looks import Look
    from agent_exec.jobs.record import Record
    from agent_exec.jobs.start import Detach
    from agent_exec.jobs.store import Store

_LONGEST = 3600.0


class Watching:
    """The conditions of one wait; to be closed. Not for two threads at once.

    The first condition that holds ends it, or with `every` only all of them.
    `detach` starts helper processes; None if this process may fork them
    itself. `env` is the environment of the commands of `exec=`, `mark` a
    file by which a supervisor knows their processes, and `box` returns what
    confines them.
    """

    def __init__(
        self,
        store: "Store",
        job: "Record",
        conditions: "Sequence[Condition]",
        *,
        every: bool = False,
        detach: "Detach | None" = None,
        env: "Mapping[bytes, bytes] | None" = None,
        mark: str = "",
        box: "Callable[[], CheckBox | None] | None" = None,
    ) -> None:
        self.store = store
        self.job = job
        self.detach = detach
        self.env = env
        self.mark = mark
        self.box = box
        self.began = monotonic()
        self.met: list[dict[str, Any]] = []
        self._every = every
        self._listening: Listening | None = None
        self._looks: list[Look] = [KINDS[one.kind](self, one) for one in conditions]
        self._due = [0.0] * len(self._looks)
        self._done = False

    @property
    def boxed(self) -> bool:
        """True if the command is confined, and may have a network and folders of its own."""
        return "sandbox" in self.job.facts

    def look(self, *, final: bool = False) -> float | None:
        """Look at all that is due; return how long nothing need be looked at, None once the wait is over.

        `final` says that the job has ended: no condition is left for later.
        """
        if self._done:
            return None
        now = monotonic()
        left = _LONGEST
        for place, look in enumerate(self._looks):
            if look.met:
                continue
            if final or now >= self._due[place]:
                evidence = look.look(final=final)
                if evidence is not None:
                    look.met = True
                    after = round((monotonic() - self.began) * 1000)
                    self.met.append({"for": look.condition.text, "after_ms": after, **evidence})
                    if not self._every:
                        break
                    continue
                self._due[place] = monotonic() + look.pause
            left = min(left, self._due[place] - now)
        self._done = bool(self.met) if not self._every else all(look.met for look in self._looks)
        return None if self._done else max(0.0, left)

    @property
    def done(self) -> bool:
        """True if the wait is over: a condition holds, or with `every` all of them."""
        return self._done

    def fields(self) -> "dict[str, Any]":
        """Return the part of an answer that says what holds, and what does not, and why."""
        fields: dict[str, Any] = {"ready": self._done, "met": self.met}
        if not self._done:
            fields["unmet"] = [
                {"for": look.condition.text, **look.why()} for look in self._looks if not look.met
            ]
        return fields

    def close(self) -> None:
        """End what was begun; harmless when repeated."""
        for look in self._looks:
            look.close()

    def listening(self) -> "Listening":
        """Return what looks at the sockets of the job."""
        if self._listening is None:
            from agent_exec.host import Listening

            self._listening = Listening(os.path.join(self.job.folder, LOCK), self.job.identity)
        return self._listening

    def facts(self) -> "Mapping[str, Any]":
        """Return the facts of the job as they are now."""
        found = self.store.read(self.job.id)
        return self.job.facts if found is None else found.facts

    def held_by(self, port: int) -> "dict[str, Any] | None":
        """Return the process outside of this job that listens on a port of its network, with its job."""
        from agent_exec.host import ancestors, holders

        looking = self.listening()
        looking.look()
        found = holders(port, looking.pids, looking.network())
        if not found:
            return None
        one = found[0]
        told: dict[str, Any] = {"address": one.address, "family": one.family, "uid": one.uid}
        if one.pid:
            told["pid"] = one.pid
            told |= self._job_of(ancestors(one.pid))
        return told

    def _job_of(self, pids: "Collection[int]") -> "dict[str, Any]":
        """Return which job of this store some processes belong to, if any."""
        from agent_exec.host import signers

        for job_id in self.store.live_ids():
            if job_id == self.job.id:
                continue
            if not set(signers(os.path.join(self.store.folder(job_id), LOCK))).isdisjoint(pids):
                found = self.store.read(job_id)
                return {"job_id": job_id, "command": found.facts["command"]} if found else {}
        return {}
