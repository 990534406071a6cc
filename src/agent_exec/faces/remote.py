"""A client of `agent-exec serve`: its jobs are used as local ones are, and its errors are ours."""

import http.client
from http import HTTPStatus
from urllib.parse import quote, urlencode, urlsplit

from agent_exec.faces.remote_jobs import RemoteJobs
from agent_exec.faces.routes import IN_QUERY, ROUTES
from agent_exec.model import errors
from agent_exec.model.jsonline import dump, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from agent_exec.faces.remote_terminal import RemoteTerminal
    from agent_exec.faces.remote_tools import RemoteTools
    from agent_exec.model.cancel import Cancel

    Answer = dict[str, Any]

_LOCAL = ("http", "http+unix")
_CONNECT_PATIENCE = 10.0
"""Seconds within which a server must have accepted a connection."""
_PATIENCE = 120.0
"""Seconds within which something must come of an answer."""
_PATIENT = ("exec", "call_tool")
"""Operations that take as long as what they run."""


def connect(url: str, token: str) -> "Server":
    """Return a client of the server at a URL: http://HOST:PORT, or http+unix:///PATH for a Unix socket.

    `token` is the server's own, or one that `agent-exec serve token` made.
    Nothing is sent yet. Any thread may use the client, many at once.
    """
    return Server(url, token)


class Server:
    """A server of agent-exec that is elsewhere; `jobs` are its jobs, `tools` those of its sessions."""

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

    @property
    def tools(self) -> "RemoteTools":
        """The tools of its sessions, used as those that `open_tools` returns."""
        from agent_exec.faces.remote_tools import RemoteTools

        return RemoteTools(self)

    def sessions(self) -> "list[dict[str, Any]]":
        """Return the sessions of the server, and those of all other servers of its user."""
        found: list[dict[str, Any]] = self.call("list_sessions")["sessions"]
        return found

    def attach(
        self,
        session: int | str,
        *,
        offset: int | None = None,
        skip: int | None = None,
        name: str | None = None,
    ) -> "RemoteTerminal":
        """Return a connection to the terminal of a session, named by its `id` in `sessions`; close it.

        Output comes from `offset` on; without one, what is on the screen comes first, as a
        snapshot. With `skip`, a snapshot takes the place of output whenever this viewer is so many
        bytes behind. `name` is what other viewers of the terminal read.
        """
        from agent_exec.faces.remote_terminal import RemoteTerminal, dial

        _, path, _ = _target("terminal", {"session": session, "offset": offset, "skip": skip, "name": name})
        host = "localhost" if self._unix else self._address
        head = {"Authorization": f"Bearer {self._token}"}
        return RemoteTerminal(
            dial(f"ws://{host}{path}", head, lambda: self._connection(None).sock), str(session)
        )

    async def aattach(self, session: int | str, **asked: "Any") -> "RemoteTerminal":
        """Attach as `attach` does, and await the connection, under asyncio or trio."""
        from agent_exec.engine.awaiting import in_thread

        return await in_thread(lambda: self.attach(session, **asked), lambda: None)

    def call(self, name: str, *, key: str = "", cancel: "Cancel | None" = None, **fields: "Any") -> "Answer":
        """Carry an operation out, and return its answer; raise the AgentExecError that the server has raised.

        Fields that are None are left out. `key` is an idempotency key. A
        request that is cancelled is not waited for.
        """
        method, path, given = _target(name, fields)
        body = None if method in IN_QUERY else dump(given).encode("utf-8", "surrogateescape")
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if key:
            headers["Idempotency-Key"] = key
        connection = self._connection(None if name in _PATIENT else _PATIENCE)
        try:
            if cancel is None:
                return self._exchange(connection, method, path, body, headers)
            with cancel.calling(lambda: _cut(connection)):
                return self._exchange(connection, method, path, body, headers)
        except (OSError, http.client.HTTPException) as error:
            if cancel is not None and cancel.is_set():
                raise errors.Interrupted("the request was cancelled; look what has been done") from None
            raise self._broken(error, lost=True) from None
        finally:
            connection.close()

    def stream(
        self, name: str, *, last: str = "", cancel: "Cancel | None" = None, **fields: "Any"
    ) -> "Iterator[tuple[str, str, Answer]]":
        """Yield the events of `tail` or `events` as name, cursor, data; `last` is a cursor to go on from."""
        _, path, _ = _target(name, fields)
        headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
        connection = self._connection()
        try:
            answer = self._send(connection, "GET", path, None, headers)
            if answer.status != HTTPStatus.OK:
                raise error_of(load(answer.read().decode()))
            if cancel is None:
                yield from _events(answer)
            else:
                with cancel.calling(lambda: _cut(connection)):
                    yield from _events(answer)
        except (OSError, http.client.HTTPException) as error:
            if cancel is None or not cancel.is_set():
                raise errors.Broken(
                    f"the stream of {self.url} was cut off: {error}; see that the server runs, and try again",
                    url=self.url,
                    lost=True,
                ) from None
        finally:
            connection.close()

    def _connection(self, patience: float | None = _PATIENCE) -> http.client.HTTPConnection:
        """Return an open connection; raise Broken if there is none to be had."""
        connection = http.client.HTTPConnection(
            "localhost" if self._unix else self._address, timeout=_CONNECT_PATIENCE
        )
        try:
            if self._unix:
                from agent_exec.host import connect_unix

                connection.sock = connect_unix(self._address, patience)
            else:
                connection.connect()
                connection.sock.settimeout(patience)
        except OSError as error:
            raise self._broken(error, lost=False) from None
        return connection

    def _broken(self, error: Exception, *, lost: bool) -> errors.Broken:
        """Return the error of a server that does not answer; `lost` if it may have had the request."""
        why = str(error) or type(error).__name__
        return errors.Broken(
            f"the server at {self.url} does not answer: {why}; see that it runs, and try again",
            url=self.url,
            lost=lost,
        )

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
        raise error_of(told)


def _target(name: str, fields: "dict[str, Any]") -> "tuple[str, str, dict[str, Any]]":
    """Return the method and the path of a request, with its query, and the fields that its body has."""
    method, path = ROUTES[name]
    given = {field: value for field, value in fields.items() if value is not None}
    for field in list(given):
        if f"{{{field}}}" in path:
            path = path.replace(f"{{{field}}}", quote(str(given.pop(field)), safe=""))
    if method in IN_QUERY and given:
        query = urlencode({field: _text(value) for field, value in given.items()}, doseq=True)
        return method, f"{path}?{query}", {}
    return method, path, given


def _text(value: "Any") -> "Any":
    if isinstance(value, bool):
        return "true" if value else "false"
    return [str(one) for one in value] if isinstance(value, list | tuple) else value


def error_of(told: "Answer") -> errors.AgentExecError:
    """Return the error that a problem of the server stands for: of the class with its code."""
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
                raise error_of(load(fields["data"]))
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
