"""The one writer of event streams: pings in silence, the end of each side, an answer that comes alone."""

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from agent_exec.apps.web import events
from agent_exec.apps.web.events import send_events

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from agent_exec.apps.web.events import Event


class Wire:
    """A connection: what was sent, and when its client hangs up."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.gone = asyncio.Event()

    async def receive(self) -> Any:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    @property
    def text(self) -> str:
        return b"".join(one.get("body", b"") for one in self.sent).decode()


def test_a_silent_stream_is_pinged_until_its_client_hangs_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "PING_EVERY", 0.01)

    async def work() -> None:
        wire, closed = Wire(), asyncio.Event()

        async def silent() -> "AsyncGenerator[Event, None]":
            try:
                yield "first", {"n": 1}, "c1"
                await asyncio.Event().wait()
            finally:
                closed.set()

        writing = asyncio.ensure_future(send_events(silent(), wire.receive, wire.send))
        async with asyncio.timeout(20):
            while wire.text.count(": ping\n\n") < 2:
                await asyncio.sleep(0.01)
            wire.gone.set()
            await writing
        assert wire.text.startswith('event: first\nid: c1\ndata: {"n":1}\n\n: ping\n\n')
        assert closed.is_set()

    asyncio.run(work())


@pytest.mark.parametrize("answered", [True, False])
def test_a_first_event_may_be_answered_alone(*, answered: bool) -> None:
    async def work() -> None:
        wire = Wire()

        async def one() -> "AsyncGenerator[Event, None]":
            yield "only", {}, ""

        async def alone(event: "Event") -> bool:
            assert event[0] == "only"
            return answered

        await send_events(one(), wire.receive, wire.send, alone=alone)
        assert bool(wire.sent) is not answered
        if not answered:
            assert wire.text == "event: only\ndata: {}\n\n"
            assert wire.sent[-1]["more_body"] is False

    asyncio.run(work())
