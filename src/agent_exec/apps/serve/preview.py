"""Previews: what the processes of a job serve on their ports, shown on an origin of its own.

A second socket serves `/p/JOB/PORT/...` and nothing else, so that a page of a
job is never of the same origin as our own pages and our interface. It takes
the token, or a cookie for one job and port, which a link that works once sets.
"""

import hmac
import os
from base64 import urlsafe_b64encode
from http.cookies import CookieError, SimpleCookie
from ipaddress import ip_address
from time import time
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from agent_exec.apps.serve.operation import Operation
from agent_exec.apps.serve.preview_proxy import Place, forward, relay, wants_websocket
from agent_exec.apps.serve.problems import KIND, HttpError, of_error, problem
from agent_exec.apps.serve.tokens import scope_of
from agent_exec.apps.web.guard import fields, same
from agent_exec.apps.web.listening import bearer
from agent_exec.engine.awaiting import in_thread
from agent_exec.engine.engine import shared_spawner
from agent_exec.faces.answers import answer
from agent_exec.host import Listening, dial
from agent_exec.jobs.record import LOCK, stamp
from agent_exec.model.errors import AgentExecError, Unsupported
from agent_exec.model.jsonline import dump
from agent_exec.tools.define import integer

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp, Receive, Scope, Send

    from agent_exec.apps.serve.operation import Request
    from agent_exec.apps.serve.service import Service
    from agent_exec.apps.web.guard import Guard
    from agent_exec.host import Listener

COOKIE = "agent_exec_preview"
LINK = "agent_exec_link"
LINK_LASTS = 120.0
"""Seconds within which a link must be used."""

COOKIE_LASTS = 12 * 3600.0
"""Seconds for which the cookie is valid that a link sets."""

_DIAL_PATIENCE = 5.0
_MOST_LINKS = 1000
_WITHOUT = "open the link of POST /v1/jobs/JOB/previews, or send the header `Authorization: Bearer TOKEN`"
_CODES = {400: "invalid_argument", 401: "unauthorized", 403: "forbidden", 408: "timed_out", 413: "too_large"}


class Previews:
    """The application of the second socket; `port` is where it listens."""

    def __init__(self, guard: "Guard", token: str, port: int) -> None:
        self.port = port
        self._guard = guard
        self._token = token
        self._links: dict[str, tuple[str, int, float]] = {}
        self.service: Service | None = None
        """Set before the first request."""

    async def close(self) -> None:
        """End nothing: jobs go on."""

    def link(self, job: str, port: int, host: str) -> "tuple[str, float]":
        """Return an address that works once, and until when; `host` is how the client calls this machine."""
        now = time()
        self._links = {code: one for code, one in self._links.items() if one[2] > now}
        while len(self._links) >= _MOST_LINKS:
            del self._links[next(iter(self._links))]
        code, until = os.urandom(24).hex(), now + LINK_LASTS
        self._links[code] = job, port, until
        return f"http://{host}:{self.port}/p/{job}/{port}/?{urlencode({LINK: code})}", until

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        job, port, path = _parts(scope)
        code = "".join(value for name, value in _query(scope) if name == LINK)
        linked = bool(code) and scope["method"] == "GET" and self._use(code, job, port)
        allowed = linked or self._bears(scope, job) or self._has_cookie(scope, job, port)
        if not await self._guard.admit(scope, receive, send, token=allowed, without=_WITHOUT):
            return
        if not job:
            why = f"there is nothing at {scope['path']!r}; previews are at /p/JOB/PORT/"
            await self._guard.drain(scope, receive)
            await _problem(send, *problem("no_such_path", why))
            return
        base = f"/p/{job}/{port}"
        if linked:
            rest = urlencode([(name, value) for name, value in _query(scope) if name != LINK])
            cookie = f"{COOKIE}={self._cookie(job, port)}; Path={base}; HttpOnly; SameSite=Lax"
            await _redirect(send, scope["path"] + (f"?{rest}" if rest else ""), cookie)
            return
        if not path:
            query = scope["query_string"].decode("latin-1")
            await _redirect(send, f"{base}/" + (f"?{query}" if query else ""))
            return
        try:
            wire = await self._connect(job, port)
        except (AgentExecError, HttpError) as error:
            await self._guard.drain(scope, receive)
            await _problem(send, *of_error(error))
            return
        except OSError as error:
            await self._guard.drain(scope, receive)
            why = f"port {port} of job {job} cannot be reached: {error.strerror or error}; try again"
            await _problem(send, 502, problem("unreachable", why, retryable=True)[1])
            return
        place = Place(base, port, fields(scope, "host")[0])
        if wants_websocket(scope):
            await relay(wire, place, path, scope, send)
        else:
            await forward(wire, place, path, scope, receive, send)

    def _use(self, code: str, job: str, port: int) -> bool:
        """True if a link is valid for a job and port; it is not any more then."""
        known = self._links.pop(code, None)
        return known is not None and known[:2] == (job, port) and known[2] > time()

    def _bears(self, scope: "Scope", job: str) -> bool:
        allowed = scope_of(self._token, bearer(scope))
        return allowed is not None and not allowed.read_only and allowed.job in ("", job)

    def _cookie(self, job: str, port: int, until: int = 0) -> str:
        until = until or int(time() + COOKIE_LASTS)
        signed = hmac.digest(self._token.encode(), f"preview.{job}.{port}.{until}".encode(), "sha256")
        return f"{until}.{urlsafe_b64encode(signed).decode().rstrip('=')}"

    def _has_cookie(self, scope: "Scope", job: str, port: int) -> bool:
        site, mode = (",".join(fields(scope, f"sec-fetch-{name}")) for name in ("site", "mode"))
        if site in ("same-site", "cross-site") and mode != "navigate":
            return False  # a page of another port, for which the cookie is not
        for text in fields(scope, "cookie"):
            try:
                found = SimpleCookie(text).get(COOKIE)
            except CookieError:
                continue
            value = found.value if found is not None else ""
            until = value.partition(".")[0]
            if not (until.isascii() and until.isdecimal() and len(until) < 16):
                continue
            if same(value, self._cookie(job, port, int(until))) and int(until) > time():
                return True
        return False

    async def _connect(self, job: str, port: int) -> "socket.socket":
        """Return a connection to a process of the job; raise HttpError if none listens on the port."""
        return await in_thread(lambda: self._dialled(job, port), lambda: None)

    def _dialled(self, job: str, port: int) -> "socket.socket":
        assert self.service is not None
        found = _listening(self.service, self.service.job(job), port)
        wire = dial(_address(found), port, _DIAL_PATIENCE, found.pid, shared_spawner().detach)
        try:
            _listening(self.service, job, port)  # or another process may have taken the port meanwhile
        except BaseException:
            wire.close()
            raise
        wire.setblocking(False)
        return wire


