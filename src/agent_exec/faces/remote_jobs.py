"""The jobs of a server: every verb is a request, with the answers and the errors of local jobs."""

import os
from time import monotonic, sleep

from agent_exec.faces import defaults, removing
from agent_exec.faces.routes import ROUTES
from agent_exec.faces.verbs import Jobs
from agent_exec.model import errors
from agent_exec.model.cancel import Cancel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, NoReturn

    from agent_exec.faces.remote import Server

    Answer = dict[str, Any]

STEP = 60.0
"""Seconds that one request waits for a job; a longer wait takes several."""
MOMENT = 0.001
"""Seconds of watching that are as good as none, but for the output, which is shown then."""
PAUSES = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Seconds before each further attempt at a request whose connection was lost: the server may start again."""


def _verb(name: str, *positional: str) -> "Any":
    """Return the method that has the server carry a verb of jobs out."""

    def call(self: "RemoteJobs", *given: "Any", cancel: "Cancel | None" = None, **fields: "Any") -> "Answer":
        asked = dict(zip(positional, given, strict=True)) | fields
        return self._call(name, cancel=cancel, **asked)

    return call


class RemoteJobs(Jobs):
    """The jobs of a server: every verb is a request. Folders, ids and programs are those of its machine."""

    __slots__ = ("_key", "server")

    def __init__(self, server: "Server", key: str = "") -> None:
        self.server = server
        self._key = key

    def once(self, key: str) -> "RemoteJobs":
        """Return the same jobs, of which `run` and `create` start one however often they are called.

        `key` is an idempotency key: the server remembers for a day what it has started.
        """
        return RemoteJobs(self.server, key)

    @property
    def root(self) -> str:
        """The folder of jobs, on the machine of the server."""
        return str(self.server.info()["root"])

    if not TYPE_CHECKING:  # their types are those of Jobs
        status = _verb("status", "job")
        tail = _verb("tail", "job")
        kill = _verb("kill", "job")
        list = _verb("list")
        delete = _verb("delete", "job")
        tag = _verb("tag", "job")
        set_timeout = _verb("timeout", "job", "seconds")
        plan = _verb("plan")
        groups = _verb("groups")
        set_group = _verb("set_group", "group", "slots")
        remove_group = _verb("remove_group", "group")
        events = _verb("events")

        def gc(self, *, older_than=defaults.OLDER_THAN, given="", configured=False, **asked):
            """Delete ended jobs that are too old or too many."""
            told = self._call("gc", older_than=older_than, **asked)
            return {**told, **removing.age(older_than, given, configured=configured)}

        def run(self, argv, *, observe=10.0, cancel=None, on_begin=None, **asked):
            """Start a job, and watch it."""
            return self._begun("run", observe, cancel, on_begin, argv=[*argv], **_plain(asked))

        def create(self, argv, **asked):
            """Create a job that `start` starts."""
            return self._call("create", key=self._key, argv=[*argv], **_plain(asked))

        def start(self, job_id, *, observe=10.0, cancel=None, on_begin=None, **asked):
            """Start a job that was created, and watch it."""
            return self._begun("start", observe, cancel, on_begin, job=job_id, **_plain(asked))

        def restart(self, job_id, *, observe=10.0, cancel=None, on_begin=None, **asked):
            """Start a job once more, and watch it."""
            return self._begun("restart", observe, cancel, on_begin, job=job_id, **_plain(asked))

        def wait(self, job_id, *, seconds=30.0, cancel=None, **asked):
            """Wait for the end of a job, however long that takes: by one request after the other."""
            asked.pop("forks", None)
            begin = monotonic()
            until = None if seconds is None else begin + seconds
            while True:
                left = STEP if until is None else max(0.0, until - monotonic())
                answer = self._call(
                    "wait", job=job_id, seconds=min(left, STEP), cancel=cancel, **_plain(asked)
                )
                over = answer.get("state") not in ("running", "created") or answer.get("ready")
                if over or left < STEP:
                    return {**answer, "waited_ms": int((monotonic() - begin) * 1000)}

        def follow_events(self, *, since=None, job=None, kinds=(), limit=0, seconds=None, cancel=None):
            """Return each event as it happens: so many, so long, or without limit."""
            from threading import Timer

            over = Cancel()
            timer = Timer(seconds or 0, over.set)
            timer.daemon = True
            if seconds is not None:
                timer.start()
            if since in (None, "now"):  # a place that stays, also for a stream that is cut off
                since = self._call("events", since="now", limit=1)["cursor"]
            asked = {"since": since, "job": job, "kinds": [*kinds] or None}
            with (cancel or Cancel()).calling(over.set):
                for number, (_, _, event) in enumerate(self._streamed("events", "", over, **asked), 1):
                    yield event
                    if number == limit:
                        break
            timer.cancel()

    @property
    def store(self) -> "NoReturn":  # type: ignore[override]
        """The folder of jobs is on another machine: verbs that read it themselves do not work here."""
        raise errors.Unsupported(
            "this works on the machine of the jobs only, and these are jobs of a server; do it there",
            url=self.server.url,
        )

    def begin(
        self, verb: str, fields: "dict[str, Any]", observe: float | None, cancel: "Cancel | None"
    ) -> "Answer":
        """Carry out `run`, `create`, `start` or `restart` with the fields of a request."""
        if verb == "create":
            return self._call(verb, key=self._key, **_plain(fields))
        return self._begun(verb, observe, cancel, None, **_plain(fields))

    def follow(self, job_id: str, cursor: str = "", cancel: "Cancel | None" = None) -> "Iterator[Answer]":
        """Yield a job's output as it comes: `stream`, `text`, and the `cursor` to go on from."""
        for name, last, data in self._streamed("tail", cursor, cancel, job=job_id):
            if name == "output":
                yield {**data, "cursor": last}

    def locate(self, job_id: str) -> "tuple[str, str]":
        """Return the whole id of a job, and its working directory."""
        found = self.status(job_id)
        return found["job_id"], str(found.get("cwd", ""))

    def _call(self, name: str, *, key: str = "", cancel: "Cancel | None" = None, **asked: "Any") -> "Answer":
        """Carry an operation out, again if the connection is lost and that starts nothing twice."""
        for pause in PAUSES if key or ROUTES[name][0] == "GET" else ():
            try:
                return self.server.call(name, key=key, cancel=cancel, **asked)
            except errors.Broken as error:
                if not error.details.get("lost") and pause == PAUSES[0]:
                    raise
                if cancel is None:
                    sleep(pause)
                else:
                    cancel.wait(pause)
        return self.server.call(name, key=key, cancel=cancel, **asked)

    def _streamed(
        self, name: str, last: str, cancel: "Cancel | None", **asked: "Any"
    ) -> "Iterator[tuple[str, str, Answer]]":
        """Yield the events of a stream; one that is cut off is gone on with right behind the last event."""
        pauses = iter(PAUSES)
        seen = ""
        while True:
            try:
                for event in self.server.stream(name, last=last, cancel=cancel, **asked):
                    seen, last = event[0], event[1] or last
                    pauses = iter(PAUSES)
                    yield event
                if seen == "end" or (cancel is not None and cancel.is_set()):
                    return
                lost = errors.Broken(f"the stream of {self.server.url} was cut off", lost=True)
            except errors.Broken as error:
                if not (seen or error.details.get("lost")):
                    raise
                lost = error
            pause = next(pauses, None)
            if pause is None:
                raise lost
            sleep(pause)

    def _begun(
        self,
        name: str,
        observe: float | None,
        cancel: "Cancel | None",
        on_begin: "Callable[[str], object] | None",
        **asked: "Any",
    ) -> "Answer":
        """Begin a job, and watch it for so many seconds, or without limit.

        A longer watch is the same request again: its key makes that watch the job that it has begun.
        """
        key = self._key
        if not key and (observe is None or observe > STEP):
            key = os.urandom(16).hex()
        begin = monotonic()
        until = None if observe is None else begin + observe
        left = STEP if observe is None else observe
        while True:
            answer = self._call(name, key=key, observe=min(left, STEP), cancel=cancel, **asked)
            if "job_id" not in answer:
                return answer
            if on_begin is not None:
                on_begin(answer["job_id"])
                on_begin = None
            over = answer.get("state") not in ("running", "created") or answer.get("ready")
            if over or left <= MOMENT or (observe is not None and observe <= STEP):
                return {**answer, "elapsed_ms": int((monotonic() - begin) * 1000)}
            left = STEP if until is None else max(MOMENT, until - monotonic())


def _plain(asked: "dict[str, Any]") -> "dict[str, Any]":
    """Return what is asked of a job as JSON has it: input as text, a profile by its name."""
    found = {name: value for name, value in asked.items() if value is not None and value != ()}
    if "stdin" in found:
        found["stdin"] = found["stdin"].decode("utf-8", "surrogateescape")
    if not isinstance(found.get("sandbox", ""), str):
        found["sandbox"] = found["sandbox"].name
    for name in ("after", "needs", "conditions", "ports", "tags"):
        if isinstance(found.get(name), str):
            found[name] = [found[name]]
    for name in ("retry", "interval", "at"):
        if name in found:
            found[name] = str(found[name])
    if "cwd" in found:
        found["cwd"] = os.fspath(found["cwd"])
    return found
