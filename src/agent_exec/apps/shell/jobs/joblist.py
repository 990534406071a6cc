"""The jobs of a store as they are shown: rows, and the output of one; no more is read than is shown."""

from datetime import UTC, datetime

from agent_exec.faces.slash.feedback import shown
from agent_exec.faces.slash.line import ShellCommandRequest, joined
from agent_exec.faces.slash.view import ShellExecutionResult, ShellOutputView
from agent_exec.model.errors import AgentExecError
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.faces.verbs import Jobs

NEWEST = 100
"""How many jobs are shown besides those that run."""

_LIVE = ("created", "running")
_ENDED = ("exited", "killed", "failed")
_LAST = 400
_PIECE = 1 << 20


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
    """Reads the rows, from one thread at a time; the last line of an ended job is read once."""

    def __init__(self, jobs: "Jobs") -> None:
        self._jobs = jobs
        self._last: dict[str, str] = {}

    def read(self, first: int = 0, count: int = 50) -> list[JobRow]:
        """Return the newest jobs and all that run; last lines only of these rows."""
        found = [*self._jobs.list(limit=NEWEST)["jobs"], *self._jobs.list(states=_LIVE, limit=NEWEST)["jobs"]]
        entries = {entry["job_id"]: entry for entry in found}
        rows = [_row(entries[job_id]) for job_id in sorted(entries, reverse=True)]
        self._last = {job_id: line for job_id, line in self._last.items() if job_id in entries}
        end = first + count
        return [*rows[:first], *(one.replace(last=self._line(one)) for one in rows[first:end]), *rows[end:]]

    def _line(self, job: JobRow) -> str:
        if job.id in self._last:
            return self._last[job.id]
        try:
            found = self._jobs.tail(job.id, tail_lines=1, max_bytes=_LAST, merged=True)
        except (AgentExecError, OSError):
            return ""  # it was deleted meanwhile
        lines = "".join(piece["text"] for piece in found["merged"]).splitlines()
        line = shown(lines[-1], _LAST) if lines else ""
        if not job.live:
            self._last[job.id] = line
        return line


class JobLog:
    """The last lines of one job; `read` adds what is new. One thread reads, any may look at the view."""

    def __init__(self, jobs: "Jobs", job_id: str) -> None:
        self.view = ShellOutputView()
        self.ended = False
        self._jobs = jobs
        self._id = job_id
        self._cursor: str | None = None

    def read(self) -> bool:
        """Add what has come; return whether there is more to read at once."""
        view = self.view
        if self._cursor is None:
            job = self._jobs.status(self._id)
            words = _words(job)
            view.start(ShellCommandRequest(words[0], words[1:], str(job.get("cwd", ""))))
            found = self._jobs.tail(self._id, tail_lines=view.max_lines, max_bytes=_PIECE, merged=True)
        else:
            found = self._jobs.tail(self._id, cursor=self._cursor, max_bytes=_PIECE, merged=True)
        self._cursor = str(found["cursor"])
        for piece in found["merged"]:
            view.feed(piece["stream"], str(piece["text"]).encode())
        if found.get("more"):
            return True
        if found["state"] in _ENDED and not found["merged"]:
            self._finish()
        return found["state"] in _ENDED and not self.ended

    def fail(self, why: str) -> None:
        """Note that it can no longer be read."""
        self.ended = True
        self.view.finish(None, why)

    def _finish(self) -> None:
        job = self._jobs.status(self._id)
        if job["state"] == "failed":
            self.fail(f"failed: {job.get('message') or job.get('reason') or 'it never ran'}")
            return
        self.ended = True
        signal = job.get("signal")
        code = None if signal else job.get("exit_code")
        duration, began = int(job.get("duration_ms") or 0), int(_began(job) * 1000)
        self.view.finish(ShellExecutionResult(code, "", "", duration, began, signal))


def _row(entry: "dict[str, Any]") -> JobRow:
    state = told = str(entry["state"])
    if entry.get("signal"):
        told = f"{state} {str(entry['signal']).removeprefix('SIG')}"
    elif entry.get("exit_code") is not None:
        told = f"exit={entry['exit_code']}"
    command, cwd = shown(joined(_words(entry)), 500), shown(str(entry.get("cwd", "")))
    return JobRow(str(entry["job_id"]), state, told, _began(entry), command, cwd)


def _words(job: "dict[str, Any]") -> tuple[str, ...]:
    """Return the command of a job, which is a list of words or one line."""
    command = job.get("command") or [""]
    return tuple(map(str, command)) if isinstance(command, list) else (str(command),)


def _began(job: "dict[str, Any]") -> float:
    """Return when a job began, in seconds since 1970; 0 if that is not known."""
    try:
        stamp = str(job.get("started_at") or job.get("created_at"))
        return datetime.fromisoformat(stamp).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0
