"""Runs a command again: after failures, whenever it ends, or every so often."""

from time import monotonic

from agent_exec.jobs.duties import Duty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.jobs.supervise import Supervisor

_FINAL = ("killed", "supervisor_terminated", "spawn_failed", "idle", "dependency_failed")
"""Reasons of an end after which no attempt follows: it was asked for, or would be the same again."""


def failures(facts: "dict[str, Any]") -> set[str]:
    """Return in which ways an attempt has failed; none if it has succeeded."""
    if facts["timed_out"]:
        return {"timeout"}
    box = facts.get("sandbox")
    limits = box.get("limits_hit", ()) if isinstance(box, dict) else ()
    found = {"oom"} if facts["signal"] == "SIGKILL" or "memory" in limits else set()
    if facts["signal"] or facts["state"] == "failed":
        found.add("signal")
    elif facts["exit_code"]:
        found.add("exit")
    return found


class Term(Duty):
    """When the next attempt begins, by the kind of the term: retry, restart or every."""

    __slots__ = ("_began", "_done", "_due", "_missed", "_pause")

    def __init__(self, job: "Supervisor", value: "dict[str, Any]") -> None:
        super().__init__(job, value)
        self._done = 0
        self._began = self._due = monotonic()
        self._pause = 0.0
        self._missed = 0

    def facts(self) -> "dict[str, Any]":
        """Return the terms, and how many runs were missed so far."""
        return {"repeats": self.value} | ({"missed_runs": self._missed} if self._missed else {})

    def started(self) -> None:
        """Note when the command was started; what is due every so often counts from the first time."""
        self._began = monotonic()
        if not self._done:
            self._due = self._began

    def pause(self, facts: "dict[str, Any]") -> float | None:
        """Return how long to wait for the next attempt; None if there is to be none."""
        value = self.value
        self._done += 1
        if facts["reason"] in _FINAL or (value["most"] is not None and self._done > value["most"]):
            return None
        if value["kind"] == "every":
            return self._until_due(facts, value["seconds"])
        failed = failures(facts)
        if not failed & set(value["on"]) and value["when"] != "always":
            return None
        if monotonic() - self._began > value["longest"]:
            self._pause = 0.0  # it ran well for a while
        self._pause = min(self._pause * 2 or value["backoff"], value["longest"])
        return self._pause

    def _until_due(self, facts: "dict[str, Any]", seconds: float) -> float:
        """Return how long it is until the next run is due; those that came due meanwhile were missed."""
        left = self._due + seconds - monotonic()
        if left < 0:
            late = int(-left // seconds) + 1
            self._missed += late
            facts["missed_runs"] = self._missed
            self._due += late * seconds
        self._due += seconds
        return max(0.0, self._due - monotonic())
