"""The conversation with one client: its requests, our own, cancellation, and the era of the protocol.

A client that shakes hands (`initialize`, until 2025-11-25) says once what it
can do, and is asked by requests of ours. Since 2026-07-28 each request says
it, and is answered with the question.
"""

import sys
from threading import Event, Lock

from agent_exec.apps.mcp.rpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_VERSION,
    RpcError,
    field,
)
from agent_exec.model.cancel import Cancel
from agent_exec.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.apps.mcp.rpc import Id, Message
    from agent_exec.apps.mcp.server import Server

    Send = Callable[[Message | None], object]  # None: no answer will come

HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"

_KEY = "io.modelcontextprotocol/"
VERSION, CAPABILITIES = f"{_KEY}protocolVersion", f"{_KEY}clientCapabilities"
CLIENT_INFO, SERVER_INFO = f"{_KEY}clientInfo", f"{_KEY}serverInfo"
LOG_LEVEL, SUBSCRIPTION = f"{_KEY}logLevel", f"{_KEY}subscriptionId"
INFO = {"name": "agent-exec", "version": __version__}


class Request:
    """One request of a client, from its arrival to its answer; any thread may use it."""

    __slots__ = (
        "_lock",
        "_send",
        "cancel",
        "capabilities",
        "connection",
        "id",
        "meta",
        "method",
        "modern",
        "params",
    )

    def __init__(self, connection: "Connection", message: "Message", send: "Send") -> None:
        self.connection = connection
        self.id: Id = message["id"]
        self.method: str = message["method"]
        self.params: Message = message.get("params") or {}
        self.meta: Message = {}
        self.modern = False
        self.capabilities: Message = {}
        """What the client can do."""
        self.cancel = Cancel()
        """Set when the client cancels it, or is gone."""
        self._send: Send | None = send
        self._lock = Lock()

    def notify(self, method: str, params: "Message") -> None:
        """Send a notification about this request, until it is answered."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def send(self, message: "Message") -> None:
        """Send a message that belongs to this request, until it is answered."""
        with self._lock:
            if self._send is not None:
                self._send(message)

    def finish(self, result: "Message") -> None:
        """Answer."""
        if self.modern:
            meta = {**result.get("_meta", {}), SERVER_INFO: INFO}
            result = {"resultType": "complete", **result, "_meta": meta}
        self.end({"jsonrpc": "2.0", "id": self.id, "result": result})

    def end(self, answer: "Message | None") -> None:
        """Send the answer, if there is one, and nothing after it."""
        self.connection.forget(self)
        with self._lock:
            send, self._send = self._send, None
            if send is not None:
                send(answer)

    def withdraw(self) -> None:
        """Cancel what it does; it gets no answer."""
        self.end(None)
        self.cancel.set()


class Connection:
    """One client over one transport; `send` takes what belongs to none of its requests.

    `modern` says which era the client is of; None: its first request decides.
    """

    def __init__(self, server: "Server", send: "Send", *, modern: bool | None = None) -> None:
        self._server = server
        self._send = send
        self._modern = modern
        self._greeted = False
        self._capabilities: Message = {}
        self._info: Message = {}
        self._lock = Lock()
        self._running: dict[Id, Request] = {}
        self._asked: dict[Id, tuple[Event, list[Message]]] = {}
        self._last = 0
        self._closed = False

    def receive(self, message: "Message", send: "Send | None" = None) -> Request | None:
        """Take a message of the client's; return the request that it is.

        `send` takes all that belongs to a request, its answer last.
        """
        if "method" not in message:
            with self._lock:
                waiting = self._asked.pop(message["id"], None)
            if waiting is not None:
                waiting[1].append(message)
                waiting[0].set()
            return None
        if "id" not in message:
            if message["method"] == "notifications/cancelled":
                self._withdraw((message.get("params") or {}).get("requestId"))
            return None
        request = Request(self, message, send or self._send)
        with self._lock:
            if self._closed:
                request.cancel.set()
            self._running[request.id] = request
        try:
            self._admit(request)
            result = self._server.serve(request)
            if result is not None:
                request.finish(result)
        except RpcError as error:
            request.end(error.answer(request.id))
        except Exception as error:
            sys.excepthook(type(error), error, error.__traceback__)  # on stderr
            own = f"{request.method} failed by an error of agent-exec's own: {error!r}; report it"
            request.end(RpcError(INTERNAL_ERROR, own).answer(request.id))
        return request

    def notify(self, method: str, params: "Message") -> None:
        """Send a notification that belongs to no request."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def greet(self, request: Request) -> str:
        """Take what the client says of itself in `initialize`; return the version that is spoken."""
        wanted = field(request.params, "protocolVersion", str)
        self._capabilities = field(request.params, "capabilities", dict)
        self._info = field(request.params, "clientInfo", dict)
        self._greeted = True
        return wanted if wanted in HANDSHAKE else HANDSHAKE[-1]

    def client_of(self, request: Request) -> str:
        """Return the name that the client of a request gives itself; empty if it gives none."""
        info = request.meta.get(CLIENT_INFO) if request.modern else self._info
        name = info.get("name") if isinstance(info, dict) else None
        return name if isinstance(name, str) else ""

    def ask(
        self,
        request: Request,
        method: str,
        params: "Message | None" = None,
        seconds: float | None = None,
        cancel: Cancel | None = None,
    ) -> "Message":
        """Send the client a request on behalf of one of its own; return the result.

        Raise RpcError if it answers with an error, with nonsense, or not in
        time, if it cancels its own request meanwhile, and once `cancel` is
        set. A request that is not waited for any longer is cancelled.
        """
        answered, answers = Event(), list["Message"]()
        with self._lock:
            self._last += 1
            number = self._last
            self._asked[number] = answered, answers
        request.send(
            {"jsonrpc": "2.0", "id": number, "method": method, **({"params": params} if params else {})}
        )
        with request.cancel.calling(answered.set), (cancel or request.cancel).calling(answered.set):
            answered.wait(seconds)
        with self._lock:
            self._asked.pop(number, None)
        if not answers:
            given_up = {"requestId": number, "reason": "the answer is not waited for any longer"}
            (self if request.cancel.is_set() else request).notify("notifications/cancelled", given_up)
            raise RpcError(INVALID_REQUEST, "the client gave no answer")
        result = answers[0].get("result")
        if not isinstance(result, dict):
            raise RpcError(INVALID_REQUEST, "the client's answer is an error")
        return result

    def forget(self, request: Request) -> None:
        """Forget a request that is answered."""
        with self._lock:
            if self._running.get(request.id) is request:
                del self._running[request.id]

    def close(self) -> None:
        """Cancel all requests, and those that still come."""
        with self._lock:
            self._closed = True
        for of in tuple(self._running):
            self._withdraw(of)

    def _withdraw(self, of: object) -> None:
        request = self._running.get(of) if isinstance(of, int | str) else None
        if request is not None and request.method != "initialize":
            request.withdraw()

    def _admit(self, request: Request) -> None:
        """Find the era of a request and what its client can do; raise RpcError if it cannot be served."""
        meta = request.meta = field(request.params, "_meta", dict, {})
        if not isinstance(meta.get("progressToken"), str | int | None):
            raise RpcError(INVALID_PARAMS, "progressToken must be a text or a whole number")
        if self._modern is None:
            self._modern = request.method != "initialize" and VERSION in meta
        request.modern = self._modern
        eras = self._server.methods.get(request.method, ((), None))[0]
        if self._modern:
            if request.method == "initialize":
                raise unsupported(
                    request.params.get("protocolVersion"),
                    f"this connection speaks {MODERN}, which has no initialize; begin another one",
                )
            self._check_envelope(request)
        if request.modern not in eras:
            raise RpcError(METHOD_NOT_FOUND, f"there is no method {request.method!r} here", request.method)
        if not request.modern:
            request.capabilities = self._capabilities
            if not self._greeted and request.method not in ("initialize", "ping"):
                raise RpcError(INVALID_PARAMS, "send initialize first")

    def _check_envelope(self, request: Request) -> None:
        for key in (VERSION, CAPABILITIES):
            if key not in request.meta:
                raise RpcError(INVALID_PARAMS, f"params._meta must hold {VERSION} and {CAPABILITIES}")
        if field(request.meta, VERSION, str) != MODERN:
            raise unsupported(request.meta[VERSION])
        request.capabilities = field(request.meta, CAPABILITIES, dict)
        if request.meta.get(LOG_LEVEL) is not None and request.meta[LOG_LEVEL] not in LEVELS:
            raise RpcError(INVALID_PARAMS, f"{LOG_LEVEL} must be one of {', '.join(LEVELS)}")


LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""Of the client's log, the least first."""


def unsupported(version: object, why: str = "this version of the protocol is not spoken here") -> RpcError:
    """Return the error for a version that is not spoken."""
    data = {"supported": [MODERN], **({"requested": version} if isinstance(version, str) else {})}
    return RpcError(UNSUPPORTED_VERSION, why, data)
