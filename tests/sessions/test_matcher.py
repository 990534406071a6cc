"""What is waited for is found, however much comes before it."""

from collections.abc import Iterator

import pytest

import agent_exec
from agent_exec.sessions.matcher import Matcher
from support import wait_until

PIECE = b"hay and hay\n" * 5000


@pytest.fixture
def engine() -> Iterator[agent_exec.Engine]:
    with agent_exec.Engine() as found:
        yield found


def test_what_comes_last_is_looked_at(engine: agent_exec.Engine) -> None:
    told: list[bool] = []
    matcher = Matcher(engine, ["nothing", "need(le)?"], lambda: told.append(True))
    for _ in range(500):
        matcher.feed(PIECE)
    matcher.feed(b"a needle")
    wait_until(lambda: told)
    assert matcher.matched
    matcher.feed(PIECE)
    matcher.close()


def test_a_pattern_without_end_blocks_nothing(engine: agent_exec.Engine) -> None:
    matcher = Matcher(engine, ["(a+)+$"], lambda: None)
    for _ in range(200):
        matcher.feed(b"a" * 50_000 + b"b")
    assert not matcher.matched
    assert matcher._waiting <= 1 << 22
    matcher.close()
