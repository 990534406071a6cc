"""A screen that was cut off anywhere and goes on, by bytes or by a snapshot, equals one that saw everything."""

import random
from collections.abc import Callable
from pathlib import Path

from agent_exec.faces.session.tools import SessionTools
from agent_exec.sessions.session import Session
from agent_exec.sessions.sharing.viewer import PIECE
from agent_exec.sessions.transcript import Transcript
from agent_exec.terminal.screen import Screen
from sessions.sharing.talking import Person, started
from support import wait_until
from terminal.pieces import cut, is_outside, long_stream, state

Watch = Callable[..., Person]
CUTS = 50


def printed_by(session: Session, seed: int, chunks: int, fragments: int) -> Screen:
    """Have a session print at random, with resizes between; return the screen of a terminal that saw it all."""
    chance = random.Random(seed)
    reference = Screen(24, 80)
    for _ in range(chunks):
        for piece in cut(long_stream(chance.getrandbits(32), fragments), chance.getrandbits(32)):
            session._print("stdout", piece)
            reference.feed(piece)
        size = chance.randint(1, 40), chance.randint(1, 120)
        session.resize(*size)
        reference.resize(*size)
    return reference


def resumed(person: Person, watch: Watch, session: Session) -> Person:
    """Return another connection of the same person, whose screen goes on."""
    person.close()
    again = watch(session.number, offset=person.offset)
    again.screen = person.screen
    again.screen.resize(again.hello["rows"], again.hello["columns"])
    return again


def test_a_screen_goes_on_where_its_connection_was_cut(tools: SessionTools, watch: Watch) -> None:
    session = started(tools, "stty raw -echo; exec sleep 600")
    reference = printed_by(session, 1, 40, 200)
    total = session.transcript.total
    assert total > 2 * PIECE
    chance = random.Random(2)
    person = watch(session.number, offset=0)
    person.screen = Screen(24, 80)
    for place in sorted(chance.randint(0, total) for _ in range(CUTS)):
        while person.offset < place:
            message = person.talk.receive()
            assert message is not None
            if isinstance(message, dict):
                person.screen.resize(message["rows"], message["columns"])
            else:  # the rest of it is lost with the connection
                seen = message[: place - person.offset]
                person.screen.feed(seen)
                person.offset += len(seen)
        person = resumed(person, watch, session)
    while person.offset < total or person.screen.rows != reference.rows:
        person.step()
    assert not is_outside(reference)
    assert state(person.screen) == state(reference)


def test_a_snapshot_is_exact_at_any_moment(tools: SessionTools, watch: Watch) -> None:
    session = started(tools, "stty raw -echo; exec sleep 600")
    reference = Screen(24, 80)
    chance = random.Random(3)
    compared = 0
    follower = watch(session.number)
    follower.until("snapshot")
    for _ in range(CUTS):
        data = long_stream(chance.getrandbits(32), 30)
        session._print("stdout", data)
        reference.feed(data)
        if chance.random() < 0.3:
            size = chance.randint(1, 40), chance.randint(1, 120)
            session.resize(*size)
            reference.resize(*size)
        person = watch(session.number)
        told = person.until("snapshot")
        assert told["exact"] is True
        held = session.transcript.total - told["offset"]
        assert held == reference.parser.begun[1], "all but the bytes of a character that is only begun"
        if not is_outside(reference):
            assert state(person.screen) == state(reference)
            compared += 1
        person.close()
    assert compared > CUTS // 2
    while follower.offset < session.transcript.total or follower.screen.rows != reference.rows:
        follower.step()
    assert state(follower.screen) == state(reference)


def test_a_snapshot_after_lost_output_says_that_it_may_not_be_exact(
    tools: SessionTools, watch: Watch, tmp_path: Path
) -> None:
    session = started(tools, "stty raw -echo; exec sleep 600")
    session.transcript = Transcript(str(tmp_path / "small"), 1 << 20)
    session._shown = session.transcript.read
    session._print("stdout", b"\x1b[?2004h")
    for number in range(40_000):
        session._print("stdout", b"%073d\r\n" % number)
    assert session.gaps()
    person = watch(session.number, offset=0)
    assert person.until("snapshot")["exact"] is False
    assert person.output == session.read(0, len(person.output))[1]
    assert len(person.output) == session.gaps()[0][0]
    assert person.screen.text().endswith("39999")
    assert person.screen.bracketed_paste, "what was set before the gap still holds"
    session._print("stdout", b"and on")
    person.until_printed(b"and on")
    person.close()
    wait_until(lambda: session.watcher is None)
    session.transcript.close()


def test_many_sizes_are_kept_and_then_fewer() -> None:
    from agent_exec.sessions.sizes import Sizes

    sizes = Sizes(1, 1)
    for number in range(1, 10_001):
        sizes.change(number * 10, number, 80)
        sizes.change(number * 10 + 5, number, 80)  # the same, and so no change
    assert sizes.last == (10_000, 100_000, 10_000, 80)
    assert sizes.at(99_995)[2] == 9999
    assert sizes.at(5) == (0, 0, 1, 1)
    assert len(sizes._kept) <= 4096
    number, steps = 0, 0
    while (size := sizes.after(number)) is not None:
        assert size[0] > number
        number, steps = size[0], steps + 1
    assert (number, steps) == (10_000, len(sizes._kept) - 1)
