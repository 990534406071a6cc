"""Viewers cost little, and hold nothing up: not the session, not each other."""

import hashlib
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_exec.faces.session.tools import SessionTools
from agent_exec.sessions.sharing import share
from agent_exec.sessions.sharing.frames import HEADER
from agent_exec.sessions.sharing.viewer import PIECE
from sessions.sharing.talking import Person, started
from support import wait_until

Watch = Callable[..., Person]
FLOOD = "stty raw -echo; read line; seq 1500000 | head -c 10485760; read line"
SIZE = 10_485_760


def all_of(person: Person, size: int) -> str:
    """Receive so much output; return its digest. Nothing is drawn."""
    digest, count = hashlib.sha256(), 0
    while count < size:
        message = person.talk.receive()
        assert message is not None
        if isinstance(message, bytes):
            digest.update(message)
            count += len(message)
    assert count == size
    return digest.hexdigest()


def test_a_flood_waits_for_no_viewer_and_is_kept_for_each(tools: SessionTools, watch: Watch) -> None:
    session = started(tools, FLOOD)
    slow = [watch(session.number, offset=0) for _ in range(5)]
    session.type(b"\n")
    wait_until(lambda: session.transcript.total == SIZE, seconds=60)  # while not one of them reads
    hub = share._hub
    assert hub is not None
    buffered = [len(viewer.out) for viewer in hub._viewers.values()]
    assert len(buffered) == 5
    assert max(buffered) <= PIECE + HEADER
    digests = {all_of(person, SIZE) for person in slow[:2]}
    assert len(digests) == 1
    whole = hashlib.sha256()
    for _, data in session.printed():
        whole.update(data)
    assert digests == {whole.hexdigest()}


def test_a_hundred_viewers_see_the_same_and_share_one_thread(tools: SessionTools, watch: Watch) -> None:
    session = started(tools, "stty raw -echo; read line; seq 20000; read line")
    before = threading.active_count()
    people = [watch(session.number, offset=0) for _ in range(100)]
    assert threading.active_count() <= before
    session.type(b"\n")
    wait_until(lambda: session.transcript.total == 108_894)
    digests = {all_of(person, 108_894) for person in people}
    assert len(digests) == 1
    for person in people:
        person.close()
    wait_until(lambda: session.watcher is None)


def test_a_large_session_holds_up_no_other(
    tools: SessionTools, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the snapshot of one is drawn, that of another is drawn too."""
    from agent_exec.sessions import replay

    large, small = started(tools, "stty raw -echo; exec sleep 600"), started(tools, "echo small; exec cat")
    wait_until(lambda: small.transcript.total)
    large._print("stdout", b"x" * 500_000)
    go_on = threading.Event()
    step = replay.Replay.step

    def slow_step(self: replay.Replay, target: int) -> bool:
        over = step(self, target)
        return over if self._session is not large else over and go_on.is_set()

    monkeypatch.setattr(replay.Replay, "step", slow_step)
    first = watch(large.number)
    second = watch(small.number)
    second.until("snapshot")
    assert second.screen.text() == "small"
    go_on.set()
    first.until("snapshot")
    assert first.screen.text().startswith("xxx")


def test_a_secret_is_masked_however_it_comes(
    data: Path, nothing_left: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agent_exec.faces.session.tools import open_tools
    from sessions.sharing.talking import own_server

    monkeypatch.setenv("SOME_API_TOKEN", "hunter2-and-more")
    with open_tools(rules=None, share=True) as tools:
        session = started(tools, "stty raw -echo; exec sleep 600")
        session._print("stdout", b"a hunter2-and-more b ")
        follower = Person(own_server(), session.number, offset=0)
        follower.until_printed(b"b ")
        for byte in b"hunter2-and-more!":
            session._print("stdout", bytes([byte]))
        follower.until_printed(b"!")
        shown = follower.output.decode()
        assert shown.startswith(
            "a **************** b "
        )  # of what comes byte by byte, three are shown at most
        assert shown.endswith("*************!")
        assert "hunt" not in shown
        snapshot = Person(own_server(), session.number)
        snapshot.until("snapshot")
        assert "hunt" not in snapshot.screen.text()
        wait_until(lambda: session.showable == session.transcript.total)
        session._print("stdout", b" hunter2")
        late = Person(own_server(), session.number)
        late.until("snapshot")
        assert "hunt" not in late.screen.text()
        session._print("stdout", b" only")
        late.until_printed(b"only")
        assert late.screen.text().endswith("hunter2 only")
        for person in (follower, snapshot, late):
            person.close()
