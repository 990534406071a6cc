"""A client of `agent-exec serve`: its jobs are used as local ones are, and its errors are ours."""

import http.client
import os
from http import HTTPStatus
from time import monotonic
from urllib.parse import quote, urlencode, urlsplit

from agent_exec.faces.routes import IN_QUERY, ROUTES
from agent_exec.faces.verbs import Jobs
from agent_exec.model import errors
from agent_exec.model.cancel import Cancel
from agent_exec.model.jsonline import dump, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    Answer = dict[str, Any]

_LOCAL = ("http", "http+unix")
_PATIENCE = 120.0
"""Seconds within which something must come of an answer; a command that is run to its end may take longer."""
_STEP = 60.0
"""Seconds that one request waits for a job; a longer wait takes several."""


def connect(url: str, token: str) -> "Server":
    """Return a client of the server at a URL: http://HOST:PORT, or http+unix:///PATH for a Unix socket.

    `token` is the server's own, or one that `agent-exec serve token` made.
    Nothing is sent yet. Any thread may use the client, many at once.
    """
    return Server(url, token)


class Server:
    """A server of agent-exec that is elsewhere; `jobs` are its jobs."""

    __slots__ = ("_address", "_token", "_unix", "jobs", "url")

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in _LOCAL or not (parts.netloc or parts.path.strip("/")):
            raise errors.InvalidArgument(
                f"{url!r} is not the URL of a server: use http://HOST:PORT or http+unix:///PATH"
            )
        self.url = url.rstrip("/")
        self._token = token
        self._unix = parts.scheme == "http+unix"
        self._address = parts.path if self._unix else parts.netloc
        self.jobs = RemoteJobs(self)

    def info(self) -> "Answer":
        """Return what the server is: its version, workspaces and sandbox."""
        return self.call("info")

    def exec(self, command: "Sequence[str]", *, key: str = "", **fields: "Any") -> "Answer":
        """Run a command once to its end, as `Toolkit.exec_command` does."""
        return self.call("exec", key=key, command=list(command), **fields)

    def explain(self, command: "Sequence[str] | str", *, cwd: str | None = None) -> "Answer":
        """Return what the server's rules make of a command or a line."""
        asked = {"line": command} if isinstance(command, str) else {"argv": list(command)}
        return self.call("explain", cwd=cwd, **asked)

    def call(self, name: str, *, key: str = "", cancel: "Cancel | None" = None, **fields: "Any") -> "Answer":
        """Carry an operation out, and return its answer; raise the AgentExecError that the server has raised.

        Fields that are None are left out. `key` is an idempotency key. A
        request that is cancelled is not waited for.
        """
        method, path = ROUTES[name]
        given = {field: value for field, value in fields.items() if value is not None}
        for field in list(given):
            if f"{{{field}}}" in path:
                path = path.replace(f"{{{field}}}", quote(str(given.pop(field)), safe=""))
        if method in IN_QUERY and given:
            path = f"{path}?{urlencode({field: _text(value) for field, value in given.items()}, doseq=True)}"
        body = None if method in IN_QUERY else dump(given).encode("utf-8", "surrogateescape")
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if key:
            headers["Idempotency-Key"] = key
        connection = self._connection(None if name == "exec" else _PATIENCE)
        try:
            if cancel is None:
                return self._exchange(connection, method, path, body, headers)
            with cancel.calling(lambda: _cut(connection)):
                return self._exchange(connection, method, path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            if cancel is not None and cancel.is_set():
                raise errors.Interrupted("the request was cancelled; look what has been done") from None
            why = str(error) or type(error).__name__
            raise errors.Broken(
                f"the server at {self.url} does not answer: {why}; see that it runs, and try again",
                url=self.url,
            ) from None
        finally:
            connection.close()

    def stream(
        self, name: str, *, last: str = "", cancel: "Cancel | None" = None, **fields: "Any"
    ) -> "Iterator[tuple[str, str, Answer]]":
        """Yield the events of `tail` or `events` as name, cursor, data; `last` is a cursor to go on from."""
        _, path = ROUTES[name]
        given = {field: value for field, value in fields.items() if value is not None}
        path = path.replace("{job}", quote(str(given.pop("job", "")), safe=""))
        query = urlencode({field: _text(value) for field, value in given.items()}, doseq=True)
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
        connection = self._connection()
        try:
            answer = self._send(connection, "GET", f"{path}?{query}" if query else path, None, headers)
            if answer.status != HTTPStatus.OK:
                raise _error(load(answer.read().decode()))
            if cancel is None:
                yield from _events(answer)
            else:
                with cancel.calling(lambda: _cut(connection)):
                    yield from _events(answer)
        except (OSError, http.client.HTTPException) as error:
            if cancel is None or not cancel.is_set():
                raise errors.Broken(f"the stream of {self.url} was cut off: {error}", url=self.url) from None
        finally:
            connection.close()

    def _connection(self, patience: float | None = _PATIENCE) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(
            "localhost" if self._unix else self._address, timeout=patience
        )
        if self._unix:
            from agent_exec.host import connect_unix

            connection.sock = connect_unix(self._address, patience)
        return connection

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        headers: "Mapping[str, str]",
    ) -> http.client.HTTPResponse:
        connection.request(method, path, body, {"Authorization": f"Bearer {self._token}", **headers})
        return connection.getresponse()

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        headers: "Mapping[str, str]",
    ) -> "Answer":
        answer = self._send(connection, method, path, body, headers)
        text = answer.read().decode("utf-8", "surrogateescape").strip()
        try:
            told: Answer = load(text)
        except ValueError:
            raise errors.Broken(
                f"{self.url} is no server of agent-exec: it answers {answer.status}", url=self.url
            ) from None
        if answer.status == HTTPStatus.OK:
            return told
        if "answer" in told:  # a job that could not be started: an answer, as it is locally
            error = {name: told[name] for name in ("code", "retryable", "details") if name in told}
            return {**told["answer"], "error": {**error, "message": told["detail"]}}
        raise _error(told)


