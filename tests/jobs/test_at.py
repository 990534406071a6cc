"""Jobs that start at a time of the wall clock, which may be set while they wait."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_exec.engine.loop import Loop
from agent_exec.jobs import open_jobs
from agent_exec.jobs.duties import at
from agent_exec.jobs.waiting import moment
from agent_exec.model.errors import InvalidArgument
from cli import Cli
from jobs.test_after import ended, held

NOON = time.mktime((2026, 3, 10, 12, 0, 0, 0, 0, -1))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("+90s", 90),
        ("+10m", 600),
        ("12:30", 1800),
        ("12:00:05", 5),
        ("11:59", 86400 - 60),
        ("12:00", 86400),
        ("2026-03-10T12:00:10", 10),
    ],
)
def test_a_moment_is_a_span_a_time_of_day_or_a_date(text: str, seconds: float) -> None:
    assert moment(text, NOON) == NOON + seconds


def test_a_moment_may_name_its_zone() -> None:
    assert moment("2026-01-31T18:30:00Z") == moment("2026-01-31T20:30:00+02:00") == 1769884200.0


@pytest.mark.parametrize(
    "text", ["", "soon", "25:00", "12", "12:61", "1:2:3:4", "+", "+soon", "-5m", "2026-13-01", "2026-03-10T9"]
)
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument):
        moment(text, NOON)


def test_a_job_starts_at_its_time(cli: Cli) -> None:
    job_id = held(cli, "--at", "+300ms", "--", "echo", "now")
    status = cli("status", job_id)
    answer = ended(cli, job_id)
    assert answer["stdout"] == "now\n"
    started = cli("status", job_id)
    assert started["started_at"] >= started["at"] == status["at"]
    assert "missed_by_ms" not in started


def test_a_job_waits_for_a_time_far_away(cli: Cli) -> None:
    job_id = held(cli, "--at", "2100-01-01T00:00:00Z", "--", "true")
    assert cli("status", job_id)["waiting_for"] == [{"kind": "at", "time": "2100-01-01T00:00:00.000Z"}]
    soon = held(cli, "--at", "+300d", "--", "true")
    assert [job["job_id"] for job in cli("plan")["jobs"]] == [soon, job_id]
    assert cli("kill", job_id)["state"] == "killed"


def test_a_time_that_is_over_is_recorded_and_the_job_runs_at_once(cli: Cli) -> None:
    answer = cli("run", "--wait", "--at", "2020-01-01T00:00:00Z", "--", "echo", "late")
    assert answer["stdout"] == "late\n"
    assert cli("status", answer["job_id"])["missed_by_ms"] > 1000


def test_a_wrong_time_makes_no_job(cli: Cli) -> None:
    refused = cli("run", "--at", "tomorrow", "--", "true")
    assert (refused["error"]["code"], refused.code) == ("invalid_argument", 1)
    assert "18:30" in refused["error"]["message"]
    assert cli("list", "--all")["jobs"] == []


def test_python_callers_have_the_same(tmp_path: Path) -> None:
    jobs = open_jobs(str(tmp_path / "jobs"))
    assert jobs.run(["echo", "hi"], at=time.time() + 0.05)["stdout"] == "hi\n"


class Waiting:
    """A supervisor whose clock is ours."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, now: float, value: float) -> None:
        self.now = now
        self.attempt = 1
        self.asked: list[float] = []
        self.said: list[dict[str, Any]] = []
        self.loop = Loop(many=False, wakeable=False)
        monkeypatch.setattr(at, "now", lambda: self.now)
        monkeypatch.setattr(at, "call_at", self._note)
        self.duty = at.Term(self, value)  # type: ignore[arg-type]
        self.duty.hold()

    def _note(self, _loop: Loop, when: float, call: Callable[[], None]) -> None:
        self.asked.append(when)
        self._call = call

    def append(self, facts: dict[str, Any]) -> None:
        self.said.append(facts)

    def wake(self, now: float) -> None:
        """Set the clock, of which the system tells."""
        self.now = now
        self._call()


def test_a_clock_that_is_set_back_makes_a_job_wait_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Waiting(monkeypatch, 1000.0, 1060.0)
    assert not job.duty.ready()
    job.wake(500.0)
    assert not job.duty.ready()
    assert job.asked == [1060.0, 1060.0]
    job.wake(1060.0)
    assert (job.duty.ready(), job.said) == (True, [])
    job.now = 0.0
    assert job.duty.ready(), "what has come stays come"


def test_a_clock_that_jumps_over_the_time_is_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    job = Waiting(monkeypatch, 1000.0, 1060.0)
    job.wake(5000.0)
    assert (job.duty.ready(), job.said) == (True, [{"missed_by_ms": 3940000}])
