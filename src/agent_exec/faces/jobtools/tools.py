"""The tools of jobs: their definitions, and one method for each."""

import os

from agent_exec.faces import answers, defaults
from agent_exec.faces.jobtools.answer import text_of
from agent_exec.faces.jobtools.definitions import NEW, TOOLS, UNTIL, definitions
from agent_exec.jobs.record import OVER
from agent_exec.jobs.stdin import too_large
from agent_exec.jobs.store import short
from agent_exec.logs.stream import STREAMS
from agent_exec.model.errors import AgentExecError, JobNotFound
from agent_exec.requests.folders import Workspace
from agent_exec.requests.variables import secret_values
from agent_exec.tools.schema import check, present
from agent_exec.tools.tool import PATIENCE, Result, Retries, key_of, shows_progress, watch
from agent_exec.views.reader import Source, mask
from agent_exec.views.wanted import AUTO, ENOUGH, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from agent_exec.faces.verbs import Jobs
    from agent_exec.jobs.output import Excerpt
    from agent_exec.model.cancel import Cancel
    from agent_exec.model.choices import Stream
    from agent_exec.sandbox.profile import Profile
    from agent_exec.views.wanted import View

_ENDING = ("exit_code", "signal", "timed_out", "reason", "message", "duration_ms", "note")
_SHOWING = ("run", "tail", "wait")
_SAID = "said"
"""The key of fields that only the text has."""
_REMEMBERED = 1000
"""Of how many jobs it is known what was shown last."""
_AGAIN = (
    "the same call has started this job before, and its answer was not delivered; nothing was started again"
)


