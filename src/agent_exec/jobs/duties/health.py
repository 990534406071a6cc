"""The duty of a job with a health check: runs it again and again, and records each change."""

from time import monotonic, time

from agent_exec.host import detach, shell
from agent_exec.jobs.duties import Duty
from agent_exec.jobs.readiness.checks import Check
from agent_exec.jobs.record import stamp
from agent_exec.model.errors import AgentExecError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agent_exec.jobs.supervise import Supervisor

_LOOK, _LONGEST_LOOK = 0.01, 0.1
_LOCK = "check-health"
"""The lock of the process that runs the check, in the job's folder."""
_SOON = 1.0
"""How often a job that is starting is checked at least, in seconds."""


class Term(Duty):
    """Its value: `command`, a shell line; `every` and `timeout` in seconds; `failures` until unhealthy.

    The first check comes with the command's start. Until one has passed the
    job is "starting", and is checked ten times as often, for as long as the
    failures would take.
    """

    __slots__ = ("_check", "_count", "_failed", "_health", "_over", "_until")

    def __init__(self, job: "Supervisor", value: "Any") -> None:
        super().__init__(job, value)
        self._check: Check | None = None
        self._health = "starting"
        self._failed = 0
        self._until = 0.0
        self._count = 0
        self._over = False

    def facts(self) -> "dict[str, Any]":
        """Return the check, and that nothing is known yet."""
        value = self.value
        return {
            "health": self._health,
            "health_check": value["command"],
            "health_every_ms": round(value["every"] * 1000),
        }

    def started(self) -> None:
        """Begin; a command that is started again has to become healthy again."""
        self._close()
        self._over = False
        self._count += 1
        if self._health != "starting":
            self._change("starting", "")
        self._failed = 0
        self._until = monotonic() + self.value["every"] * self.value["failures"]
        self._begin(self._count)

    def _begin(self, count: int) -> None:
        if count != self._count or self._over:
            return
        try:
            self._check = Check(
                detach,
                shell(self.value["command"]),
                cwd=self.job.order["cwd"],
                env=self.job.order["env"],
                timeout=self.value["timeout"],
                lock=f"{self.job.folder}/{_LOCK}",
                box=self.job.check_box(),
            )
        except AgentExecError as error:
            self._judge(count, {"exit_code": None, "timed_out": False, "output": error.message})
            return
        self._look(count, _LOOK)

    def _look(self, count: int, pause: float) -> None:
        if count != self._count or self._check is None:
            return
        ended = self._check.poll()
        if ended is None:
            later = min(_LONGEST_LOOK, pause * 1.5)
            self.job.loop.after(pause, lambda: self._look(count, later))
            return
        self._close()
        self._judge(count, ended)

    def _judge(self, count: int, ended: "Mapping[str, Any]") -> None:
        """Count a check, record a change, and have the next one begin after a while."""
        value = self.value
        passed = ended["exit_code"] == 0 and not ended["timed_out"]
        pause = value["every"]
        if passed:
            self._failed = 0
            if self._health != "healthy":
                self._change("healthy", ended["output"])
        elif self._health == "starting" and monotonic() < self._until:
            pause = min(_SOON, value["every"] / 10)
        else:
            self._failed += 1
            if self._health == "starting" or (
                self._health == "healthy" and self._failed >= value["failures"]
            ):
                why = "it took too long" if ended["timed_out"] else f"exit code {ended['exit_code']}"
                self._change("unhealthy", f"{why}: {ended['output']}".rstrip(": "))
        self.job.loop.after(pause, lambda: self._begin(count))

    def _change(self, health: str, message: str) -> None:
        self._health = health
        facts: dict[str, Any] = {"health": health, "health_message": message}
        if health != "starting":
            facts[f"{health}_at"] = stamp(time())
        self.job.append(facts)
        if health != "starting":
            self.job.event(health, **({"message": message} if message else {}))

    def ended(self, facts: "dict[str, Any]") -> None:  # noqa: ARG002
        """Check no more; nothing is known of what may be started next."""
        self._over = True
        self._health = "starting"
        self._close()

    def _close(self) -> None:
        if self._check is not None:
            self._check.close()
            self._check = None
