"""The courier of one job: a process that delivers its notifications, with retries."""

import os
from time import monotonic, time

from agent_exec.host import tell
from agent_exec.jobs.events import outbox
from agent_exec.jobs.record import stamp
from agent_exec.jobs.store import ID_LENGTH, Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_exec.jobs.record import Record

    Payload = dict[str, Any]

_PAUSES = (0.1, 0.4, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0)
"""Seconds between the attempts of one courier; then it goes, and a later process of ours goes on."""
_PUT_OFF = 300.0
_OLDEST = 3 * 86400.0
"""After so many seconds, what could not be delivered is given up."""
_GRACE = 2.0
_LONGEST = 1 << 16
_MOST_TIMEOUTS = 3
"""After so many commands that took too long one after the other, those of this job are not run any more."""


def main(fds: list[int]) -> None:
    """Take job and store from the first descriptor; report to the second once the lock is signed."""
    orders, report = fds
    asked = os.fsdecode(os.read(orders, _LONGEST))
    os.close(orders)
    job_id, store = asked[:ID_LENGTH], Store(asked[ID_LENGTH:])
    lock = outbox.courier_lock(store.folder(job_id))
    try:
        while lock.acquire():
            lock.sign()
            tell(report, b"ready\n")
            courier = Courier(store, job_id)
            try:
                left = courier.deliver()
            finally:
                lock.release()
            # What was added before the lock was free is ours to deliver.
            if left or not courier.has_news():
                break
    finally:
        os.close(report)


