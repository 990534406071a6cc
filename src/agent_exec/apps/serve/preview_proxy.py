"""Passes requests on to a port of a job, and its answers back, as they come; and the bytes of websockets.

Neither side sees what is not for it: the job no token and no cookie that it has
not set itself, the browser no header that would reach beyond this preview.
"""

import asyncio
import re
from typing import TYPE_CHECKING

import h11

from agent_exec.apps.web.guard import ORIGIN, fields
from agent_exec.apps.web.server import TRANSPORT, Connection
from agent_exec.model.value import Value

if TYPE_CHECKING:
    import socket

    from starlette.types import Receive, Scope, Send

    Headers = list[tuple[bytes, bytes]]

_PIECE = 64 << 10
_PATIENCE = 30.0
"""Seconds within which a job must have answered that it takes a websocket."""
_MOST_HEAD = 64 << 10
_HOP = frozenset(
    b"connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer "
    b"transfer-encoding upgrade".split()
)
_NOT_SENT = _HOP | frozenset(b"host origin referer authorization cookie content-length expect".split())
_NOT_TOLD = _HOP | frozenset(
    b"set-cookie location content-location service-worker-allowed clear-site-data "
    b"strict-transport-security alt-svc".split()
)
_KEPT = "axp_"
"""What the names of a job's cookies begin with in the browser."""
_PART = re.compile(r"\s*;\s*")


class Place(Value):
    """A preview: the beginning of its paths, its port, and how the client calls us."""

    base: str
    port: int
    host: str

    @property
    def name(self) -> str:
        """How the job is called by its port."""
        return f"localhost:{self.port}"


def wants_websocket(scope: "Scope") -> bool:
    """True if a request asks for a websocket."""
    words = ",".join(fields(scope, "connection")).lower()
    return "upgrade" in words and ",".join(fields(scope, "upgrade")).strip().lower() == "websocket"


def head_of(place: Place, scope: "Scope") -> "Headers":
    """Return the fields of a request as the job gets them, without those of the body and the connection."""
    named = ",".join(fields(scope, "connection")).lower().encode().split(b",")
    dropped = _NOT_SENT | {word.strip() for word in named}
    head = [(name, value) for name, value in scope["headers"] if name not in dropped]
    head.append((b"host", place.name.encode()))
    head.append((b"x-forwarded-host", place.host.encode()))
    head.append((b"x-forwarded-prefix", place.base.encode()))
    if any(name == ORIGIN for name, _ in scope["headers"]):
        head.append((ORIGIN, f"http://{place.name}".encode()))
    pairs = [pair for text in fields(scope, "cookie") for pair in _PART.split(text)]
    cookies = [pair.removeprefix(_KEPT) for pair in pairs if pair.startswith(_KEPT)]
    if cookies:
        head.append((b"cookie", "; ".join(cookies).encode("latin-1")))
    return head


def forwarded(place: Place, headers: "Headers") -> "Headers":
    """Return the fields of an answer as the browser gets them."""
    named = b",".join(value for name, value in headers if name == b"connection").lower().split(b",")
    dropped = _NOT_TOLD | {word.strip() for word in named}
    found = [(name, value) for name, value in headers if name not in dropped]
    for name, value in headers:
        text = value.decode("latin-1")
        if name in (b"location", b"content-location"):
            found.append((name, _moved(place, text).encode("latin-1")))
        elif name == b"set-cookie":
            found.append((name, _cookie(place, text).encode("latin-1")))
    return found


def _moved(place: Place, where: str) -> str:
    """Return an address of the job's as the browser reaches it; one elsewhere as it is."""
    for host in ("localhost", "127.0.0.1", "[::1]", "0.0.0.0"):
        start = f"http://{host}:{place.port}"
        if where == start or where.startswith((f"{start}/", f"{start}?")):
            where = f"/{where[len(start) :].removeprefix('/')}"
    if where.startswith("/") and not where.startswith("//"):
        return place.base + where
    return where


def _cookie(place: Place, text: str) -> str:
    """Return a cookie of the job's, kept under another name and for this preview only."""
    pair, *rest = _PART.split(text)
    path = "/"
    kept = []
    for part in rest:
        name, _, value = part.partition("=")
        if name.lower() == "path" and value.startswith("/"):
            path = value
        elif name.lower() not in ("domain", "path", "secure", "partitioned"):
            kept.append(part)
    return "; ".join((f"{_KEPT}{pair}", *kept, f"Path={place.base}{path}"))


async def forward(
    wire: "socket.socket", place: Place, path: str, scope: "Scope", receive: "Receive", send: "Send"
) -> None:
    """Pass a request on, and the answer back, each as it comes; the connection is closed at the end."""
    reader, writer = await asyncio.open_connection(sock=wire, limit=_PIECE)
    sending = asyncio.ensure_future(_send_request(writer, place, path, scope, receive))
    answering = asyncio.ensure_future(_send_answer(reader, place, scope, send, sending))
    try:
        await asyncio.wait((sending, answering), return_when=asyncio.FIRST_COMPLETED)
        if not answering.done() and sending.result():  # the client has gone
            return
        await answering
    finally:
        for task in (sending, answering):
            task.cancel()
        await asyncio.wait((sending, answering))
        for task in (sending, answering):
            if not task.cancelled():
                task.exception()
        writer.close()


