"""The duty to tell of a job: looks for patterns in its output, and has events delivered by a courier."""

import os

from agent_exec.jobs.duties import Duty
from agent_exec.jobs.events import outbox
from agent_exec.jobs.events.notification import FACT, sinks_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agent_exec.jobs.events.matching import Matcher
    from agent_exec.jobs.supervise import Supervisor
    from agent_exec.model.choices import Stream

_LONGEST = 4000
"""How many characters of a line are delivered."""
_AFTERWARDS = ("created", "ended", "output-match")
"""Kinds of events that are delivered in another way."""


class Term(Duty):
    """Its value is the checked configuration."""

    __slots__ = ("_matcher", "_sinks")

    def __init__(self, job: "Supervisor", value: "Any") -> None:
        super().__init__(job, value)
        self._matcher: Matcher | None = None
        self._sinks: list[list[str]] = []
        self._watch_output()

    def facts(self) -> "dict[str, Any]":
        """Name the job in the index, then return the configuration: it holds no secret."""
        outbox.enter(self.job.store, self.job.id)
        return {FACT: self.value}

    def amended(self, facts: "Mapping[str, Any]") -> None:
        """Take over a changed configuration; what was printed before is not looked at again."""
        if FACT in facts:
            self.value = facts[FACT]
            self._watch_output()

    def _watch_output(self) -> None:
        rules = self.value.get("output_matches")
        self._matcher = None
        if rules:
            from agent_exec.jobs.events.matching import Matcher

            self._matcher = Matcher(rules, self._found)

    def printed(self, stream: "Stream", chunk: bytes) -> None:
        """Look for the patterns in what was printed."""
        if self._matcher is not None:
            self._matcher.feed(stream, chunk)

    def ended(self, _facts: "dict[str, Any]") -> None:
        """Look at a last line without an end, and report patterns that were given up."""
        if self._matcher is None:
            return
        self._matcher.finish()
        for number in self._matcher.slow:
            rule = self.value["output_matches"][number]
            message = "this pattern takes too long, and was looked for no more"
            self.job.event("output-match", message=message, details={"pattern": rule["pattern"]})

    def _found(self, number: int, line: str, stream: "Stream") -> None:
        """Tell of a line in which a pattern was found."""
        rule = self.value["output_matches"][number]
        match = {"pattern": rule["pattern"], "match_type": rule["match_type"], "stream": stream}
        match["line"] = line[:_LONGEST]
        self._sinks = sinks_of(self.value, rule)
        self.job.event("output-match", details=match)

    def noted(self, event: "Mapping[str, Any]") -> None:
        """Tell of a pattern that was found, and of an event of a kind that was asked for."""
        kind = event["kind"]
        if kind == "output-match" and "line" in event["details"]:
            self._tell("job.output.matched", event["id"], event["details"], self._sinks)
        elif kind in self.value.get("notify_on", ()) and kind not in _AFTERWARDS:
            more = {name: event[name] for name in ("attempt", "details", "message") if name in event}
            self._tell(f"job.{kind}", event["id"], more, sinks_of(self.value))

    def _tell(self, kind: str, name: str, more: "Mapping[str, Any]", sinks: list[list[str]]) -> None:
        """Put an event into the outbox, and have it delivered; never wait for that."""
        job = self.job
        payload = {"schema_version": "0.1", "event_id": name, "event_type": kind, "job_id": job.id, **more}
        for stream in ("stdout", "stderr"):
            payload[f"{stream}_log_path"] = os.path.join(job.home, f"{stream}.log")
        try:
            if not sinks:
                told = os.path.join(job.folder, outbox.TOLD)
                outbox.add_line(told, {**payload, "delivery_results": []})
                return
            outbox.add(job.folder, payload, sinks)
            outbox.start_courier(job.store, job.id)
        except Exception:
            return