def _verb(name: str, *positional: str) -> "Any":
    """Return the method that has the server carry a verb of jobs out."""

    def call(self: "RemoteJobs", *given: "Any", cancel: "Cancel | None" = None, **fields: "Any") -> "Answer":
        asked = dict(zip(positional, given, strict=True)) | fields
        return self.server.call(name, cancel=cancel, **asked)

    return call


class RemoteJobs(Jobs):
    """The jobs of a server: every verb is a request. Folders, ids and programs are those of its machine."""

    __slots__ = ("_key", "server")

    def __init__(self, server: Server, key: str = "") -> None:
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
        gc = _verb("gc")
        plan = _verb("plan")
        groups = _verb("groups")
        set_group = _verb("set_group", "group", "slots")
        remove_group = _verb("remove_group", "group")
        events = _verb("events")

        def run(self, argv, *, observe=10.0, cancel=None, on_begin=None, **asked):
            """Start a job, and watch it."""
            return self._watched(
                "run", observe, cancel, on_begin, key=self._key, argv=[*argv], **_plain(asked)
            )

        def create(self, argv, **asked):
            """Create a job that `start` starts."""
            return self.server.call("create", key=self._key, argv=[*argv], **_plain(asked))

        def start(self, job_id, *, observe=10.0, cancel=None, on_begin=None, **asked):
            """Start a job that was created, and watch it."""
            return self._watched("start", observe, cancel, on_begin, job=job_id, **_plain(asked))

        def restart(self, job_id, *, observe=10.0, cancel=None, on_begin=None, **asked):
            """Start a job once more, and watch it."""
            return self._watched("restart", observe, cancel, on_begin, job=job_id, **_plain(asked))

        def wait(self, job_id, *, seconds=30.0, cancel=None, **asked):
            """Wait for the end of a job, however long that takes: by one request after the other."""
            asked.pop("forks", None)
            until = None if seconds is None else monotonic() + seconds
            while True:
                left = _STEP if until is None else max(0.0, until - monotonic())
                answer = self.server.call(
                    "wait", job=job_id, seconds=min(left, _STEP), cancel=cancel, **_plain(asked)
                )
                over = answer.get("state") not in ("running", "created") or answer.get("ready")
                if over or left < _STEP:
                    return answer

        def follow_events(self, *, since=None, job=None, kinds=(), limit=0, seconds=None, cancel=None):
            """Return each event as it happens: so many, so long, or without limit."""
            from threading import Timer

            over = Cancel()
            timer = Timer(seconds or 0, over.set)
            timer.daemon = True
            if seconds is not None:
                timer.start()
            with (cancel or Cancel()).calling(over.set):
                found = self.server.stream(
                    "events", since=since, job=job, kinds=[*kinds] or None, cancel=over
                )
                for number, (_, _, event) in enumerate(found, 1):
                    yield event
                    if number == limit:
                        break
            timer.cancel()

    def follow(self, job_id: str, cursor: str = "", cancel: "Cancel | None" = None) -> "Iterator[Answer]":
        """Yield a job's output as it comes: `stream`, `text`, and the `cursor` to go on from."""
        for name, last, data in self.server.stream("tail", last=cursor, job=job_id, cancel=cancel):
            if name == "output":
                yield {**data, "cursor": last}

    def locate(self, job_id: str) -> "tuple[str, str]":
        """Return the whole id of a job, and its working directory."""
        found = self.status(job_id)
        return found["job_id"], str(found.get("cwd", ""))

    def _watched(
        self,
        name: str,
        observe: float | None,
        cancel: "Cancel | None",
        on_begin: "Callable[[str], object] | None",
        **asked: "Any",
    ) -> "Answer":
        """Begin a job, and watch it for so many seconds, or without limit."""
        short = _STEP if observe is None else min(observe, _STEP)
        answer = self.server.call(name, observe=short, cancel=cancel, **asked)
        if "job_id" not in answer:
            return answer
        if on_begin is not None:
            on_begin(answer["job_id"])
        if (
            answer.get("state") != "running"
            or (observe is not None and observe <= _STEP)
            or answer.get("ready")
        ):
            return answer
        left = None if observe is None else observe - _STEP
        return {**self.wait(answer["job_id"], seconds=left, cancel=cancel), "type": name}


