"""Messages are framed, whatever pieces they come in; what is no message ends one conversation, and no other."""

import random
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_exec.faces.session.tools import SessionTools
from agent_exec.model.errors import InvalidArgument
from agent_exec.sessions.sharing import client
from agent_exec.sessions.sharing.frames import HEADER, MOST_SENT, Frames, frame, header, parse
from sessions.sharing.talking import PATIENCE, Person, raw, started
from terminal.pieces import cut

MESSAGES: list[bytes | dict[str, Any]] = [
    b"",
    b"data\x00\xff",
    {"type": "take"},
    {"text": "größe \x1b \u2028"},
    b"x" * 70_000,
]


def test_messages_come_whole_however_they_are_cut() -> None:
    wire = b"".join(map(frame, MESSAGES))
    for seed in range(20):
        frames = Frames()
        assert [message for piece in cut(wire, seed) for message in frames.feed(piece)] == MESSAGES


@pytest.mark.parametrize(
    ("wire", "problem"),
    [
        (b"\0\0\0\1xx", "kind"),
        (b"\0\0\0\1j1", "object of JSON"),
        (b"\0\0\0\1j{", "object of JSON"),
        (b"\0\0\0\2j[]", "object of JSON"),
        (b"\0\0\0\1j\xff", "object of JSON"),
        ((MOST_SENT + 1).to_bytes(4, "big") + b"d", "in pieces"),
    ],
)
def test_what_is_no_message_is_refused(wire: bytes, problem: str) -> None:
    with pytest.raises(InvalidArgument, match=problem):
        list(Frames(MOST_SENT).feed(wire))


def test_a_deep_object_is_refused() -> None:
    payload = b'{"a":' * 100_000
    with pytest.raises(InvalidArgument):
        parse("j", payload)
    assert header(frame(b"abc")[:HEADER]) == (3, "d")


BAD = [
    frame(b"typed before attach"),
    frame({"type": "take"}),
    frame({"type": 5}),
    frame({}),
    b"\0\0\0\1xx",
    b"\xff\xff\xff\xffj",
    b"\0\0\0\2j[]",
    frame({"type": "attach"}),
    frame({"type": "attach", "session": "1000"}),
    frame({"type": "attach", "session": True}),
    frame({"type": "attach", "session": 1, "offset": -1}),
    frame({"type": "attach", "session": 1, "rows": 5}),
    frame({"type": "attach", "session": 1, "rows": 2000, "columns": 2000}),
    frame({"type": "attach", "session": 1, "name": 5}),
    *(random.Random(seed).randbytes(100) for seed in range(10)),
]


def test_bad_messages_end_their_conversation_alone(tools: SessionTools, data: Path) -> None:
    session = started(tools, "cat")
    person = Person(client.list_servers()[0]["server"]["server"], session.number, offset=0)
    for wire in BAD:
        with raw(data) as talk:
            connection = socket.socket(fileno=socket.dup(talk.fileno()))
            connection.settimeout(PATIENCE)
            with connection:
                connection.sendall(wire)
                connection.shutdown(socket.SHUT_WR)
                received = connection.recv(1 << 16)
            if received:
                (message,) = Frames().feed(received)
                assert isinstance(message, dict)
                assert message["type"] == "error", wire
                assert message["code"] in ("invalid_argument", "missing")
    person.send({"type": "take"})
    person.send(b"fine\n")
    person.until_printed(b"fine\r\n")
    person.close()


@pytest.mark.parametrize(
    "message",
    [
        {"type": "attach", "session": 1},
        {"type": "x"},
        {"type": "resize", "rows": 0, "columns": 5},
        {"type": None},
    ],
)
def test_a_bad_message_of_a_viewer_is_an_error(
    tools: SessionTools, watch: Callable[..., Person], message: dict[str, object]
) -> None:
    session = started(tools, "cat")
    person = watch(session.number, offset=0)
    person.send({"type": "take"})
    person.until("writer")
    person.send(message)
    assert person.until("error")["code"] == "invalid_argument"
    assert person.step() is None
    assert session.keyboard is not None
    assert session.keyboard.holder is None
