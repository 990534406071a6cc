"""The output of a job, read as it grows into a view such as commands have."""

from agent_exec.apps.shell.jobs.joblist import moment
from agent_exec.faces.slash.line import ShellCommandRequest
from agent_exec.faces.slash.view import ShellExecutionResult, ShellOutputView

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.jobs import Jobs

_PIECE = 1 << 20
_ENDED = ("exited", "killed", "failed")


class JobLog:
    """The last lines of one job; `read` takes what is new. One thread reads, any may look at the view."""

    __slots__ = ("_cursor", "_id", "_jobs", "ended", "view")

    def __init__(self, jobs: "Jobs", job_id: str) -> None:
        self.view = ShellOutputView()
        self.ended = False
        self._jobs = jobs
        self._id = job_id
        self._cursor: str | None = None

    def read(self) -> bool:
        """Take what has come; say whether there is more to be had at once."""
        view = self.view
        if self._cursor is None:
            told = self._jobs.status(self._id)
            command = told.get("command") or [""]
            words = [str(word) for word in command] if isinstance(command, list) else [str(command)]
            view.start(ShellCommandRequest(words[0], tuple(words[1:]), str(told.get("cwd", ""))))
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
        self.ended = True
        told = self._jobs.status(self._id)
        if told["state"] == "failed":
            self.view.finish(None, f"failed: {told.get('message') or told.get('reason') or 'it never ran'}")
            return
        began = moment(told.get("started_at") or told.get("created_at"))
        signal = told.get("signal")
        self.view.finish(
            ShellExecutionResult(
                None if signal else told.get("exit_code"),
                "",
                "",
                int(told.get("duration_ms") or 0),
                int(began * 1000),
                signal,
            )
        )