async def _send_request(
    writer: asyncio.StreamWriter, place: Place, path: str, scope: "Scope", receive: "Receive"
) -> bool:
    """Send a request, then wait for the client to go; True once it has."""
    head = head_of(place, scope)
    length = fields(scope, "content-length")
    chunked = bool(fields(scope, "transfer-encoding"))
    if length:
        head.append((b"content-length", length[0].encode()))
    elif chunked:
        head.append((b"transfer-encoding", b"chunked"))
    head.append((b"connection", b"close"))
    try:
        writer.write(_request(scope, path, head))
        more = True
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return True
            data = message.get("body", b"")
            if chunked and data:
                data = b"%x\r\n%s\r\n" % (len(data), data)
            more, before = message.get("more_body", False), more
            if chunked and before and not more:
                data += b"0\r\n\r\n"
            writer.write(data)
            await writer.drain()
    except OSError:  # the job has closed its side, and may have answered before
        while (await receive())["type"] != "http.disconnect":
            pass
        return True


def _request(scope: "Scope", path: str, head: "Headers") -> bytes:
    query = scope["query_string"]
    target = path.encode("ascii") + (b"?" + query if query else b"")
    lines = [scope["method"].encode() + b" " + target + b" HTTP/1.1", *(b"%s: %s" % one for one in head)]
    return b"\r\n".join(lines) + b"\r\n\r\n"


async def _send_answer(
    reader: asyncio.StreamReader,
    place: Place,
    scope: "Scope",
    send: "Send",
    sending: "asyncio.Future[bool]",
) -> None:
    """Read the answer of the job, and send it as it comes."""
    parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MOST_HEAD)
    parser.send(h11.Request(method=scope["method"].encode(), target=b"/", headers=[(b"host", b"job")]))
    parser.send(h11.EndOfMessage())
    begun = False
    try:
        while True:
            event = parser.next_event()
            if event is h11.NEED_DATA:
                parser.receive_data(await reader.read(_PIECE))
            elif isinstance(event, h11.Response):
                begun = True
                head = forwarded(place, [(name.lower(), value) for name, value in event.headers])
                await send({"type": "http.response.start", "status": event.status_code, "headers": head})
            elif isinstance(event, h11.Data):
                await send({"type": "http.response.body", "body": bytes(event.data), "more_body": True})
            elif isinstance(event, h11.EndOfMessage):
                await send({"type": "http.response.body", "body": b""})
                return
            elif isinstance(event, h11.ConnectionClosed) or event is h11.PAUSED:
                break
    except (h11.RemoteProtocolError, OSError):
        pass
    if not begun and not sending.done():
        body = b"the job has closed the connection without an answer that HTTP allows; try again\n"
        head = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 502, "headers": head})
        await send({"type": "http.response.body", "body": body})


class _Client(asyncio.Protocol):
    """The client of a websocket: what it sends is written to the job, no faster than the job reads."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.lost = asyncio.Event()
        self.writable = asyncio.Event()
        self.writable.set()
        self.came = asyncio.Event()
        self.held = bytearray()
        self.transport: asyncio.Transport | None = None

    def data_received(self, data: bytes) -> None:
        self.held += data
        self.came.set()
        if len(self.held) > _PIECE and self.transport is not None:
            self.transport.pause_reading()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self.lost.set()
        self.came.set()
        self.writable.set()

    async def pump(self) -> None:
        """Write what comes, until the client has gone."""
        while not self.lost.is_set():
            await self.came.wait()
            self.came.clear()
            data, self.held = bytes(self.held), bytearray()
            if data:
                self._writer.write(data)
                await self._writer.drain()
            if self.transport is not None and not self.transport.is_closing():
                self.transport.resume_reading()


async def relay(wire: "socket.socket", place: Place, path: str, scope: "Scope", send: "Send") -> None:
    """Join a client that wants a websocket with the job, byte for byte, until one of them closes."""
    reader, writer = await asyncio.open_connection(sock=wire, limit=_PIECE)
    transport: asyncio.Transport = scope["state"][TRANSPORT]
    connection = transport.get_protocol()
    try:
        head = head_of(place, scope)
        head += [(b"connection", b"Upgrade"), (b"upgrade", b"websocket")]
        writer.write(_request(scope, path, head))
        try:
            async with asyncio.timeout(_PATIENCE):
                answer = await reader.readuntil(b"\r\n\r\n")
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            answer = b""
        lines = answer[:-4].split(b"\r\n")
        if lines[0][:13].rstrip() != b"HTTP/1.1 101" or not isinstance(connection, Connection):
            body = b"the job does not take a websocket here\n"
            fixed = [(b"content-type", b"text/plain"), (b"content-length", str(len(body)).encode())]
            await send({"type": "http.response.start", "status": 502, "headers": fixed})
            await send({"type": "http.response.body", "body": body})
            return
        pairs = [
            (name.strip().lower(), value.strip())
            for name, _, value in (line.partition(b":") for line in lines[1:])
        ]
        kept = [*forwarded(place, pairs), (b"connection", b"Upgrade"), (b"upgrade", b"websocket")]
        client = _Client(writer)
        client.transport = transport
        early = connection.give_away(client)
        transport.write(b"\r\n".join([lines[0], *(b"%s: %s" % one for one in kept)]) + b"\r\n\r\n")
        if early:
            client.data_received(early)
        pumping = asyncio.ensure_future(client.pump())
        try:
            while not client.lost.is_set():
                reading = asyncio.ensure_future(reader.read(_PIECE))
                await asyncio.wait((reading, pumping), return_when=asyncio.FIRST_COMPLETED)
                if not reading.done():
                    reading.cancel()
                    await asyncio.wait((reading,))
                    break
                if reading.exception() is not None or not (data := reading.result()):
                    break
                transport.write(data)
                await client.writable.wait()
        finally:
            pumping.cancel()
            await asyncio.wait((pumping,))
            if not pumping.cancelled():
                pumping.exception()
            transport.close()
    finally:
        writer.close()
