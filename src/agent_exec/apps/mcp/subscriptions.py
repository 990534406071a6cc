"""Notifies subscribers of outputs that grow; checks nothing while there are none."""

from threading import Lock

from agent_exec.apps.mcp.connection import SUBSCRIPTION
from agent_exec.apps.mcp.rpc import INVALID_PARAMS, RpcError, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agent_exec.apps.mcp.clock import Clock, Tick
    from agent_exec.apps.mcp.connection import Connection, Request
    from agent_exec.apps.mcp.resources import State
    from agent_exec.apps.mcp.rpc import Message

EVERY = 0.5
"""Seconds between two looks, and so between two notes about one output."""

_MOST = 1000
"""How many outputs are looked at."""

_LISTENERS = 256
"""How many subscribers an output may have."""

_UPDATED = "notifications/resources/updated"
_CHANGES = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")


class Watching:
    """The subscribers of each output: a connection that subscribed, or a request that listens."""

    def __init__(self, state: "Callable[[str], State | None]", clock: "Clock") -> None:
        self._state = state
        self._clock = clock
        self._tick: Tick | None = None
        self._lock = Lock()
        self._seen: dict[str, State | None] = {}
        self._heard: dict[str, dict[Connection | Request, Message]] = {}

    def subscribe(self, request: "Request") -> "Message":
        """Tell this client of an output from now on."""
        uri = field(request.params, "uri", str)
        if self._state(uri) is None:
            raise RpcError(INVALID_PARAMS, f"there is no resource {uri!r}; resources/list shows some")
        self._add([uri], request.connection, {})
        return {}

    def unsubscribe(self, request: "Request") -> "Message":
        """Tell it no more."""
        self._leave([field(request.params, "uri", str)], request.connection)
        return {}

    def listen(self, request: "Request") -> None:
        """Tell this client of some outputs, until it cancels the request or hangs up."""
        wanted = field(request.params, "notifications", dict)
        named = field(wanted, "resourceSubscriptions", list, [])
        if not all(isinstance(one, str) for one in named):
            raise RpcError(INVALID_PARAMS, "resourceSubscriptions must be a list of texts")
        uris = list(dict.fromkeys(named))
        meta = {"_meta": {SUBSCRIPTION: request.id}}
        self._add(uris, request, meta)
        honored: Message = {name: True for name in _CHANGES if wanted.get(name) is True}
        if uris:
            honored["resourceSubscriptions"] = uris
        request.notify("notifications/subscriptions/acknowledged", {**meta, "notifications": honored})
        request.cancel.calling(lambda: self._leave(uris, request)).__enter__()

    def _add(self, uris: "list[str]", who: "Connection | Request", meta: "Message") -> None:
        with self._lock:
            if len(self._seen.keys() | uris) > _MOST:
                raise RpcError(
                    INVALID_PARAMS, f"{_MOST} resources are subscribed to; unsubscribe from some first"
                )
            if any(len(self._heard.get(one, ())) >= _LISTENERS for one in uris):
                raise RpcError(INVALID_PARAMS, f"a resource has {_LISTENERS} subscribers, and no more may be")
            for one in uris:
                if one not in self._seen:
                    self._seen[one] = self._state(one)
                self._heard.setdefault(one, {})[who] = meta
            if self._seen and self._tick is None:
                self._tick = self._clock.every(EVERY, self._look)

    def _leave(self, uris: "Iterable[str]", who: "Connection | Request") -> None:
        with self._lock:
            for one in uris:
                found = self._heard.get(one, {})
                found.pop(who, None)
                if not found:
                    self._heard.pop(one, None)
                    self._seen.pop(one, None)
            if not self._seen:
                self._clock.stop(self._tick)
                self._tick = None

    def tell(self, beginning: str) -> None:
        """Tell the subscribers of outputs whose URI begins so that something has happened there."""
        with self._lock:
            uris = [one for one in self._heard if one.startswith(beginning)]
        for one in uris:
            found = self._state(one)
            with self._lock:
                told = tuple(self._heard.get(one, {}).items())
                if told:
                    self._seen[one] = found
            for who, meta in told:
                who.notify(_UPDATED, {**meta, "uri": one})

    def _look(self) -> None:
        for one, known in tuple(self._seen.items()):
            if known is not None and known.final:
                continue
            found = self._state(one)
            with self._lock:
                if one not in self._seen or found == known:
                    continue
                self._seen[one] = found
                told = tuple(self._heard[one].items())
            for who, meta in told:
                who.notify(_UPDATED, {**meta, "uri": one})
