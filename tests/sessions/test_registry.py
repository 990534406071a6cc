"""Numbers of sessions, how many there may be, and who has to go."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_exec.model.command import Command
from agent_exec.model.errors import InvalidArgument
from agent_exec.sessions.registry import FIRST, LAST, PROTECTED, REMEMBERED, Registry
from agent_exec.sessions.session import Session
from agent_exec.sessions.transcript import Transcript


@pytest.fixture
def made(tmp_path: Path) -> Callable[[Registry], Session]:
    def make(registry: Registry) -> Session:
        number = registry.reserve()
        return Session(number, Command(["true"]), Transcript(registry.folder(number)), "true")

    return make


def test_numbers_are_unique(tmp_path: Path) -> None:
    """Reference §1.7: random in [1000, 100000), unique among reserved ids."""
    registry = Registry(str(tmp_path))
    numbers: list[int] = []
    threads = [
        threading.Thread(target=lambda: numbers.extend(registry.reserve() for _ in range(500)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(numbers)) == 4000
    assert min(numbers) >= FIRST
    assert max(numbers) <= LAST


def test_numbers_run_out_with_a_word(tmp_path: Path) -> None:
    """Reference §1.7."""
    registry = Registry(str(tmp_path))
    registry._reserved = set(range(FIRST, LAST + 1))
    with pytest.raises(InvalidArgument, match="no session number left"):
        registry.reserve()
    registry.free(FIRST + 5)
    assert registry.reserve() == FIRST + 5


def test_the_newest_are_protected(tmp_path: Path, made: Callable[[Registry], Session]) -> None:
    """Reference §3: by use; the 8 used last are not candidates."""
    registry = Registry(str(tmp_path), PROTECTED + 2)
    sessions = [made(registry) for _ in range(PROTECTED + 2)]
    for at, session in enumerate(sessions):
        assert registry.keep(session) is None
        session.used = float(at)
    sessions[5].error = RuntimeError()  # has ended, but is protected
    doomed = registry.keep(made(registry))
    assert doomed is sessions[0]
    sessions[2].error = RuntimeError()
    sessions[1].used = 0.0
    assert registry.keep(made(registry)) is sessions[2]
    assert registry.find(sessions[1].number) is sessions[1]
    assert sessions[1].used > 100


def test_below_the_protected_those_that_ended_go_first(
    tmp_path: Path, made: Callable[[Registry], Session]
) -> None:
    """Reference §3: with so few, too, one that has ended goes before one that runs."""
    registry = Registry(str(tmp_path), 2)
    first, second = made(registry), made(registry)
    registry.keep(first)
    registry.keep(second)
    first.used, second.used = 1.0, 2.0
    second.error = RuntimeError()
    assert registry.keep(made(registry)) is second
    assert registry.keep(made(registry)) is first


def test_what_ended_is_remembered_for_a_while(tmp_path: Path, made: Callable[[Registry], Session]) -> None:
    """Issue 6, better 2: tombstones, and their numbers are free in the end."""
    registry = Registry(str(tmp_path))
    sessions = [made(registry) for _ in range(REMEMBERED + 3)]
    for session in sessions:
        registry.keep(session)
        registry.retire(session)
        registry.retire(session)
    assert [registry.find(session.number) is session for session in sessions] == [False] * 3 + [
        True
    ] * REMEMBERED
    assert registry.live() == []
    assert registry.ended() == sessions[3:]
    assert len(registry._reserved) == REMEMBERED
    assert registry.close() == []
    assert registry.ended() == []


def test_what_never_came_to_be_is_forgotten(tmp_path: Path, made: Callable[[Registry], Session]) -> None:
    """Reference §1.7: freed on failure."""
    registry = Registry(str(tmp_path))
    session = made(registry)
    registry.keep(session)
    registry.forget(session)
    assert registry.find(session.number) is None
    assert registry._reserved == set()


@pytest.mark.parametrize("bad", [0, -1, True, "1", 2.0, None, LAST])
def test_limits_are_whole_numbers(tmp_path: Path, bad: object) -> None:
    """Issue 6: configurable."""
    with pytest.raises(InvalidArgument, match="the number of sessions"):
        Registry(str(tmp_path), bad)  # type: ignore[arg-type]
