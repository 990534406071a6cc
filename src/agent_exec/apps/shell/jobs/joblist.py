"""The jobs of a store as rows: read often, so no more is read than is shown."""

from datetime import UTC, datetime

from agent_exec.faces.slash.feedback import shown
from agent_exec.faces.slash.line import joined
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.faces.jobs import Jobs

NEWEST = 100
"""How many jobs are shown besides those that run."""

_LIVE = ("created", "running")
_LAST = 400


class JobRow(Value):
    """One job: its id, its state and how it ended, when it began, its command, and its last line."""

    id: str
    state: str
    told: str
    began: float
    command: str
    cwd: str
    last: str = ""

    @property
    def live(self) -> bool:
        """True if it has not ended."""
        return self.state in _LIVE

    def age(self, now: float) -> str:
        """Return how long ago it began, in a few letters."""
        seconds = max(0, int(now - self.began))
        for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
            if seconds >= size:
                return f"{seconds // size}{unit}"
        return f"{seconds}s"


class JobList:
    """Reads the rows; to be called from one thread at a time. Last lines of ended jobs are read once."""

    __slots__ = ("_jobs", "_last")

    def __init__(self, jobs: "Jobs") -> None:
        self._jobs = jobs
        self._last: dict[str, str] = {}

    def read(self, first: int = 0, count: int = 50) -> list[JobRow]:
        """Return the newest jobs and all that run; last lines only of these rows."""
        entries = {entry["job_id"]: entry for entry in self._jobs.list(limit=NEWEST)["jobs"]}
        for entry in self._jobs.list(states=_LIVE, limit=NEWEST)["jobs"]:
            entries[entry["job_id"]] = entry
        rows = [_row(entries[job_id]) for job_id in sorted(entries, reverse=True)]
        self._last = {job_id: line for job_id, line in self._last.items() if job_id in entries}
        return [
            one.replace(last=self._line(one)) if first <= number < first + count else one
            for number, one in enumerate(rows)
        ]

    def _line(self, job: JobRow) -> str:
        if job.id in self._last:
            return self._last[job.id]
        from agent_exec.model.errors import AgentExecError

        try:
            told = self._jobs.tail(job.id, tail_lines=1, max_bytes=_LAST, merged=True)
        except (AgentExecError, OSError):
            return ""  # it was taken away meanwhile
        text = "".join(piece["text"] for piece in told["merged"])
        lines = text.splitlines()
        line = shown(lines[-1], _LAST) if lines else ""
        if not job.live:
            self._last[job.id] = line
        return line


def _row(entry: "dict[str, Any]") -> JobRow:
    state = str(entry["state"])
    told = state
    if entry.get("signal"):
        told = f"{state} {str(entry['signal']).removeprefix('SIG')}"
    elif entry.get("exit_code") is not None:
        told = f"exit={entry['exit_code']}"
    command = entry.get("command", [])
    words = [str(word) for word in command] if isinstance(command, list) else [str(command)]
    began = moment(entry.get("started_at") or entry.get("created_at"))
    line, cwd = shown(joined(tuple(words)), 500), shown(str(entry.get("cwd", "")))
    return JobRow(str(entry["job_id"]), state, told, began, line, cwd)


def moment(stamp: object) -> float:
    """Return the seconds since 1970 of a moment as answers have it; 0 if it is none."""
    try:
        return datetime.fromisoformat(str(stamp)).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
