"""Notifies subscribers of outputs that grow; checks nothing while there are none."""

from typing import TYPE_CHECKING, Any

from anyio import Event, sleep
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, EmptyResult

from agent_exec.apps.mcp.threads import somehow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp.server import ServerRequestContext
    from mcp.server.session import ServerSession
    from mcp_types import (
        SubscribeRequestParams,
        SubscriptionsListenRequestParams,
        SubscriptionsListenResult,
        UnsubscribeRequestParams,
    )

    from agent_exec.apps.mcp.resources import State

EVERY = 0.5
"""Seconds between two looks, and so between two notes about one output."""

_MOST = 1000
"""How many outputs are looked at."""


class Watching:
    """The subscribers of each output: by `resources/subscribe`, or by `subscriptions/listen`."""

    def __init__(self, state: "Callable[[str], State | None]") -> None:
        self._state = state
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        self._heard: dict[str, int] = {}  # by how many listeners
        self._subscribed: dict[str, dict[int, tuple[ServerSession, object]]] = {}
        self._seen: dict[str, State | None] = {}
        self._wanted = Event()

    async def subscribe(
        self, context: "ServerRequestContext[Any]", asked: "SubscribeRequestParams"
    ) -> EmptyResult:
        """Tell this client of an output from now on."""
        if asked.uri not in self._seen and len(self._seen) >= _MOST:
            raise MCPError(
                INVALID_PARAMS, f"{_MOST} resources are subscribed to; unsubscribe from some first"
            )
        if await somehow(self._state, asked.uri) is None:
            raise MCPError(INVALID_PARAMS, f"there is no resource {asked.uri!r}; resources/list shows some")
        client = context.session.client_params
        self._subscribed.setdefault(asked.uri, {})[id(client)] = context.session, client
        await self._begin([asked.uri])
        return EmptyResult()

    async def unsubscribe(
        self, context: "ServerRequestContext[Any]", asked: "UnsubscribeRequestParams"
    ) -> EmptyResult:
        """Tell it no more."""
        self._leave(asked.uri, id(context.session.client_params))
        return EmptyResult()

    async def listen(
        self, context: "ServerRequestContext[Any]", asked: "SubscriptionsListenRequestParams"
    ) -> "SubscriptionsListenResult":
        """Tell this client of some outputs, until it hangs up."""
        uris = list(dict.fromkeys(asked.notifications.resource_subscriptions or ()))[:_MOST]
        for one in uris:
            self._heard[one] = self._heard.get(one, 0) + 1
        try:
            await self._begin(uris)
            return await self._listen(context, asked)
        finally:
            for one in uris:
                self._heard[one] -= 1
                if not self._heard[one]:
                    del self._heard[one]
            self._forget(uris)

    async def run(self) -> None:
        """Check the outputs periodically while there are subscribers; never return."""
        while True:
            await self._wanted.wait()
            await sleep(EVERY)
            for one in list(self._seen):
                await self._look(one)
            if not self._seen:
                self._wanted = Event()

    async def _begin(self, uris: "Sequence[str]") -> None:
        for one in uris:
            if one not in self._seen:
                self._seen[one] = await somehow(self._state, one)
        self._forget(uris)  # who wanted it may have left meanwhile
        self._wanted.set()

    async def _look(self, one: str) -> None:
        known = self._seen.get(one)
        if known is not None and known.final:
            return
        found = await somehow(self._state, one)
        if one not in self._seen or found == known:
            return
        self._seen[one] = found
        await self._bus.publish(ResourceUpdated(one))
        for client, (session, _) in list(self._subscribed.get(one, {}).items()):
            try:
                await session.send_resource_updated(one)
            except Exception:  # whatever it is, this client hears no more
                self._leave(one, client)

    def _leave(self, one: str, client: int) -> None:
        found = self._subscribed.get(one, {})
        found.pop(client, None)
        if not found:
            self._subscribed.pop(one, None)
            self._forget([one])

    def _forget(self, uris: "Sequence[str]") -> None:
        for one in uris:
            if one not in self._heard and one not in self._subscribed:
                self._seen.pop(one, None)