def _plain(asked: "dict[str, Any]") -> "dict[str, Any]":
    """Return what is asked of a job as JSON has it: input as text, a profile by its name."""
    found = {name: value for name, value in asked.items() if value is not None and value != ()}
    if "stdin" in found:
        found["stdin"] = found["stdin"].decode("utf-8", "surrogateescape")
    if "sandbox" in found:
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


def _text(value: "Any") -> "Any":
    if isinstance(value, bool):
        return "true" if value else "false"
    return [str(one) for one in value] if isinstance(value, list | tuple) else value


def _error(told: "Answer") -> errors.AgentExecError:
    """Return the error that a problem stands for: of the class with its code."""
    kind = _kinds(errors.AgentExecError).get(str(told.get("code")), errors.AgentExecError)
    details = told.get("details")
    made = kind(str(told.get("detail")), **(details if isinstance(details, dict) else {}))
    made.retryable = bool(told.get("retryable"))
    if made.code != told.get("code"):
        made.code = str(told.get("code"))
    return made


def _kinds(kind: "type[errors.AgentExecError]") -> "dict[str, type[errors.AgentExecError]]":
    found = {kind.code: kind}
    for one in kind.__subclasses__():
        found = {**_kinds(one), **found}
    return found


def _events(answer: http.client.HTTPResponse) -> "Iterator[tuple[str, str, Answer]]":
    fields: dict[str, str] = {}
    for line in answer:
        name, _, value = line.decode("utf-8", "surrogateescape").rstrip("\r\n").partition(": ")
        if name and not line.startswith(b":"):
            fields[name] = value
        elif "data" in fields:
            event = fields.get("event", "")
            if event == "error":
                raise _error(load(fields["data"]))
            yield event, fields.get("id", ""), load(fields["data"])
            fields = {}


def _cut(connection: http.client.HTTPConnection) -> None:
    """End a connection that another thread reads from."""
    wire = connection.sock
    if wire is not None:
        try:
            wire.shutdown(2)
        except OSError:
            return