class JobTools:
    """All tools of jobs; any thread may call, many at once.

    Jobs run below the folders `roots`, in the first of them if nothing is
    said, confined by `sandbox` if there is one; those that run elsewhere are
    out of reach. No call waits longer than `longest` seconds; `usual` is how
    long one waits that does not say, by default `PATIENCE`, and longer if the
    client shows progress.
    """

    name = "jobs"

    def __init__(
        self,
        jobs: "Jobs",
        roots: "Sequence[str]",
        *,
        sandbox: "Profile | None" = None,
        longest: float,
        usual: float | None = None,
    ) -> None:
        self.jobs = jobs
        self.workspaces = Workspace(*roots)
        self._sandbox = sandbox
        self._free = sandbox is not None and sandbox.name == "full-access"
        self._longest = longest
        self._usual = usual
        self._told: list[dict[str, Any]] = []
        self._retries = Retries()
        self._seen: dict[str, str] = {}  # the cursor of the last answer about each job
        self._secrets = secret_values(os.environ)
        self._given: dict[str, tuple[bytes, ...]] = {}  # the secrets among the variables of a job
        self._tools: dict[str, Callable[[dict[str, Any], Cancel], dict[str, Any]]] = {
            "run": self._run,
            "status": lambda asked, _: self.jobs.status(self._known(asked)),
            "tail": self._tail,
            "wait": self._wait,
            "kill": self._kill,
            "list": self._list,
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools."""
        return TOOLS

    @property
    def instructions(self) -> str:
        """The text about all tools for a model."""
        return (
            "run starts a command as a background job, which outlives this server; wait waits for it, tail "
            "shows its log, kill ends it, list finds it again."
        )

    def definitions(self) -> "list[dict[str, Any]]":
        """Return the definition of each tool."""
        if not self._told:
            self._told = definitions(longest=self._longest, usual=self._usual, sandbox=self._sandbox)
        return self._told

    def call(self, name: str, arguments: object, call: "Cancel") -> "Result":
        """Call a tool; what goes wrong is an answer too."""
        try:
            schema = next(tool["parameters"] for tool in self.definitions() if tool["name"] == name)
            asked = check(name, schema, present(schema, arguments))
            view = self._view(asked)
            answer = self._tools[name](asked, call)
            self._mask(answer)
            if view is not None and answer["ok"] and name in _SHOWING:
                answer[_SAID] = {**answer.get(_SAID, {}), **self._viewed(answer, view)}
        except AgentExecError as error:
            answer = answers.refusal(error)
        except OSError as error:
            answer = answers.refusal(answers.of_the_system(error))
        if "cursor" in answer:
            _remember(self._seen, answer["job_id"], answer["cursor"])
        said = answer.pop(_SAID, {})
        return Result(text_of({**answer, **said}, self.workspaces.root), answer, not answer["ok"])

    def read(self, job_id: str, stream: "Stream", start: int | None, size: int) -> "Excerpt":
        """Return part of a job's output from an offset on; None returns its end."""
        job_id = self._reachable(job_id)
        found = self.jobs.read(job_id, stream, start, size)
        found.data = self._source(job_id, stream, found.start, found.end).between(found.start, found.end)
        return found

    def extent(self, job_id: str, stream: "Stream") -> "tuple[int, bool]":
        """Return the size of a stream, and whether it is final."""
        return self.jobs.extent(self._reachable(job_id), stream)

    def recent(self, limit: int) -> "list[dict[str, Any]]":
        """Return the newest jobs of the workspace."""
        found: list[dict[str, Any]] = self.jobs.list(limit=limit, within=self.workspaces.holds)["jobs"]
        return found

    def close(self) -> None:
        """Do nothing: jobs go on."""

    def _run(self, asked: "dict[str, Any]", call: "Cancel") -> "dict[str, Any]":
        """Start a job, or go on with one that an equal call has started whose answer was not delivered."""
        key = key_of("run", asked)
        known = self._retries.find(key)
        try:
            if isinstance(known, str) and self.jobs.status(known)["state"] not in OVER:
                self._begin(key, known, call)
                patience = self._patience(asked, UNTIL, call)
                return {
                    **self.jobs.wait(known, seconds=patience, conditions=_conditions(asked), cancel=call),
                    "type": "run",
                    _SAID: {"note": _AGAIN},
                }
            return self._start(key, asked, call)
        finally:
            self._retries.answered(key, call)

    def _begin(self, key: str, job_id: str, call: "Cancel") -> None:
        self._retries.began(key, job_id, call)
        self._watch(job_id, call)

    def _start(self, key: str, asked: "dict[str, Any]", call: "Cancel") -> "dict[str, Any]":
        file = asked.get("stdin_file")
        stdin = None if "stdin" not in asked else asked["stdin"].encode("utf-8", "surrogateescape")
        if stdin is not None and len(stdin) > defaults.STDIN_MAX:
            raise too_large("stdin", defaults.STDIN_MAX, "pass it as a file, with stdin_file")
        cwd = self.workspaces.resolve(asked.get("cwd") or ".", "cwd")
        real, fd = (None, -1) if file is None else self._input(file)

        def begin(job_id: str) -> None:
            if given := secret_values(asked.get("env") or {}):
                _remember(self._given, job_id, given)
            self._begin(key, job_id, call)

        try:
            return self.jobs.run(
                asked["command"],
                cwd=cwd,
                env=asked.get("env"),
                stdin=stdin,
                stdin_file=real,
                stdin_fd=fd,
                timeout=asked.get("timeout") or None,
                conditions=_conditions(asked),
                after=self._after(asked.get("after")),
                **_repeated(asked.get("restart")),
                observe=self._patience(asked, UNTIL, call),
                sandbox=None if self._free else self._sandbox,
                cancel=call,
                on_begin=begin,
            )
        finally:
            if fd >= 0:
                os.close(fd)

    def _tail(self, asked: "dict[str, Any]", _call: "Cancel") -> "dict[str, Any]":
        job_id, cursor = self._known(asked), asked.get("cursor")
        told = self.jobs.tail(
            job_id,
            tail_lines=asked.get("lines"),
            max_bytes=asked.get("max_bytes", defaults.MAX_BYTES),
            cursor=self._seen.get(job_id) if cursor == NEW else cursor,
        )
        if told["state"] in OVER:  # how it has ended, so that no other call is needed
            status = self.jobs.status(job_id)
            told[_SAID] = {name: status[name] for name in _ENDING if name in status}
        return told

    def _wait(self, asked: "dict[str, Any]", call: "Cancel") -> "dict[str, Any]":
        job_id = self._known(asked)
        self._watch(job_id, call)
        seconds = self._patience(asked, defaults.WAIT, call)
        return self.jobs.wait(job_id, seconds=seconds, conditions=_conditions(asked), cancel=call)

    def _kill(self, asked: "dict[str, Any]", call: "Cancel") -> "dict[str, Any]":
        """End a job, and watch it end, unless it has longer for that than a call may wait."""
        job_id = self._known(asked)
        grace = (self.jobs.status(job_id).get("kill_after_ms") or 0) / 1000
        return self.jobs.kill(job_id, wait=grace < self._longest, cancel=call)

    def _list(self, asked: "dict[str, Any]", _call: "Cancel") -> "dict[str, Any]":
        return self.jobs.list(
            cwd=self.workspaces.resolve(asked["cwd"], "cwd") if asked.get("cwd") else None,
            states=[asked["state"]] if "state" in asked else (),
            tags=[asked["tag"]] if asked.get("tag") else (),
            limit=asked.get("limit", defaults.LIST_LIMIT),
            within=self.workspaces.holds,
        )

    @staticmethod
    def _view(asked: "dict[str, Any]") -> "View | None":
        """Return the view of a call; one that says how much of the end it wants has none by default."""
        if "view" in asked:
            return parse(asked["view"])
        return None if asked.keys() & {"lines", "max_bytes", "cursor"} else AUTO

    def _viewed(self, answer: "dict[str, Any]", view: "View") -> "dict[str, Any]":
        """Return the output of a job as a view shows it; nothing if the answer has all of it."""
        said: dict[str, Any] = {}
        job_id = answer["job_id"]
        for stream in STREAMS:
            total = answer.get(f"{stream}_total_bytes", 0)
            if view.kind == "auto" and total <= ENOUGH:
                continue
            call = f"tail job_id={short(job_id)} view=range={{start}}-{{end}}"
            text = self.jobs.view(job_id, stream, view, more=call, secrets=self._known_secrets(job_id))
            said |= {stream: text, f"{stream}_range": (0, total)}
        return said

    def _mask(self, answer: "dict[str, Any]") -> None:
        """Mask the secrets in the output that an answer has."""
        for stream in STREAMS if "job_id" in answer and self._known_secrets(answer["job_id"]) else ():
            start, end = answer.get(f"{stream}_range", (0, 0))
            if start < end:
                data = self._source(answer["job_id"], stream, start, end).between(start, end)
                answer[stream] = data.decode(errors="replace")
                short = answer[stream].removesuffix("\n").removesuffix("\r")
                for part in (answer, answer.get("snapshot", {})):
                    if f"{stream}_tail" in part:
                        part[f"{stream}_tail"] = short

    def _known_secrets(self, job_id: str) -> tuple[bytes, ...]:
        return (*self._secrets, *self._given.get(job_id, ()))

    def _source(self, job_id: str, stream: "Stream", start: int, end: int) -> Source:
        def read(start: int, most: int) -> tuple[int, bytes]:
            part = self.jobs.read(job_id, stream, start, most)
            return part.start, part.data

        return Source(read, start, end, self._known_secrets(job_id))

    def _watch(self, job_id: str, call: "Cancel") -> None:
        def printed() -> tuple[int, str]:
            size, line = self.jobs.printed(job_id)
            return size, mask(line.encode(), self._known_secrets(job_id)).decode(errors="replace")

        watch(call, f"job {job_id}", printed)

    def _patience(self, asked: "dict[str, Any]", shown: float, call: "Cancel") -> float:
        """Return how long a call waits: `shown` seconds by default if the client shows progress."""
        default = self._usual
        if default is None:
            default = shown if shows_progress(call) else PATIENCE
        if asked.get("wait_for"):
            default = max(default, defaults.WAIT)  # servers take their time
        return float(min(asked.get("until", default), self._longest))

    def _known(self, asked: "dict[str, Any]") -> str:
        return self._reachable(asked["job_id"])

    def _reachable(self, job_id: str) -> str:
        """Return the whole id of a job; raise JobNotFound if it does not run in the workspace."""
        whole, cwd = self.jobs.locate(job_id)
        if not self.workspaces.holds(cwd):
            raise JobNotFound(
                f"job {job_id} runs in {cwd}, outside of the workspace {', '.join(self.workspaces.roots)}; "
                "have the server started with --workspace for that folder",
                job_id=job_id,
            )
        return whole

    def _after(self, text: str | None) -> "Sequence[str]":
        """Return what a job waits for, which must be a job of the workspace too."""
        if not text:
            return ()
        job, colon, until = text.partition(":")
        return (f"{self._reachable(job)}{colon}{until}",)

    def _input(self, file: str) -> tuple[str, int]:
        """Open a file of input, below the workspace; what a command could not read, we do not read for it.

        Return its real path, which an approver is shown, and the descriptor.
        """
        from agent_exec.faces.sandbox import hidden_by
        from agent_exec.jobs.stdin import from_file

        hidden = hidden_by(self._sandbox, [self.jobs.root]) if self._sandbox is not None else ()
        real = self.workspaces.resolve(file, "stdin_file")
        return real, from_file(file, real=real, hidden=hidden, name="stdin_file", limit=defaults.STDIN_MAX)


def _remember(known: "dict[str, Any]", job_id: str, value: object) -> None:
    """Note something of a job, and forget the oldest of too many."""
    known[job_id] = value
    while len(known) > _REMEMBERED:
        del known[next(iter(known))]


def _repeated(text: str | None) -> "dict[str, Any]":
    """Return how often a command is run: a number of retries, or when it is started again."""
    return {} if not text else {"retry" if text[0].isdecimal() else "restart": text}


def _conditions(asked: "dict[str, Any]") -> "list[str]":
    """Return the conditions of a call, which may be one text or many."""
    given = asked.get("wait_for", [])
    return [given] if isinstance(given, str) else given