def _look(service: "Service", job: str) -> "tuple[Listener, ...]":
    record = service.jobs.store.find(job)
    return Listening(os.path.join(record.folder, LOCK), record.identity).look()


def _listening(service: "Service", job: str, port: int) -> "Listener":
    """Return the socket of a port that a process of a job listens on."""
    found = _look(service, job)
    for one in found:
        if one.port == port:
            return one
    ports = sorted({one.port for one in found if one.port})
    has = f"it listens on {', '.join(map(str, ports))}" if ports else "it listens on no port"
    raise HttpError(
        "port_not_found", f"no process of job {job} listens on port {port}; {has}", job_id=job, ports=ports
    )


def _address(found: "Listener") -> str:
    """Return the address by which a socket is reached from its own machine."""
    address = ip_address(found.address)
    if address.is_unspecified:
        return "::1" if address.version == 6 else "127.0.0.1"
    return str(address)


def _parts(scope: "Scope") -> tuple[str, int, str]:
    """Return the job, the port and the rest of a path, as it was sent; the job is "" if there is none."""
    raw: str = scope["raw_path"].decode("ascii")
    _, _, rest = raw.partition("/p/")
    job, _, rest = rest.partition("/") if raw.startswith("/p/") else ("", "", "")
    number, slash, path = rest.partition("/")
    if not (job.isascii() and job.isalnum() and number.isdecimal() and 0 < int(number[:6]) < 65536):
        return "", 0, ""
    return job, int(number[:6]), slash + path


def _query(scope: "Scope") -> list[tuple[str, str]]:
    try:
        return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=1000)
    except ValueError:
        return []


async def _redirect(send: "Send", where: str, cookie: str = "") -> None:
    head = [
        (b"location", where.encode("latin-1", "replace")),
        (b"content-length", b"0"),
        (b"cache-control", b"no-store"),
        (b"referrer-policy", b"no-referrer"),
        *([(b"set-cookie", cookie.encode())] if cookie else []),
    ]
    await send({"type": "http.response.start", "status": 303 if cookie else 307, "headers": head})
    await send({"type": "http.response.body", "body": b""})


async def _problem(send: "Send", status: int, told: "dict[str, Any]") -> None:
    body = f"{dump(told)}\n".encode("utf-8", "replace")
    head = [
        (b"content-type", KIND.encode()),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
        *([(b"www-authenticate", b"Bearer")] if status == 401 else []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": body})


def refusal(status: int, message: str) -> "ASGIApp":
    """Return an application that refuses a request."""

    async def refuse(_scope: "Scope", _receive: "Receive", send: "Send") -> None:
        await _problem(send, status, problem(_CODES.get(status, "full"), message)[1])

    return refuse


def _ports(service: "Service", given: "dict[str, Any]", _request: "Request") -> "dict[str, Any]":
    """Return the sockets that processes of a job listen on."""
    found = [
        {"port": one.port, "address": one.address, "family": one.family, "pid": one.pid}
        for one in _look(service, given["job"])
    ]
    return answer("ports", {"job_id": given["job"], "ports": found, "previews": service.previews is not None})


def _preview(service: "Service", given: "dict[str, Any]", request: "Request") -> "dict[str, Any]":
    """Return a link to what a process of a job serves on a port."""
    if service.previews is None:
        raise Unsupported("this server shows no previews; have it started with --preview-port 0")
    job, port = given["job"], given["port"]
    _listening(service, job, port)
    url, until = service.previews.link(job, port, request.host)
    return answer("preview", {"job_id": job, "port": port, "url": url, "expires_at": stamp(until)})


OPERATIONS = (
    Operation("ports", "List the ports that processes of a job listen on.", _ports, reads=True),
    Operation(
        "preview",
        "Make a link, which works once, to what a process of a job serves on a port.",
        _preview,
        {"port": integer("The port.", 1, 65535)},
        ("port",),
    ),
)
