"""Keys one after the other: each has had its effect before the next is looked at."""

import asyncio
from collections import deque

from textual import events
from textual.app import App
from textual.message import Message
from textual.message_pump import MessagePump

_ROUNDS = 2
_PATIENCE = 0.25


class Passed(Message):
    """It goes the way that a key went, behind it."""

    def __init__(self, turn: int, rounds: int) -> None:
        super().__init__()
        self.turn = turn
        self.rounds = rounds


class KeysInTurn(App[None]):
    """An app for fast typists: a key that opens something is not overtaken by those typed into it.

    A key is handed from widget to widget, each with a queue of its own, before
    its binding is looked up. Keys that follow at once would go to whoever has
    the focus then, which is still the old one.
    """

    def __init__(self, *, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        self._keys: deque[events.Event] = deque()
        self._turn = 0
        self._held = False
        self._late: asyncio.TimerHandle | None = None

    async def on_event(self, event: events.Event) -> None:
        """Have a key or a paste wait for its turn."""
        if isinstance(event, (events.Key, events.Paste)) and not event.is_forwarded:
            self._keys.append(event)
            await self._next()
        else:
            await super().on_event(event)

    async def _next(self) -> None:
        while self._keys and not self._held:
            event = self._keys.popleft()
            target = self.focused or self.screen
            self._held = True
            await super().on_event(event)
            self._follow(target, _ROUNDS)

    def _follow(self, target: MessagePump, rounds: int) -> None:
        """Send a message after the key: twice, for what the key had sent is then done too."""
        self._turn += 1
        if self._late is not None:
            self._late.cancel()
        if target.post_message(Passed(self._turn, rounds)):
            loop = asyncio.get_running_loop()
            self._late = loop.call_later(_PATIENCE, self._release, self._turn)
        else:
            self._held = False  # it is gone

    async def on_passed(self, event: Passed) -> None:
        """Take the next key once the message has come through."""
        event.stop()
        if event.turn != self._turn:
            return
        if event.rounds > 1:
            self._follow(self.focused or self.screen, event.rounds - 1)
        else:
            self._held = False
        await self._next()

    def _release(self, turn: int) -> None:
        """Go on without the message: whoever had it may be gone."""
        if turn == self._turn:
            self.post_message(Passed(turn, 1))