class Courier:
    """The notifications of one job."""

    def __init__(self, store: Store, job_id: str) -> None:
        self._store = store
        self._job = job_id
        self._folder = store.folder(job_id)
        self._timeouts = 0
        self._seen, self._saw_end = -1, False
        self._states: dict[tuple[str, int], dict[str, Any]] = {}
        for one in outbox.lines_of(self._path(outbox.DELIVERIES)):
            self._states[one["event_id"], one["sink"]] = one

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def has_news(self) -> bool:
        """True if something was added to the outbox since it was read, or the job has ended since."""
        if self._outbox_size() > self._seen:
            return True
        job = None if self._saw_end else self._store.read(self._job)
        return job is not None and job.ended

    def _outbox_size(self) -> int:
        try:
            return os.lstat(self._path(outbox.OUTBOX)).st_size
        except OSError:
            return 0

    def deliver(self) -> bool:
        """Deliver all that can be; return True if something is left for a later process."""
        from agent_exec.host import Changes

        changes = Changes(self._folder)
        tries = 0
        try:
            while True:
                job = self._store.read(self._job)
                if job is None:
                    return False  # it was deleted
                self._seen, self._saw_end = self._outbox_size(), job.ended
                if not self._round(job):
                    if job.ended and not self.has_news():
                        outbox.leave(self._store, self._job)
                    return False
                if tries == len(_PAUSES):
                    outbox.put_off(self._store, self._job, _PUT_OFF)
                    return True
                self._rest(changes, _PAUSES[tries])
                tries += 1
        finally:
            changes.close()

    def _rest(self, changes: "Any", seconds: float) -> None:
        """Wait before the next attempt, or until there is something new."""
        deadline = monotonic() + seconds
        while (left := deadline - monotonic()) > 0 and not self.has_news():
            changes.wait(left)

    def _round(self, job: "Record") -> bool:
        """Try everything once that is not settled; return True if something is to be tried again."""
        from agent_exec.jobs.events.notification import FACT, sinks_of

        left = False
        for one in outbox.lines_of(self._path(outbox.OUTBOX)):
            left = self._event(one["event"], one["sinks"], job, one["at"]) or left
        config = job.facts.get(FACT, {})
        sinks = sinks_of(config)
        if job.ended and sinks:
            left = self._event(finished(job), sinks, job, str(job.facts.get("finished_at", ""))) or left
        return left

    def _event(self, payload: "Payload", sinks: "Sequence[list[str]]", job: "Record", at: str) -> bool:
        """Try the sinks of one event that are not settled; return True if one is to be tried again."""
        name = payload["event_id"]
        if all(self._settled(name, number) for number in range(len(sinks))):
            return False
        last = payload["event_type"] == "job.finished"
        path = self._path(outbox.COMPLETION if last else outbox.TOLD)
        if last:
            self._write_completion(path, payload, sinks)
        for number, (kind, target) in enumerate(sinks):
            if not self._settled(name, number):
                self._attempt(payload, number, kind, target, job, path, at)
        if last:
            self._write_completion(path, payload, sinks)
        left = not all(self._settled(name, number) for number in range(len(sinks)))
        if not last and not left:
            outbox.add_line(path, {**payload, "delivery_results": self._results(name, sinks)})
        return left

    def _settled(self, name: str, number: int) -> bool:
        return bool(self._states.get((name, number), {}).get("settled"))

    def _results(self, name: str, sinks: "Sequence[list[str]]") -> "list[dict[str, Any]]":
        found = (self._states.get((name, number)) for number in range(len(sinks)))
        return [
            {key: value for key, value in one.items() if key not in ("event_id", "sink", "settled")}
            for one in found
            if one is not None
        ]

    def _write_completion(self, path: str, payload: "Payload", sinks: "Sequence[list[str]]") -> None:
        from agent_exec.model.jsonline import dump
        from agent_exec.places import write_file

        results = self._results(payload["event_id"], sinks)
        try:
            write_file(path, dump({**payload, "delivery_results": results}).encode() + b"\n")
        except OSError:
            return  # a full disk: it is delivered all the same

    def _attempt(
        self, payload: "Payload", number: int, kind: str, target: str, job: "Record", path: str, at: str
    ) -> None:
        """Deliver one event by one sink, and note how that went."""
        from agent_exec.jobs.events import sinks

        key = payload["event_id"], number
        attempt = self._states.get(key, {}).get("attempts", 0) + 1
        told = sinks.Delivery(self._store, job, payload, path)
        try:
            if kind == "command":
                problem, again = self._command(told, target)
            else:
                problem, again = told.by(kind, target)
        except Exception as error:
            problem, again = f"{type(error).__name__}: {error}"[:300], False
        if again and at and at < stamp(time() - _OLDEST):
            again = False
        from agent_exec.jobs.events.notification import hidden

        state = {
            "event_id": payload["event_id"],
            "sink": number,
            "sink_type": kind,
            "target": hidden(target) if kind == "webhook" else target,
            "success": problem is None,
            **({} if problem is None else {"error": problem}),
            "attempted_at": stamp(time()),
            "attempts": attempt,
            "settled": not again,
        }
        self._states[key] = state
        try:
            outbox.add_line(self._path(outbox.DELIVERIES), state)
        except OSError:
            return  # a full disk: it may be delivered twice, with the same id

    def _command(self, told: "Any", line: str) -> tuple[str | None, bool]:
        if self._timeouts >= _MOST_TIMEOUTS:
            return f"not run: {_MOST_TIMEOUTS} commands before it took too long", False
        problem, timed_out = told.by_command(line, _GRACE)
        self._timeouts = self._timeouts + 1 if timed_out else 0
        return problem, False


def finished(job: "Record") -> "Payload":
    """Return the notification of a job that is over: metadata, and no output."""
    from agent_exec.jobs.events.reading import closing_event
    from agent_exec.logs.stream import STREAMS
    from agent_exec.logs.stream import path as log_path

    facts = job.facts
    payload: Payload = {
        "schema_version": "0.1",
        "event_id": closing_event(job)["id"],
        "event_type": "job.finished",
        "job_id": job.id,
        "state": job.state,
        "command": facts.get("command", []),
        "cwd": facts.get("cwd", ""),
        "tags": facts.get("tags", []),
    }
    for name in ("started_at", "finished_at", "duration_ms", "exit_code", "signal"):
        if facts.get(name) is not None:
            payload[name] = facts[name]
    if job.reason:
        payload["reason"] = job.reason
    return payload | {f"{stream}_log_path": log_path(job.home, stream) for stream in STREAMS}
