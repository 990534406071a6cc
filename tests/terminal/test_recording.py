"""A recording can be read by a strict reader of asciicast v2."""

import io
import json

from hypothesis import given
from hypothesis import strategies as st

from agent_exec.terminal.recording import export


def read(text: str) -> tuple[dict[str, object], list[tuple[float, str, str]]]:
    """Read a recording as strictly as the format allows."""
    assert text.endswith("\n")
    first, *lines = text.removesuffix("\n").split("\n")
    header = json.loads(first)
    assert header["version"] == 2
    assert type(header["width"]) is int
    assert type(header["height"]) is int
    assert header.keys() <= {"version", "width", "height", "timestamp", "command", "title", "env"}
    assert type(header.get("timestamp", 0)) is int
    assert all(type(value) is str for value in header.get("env", {}).values())
    events = []
    before = 0.0
    for line in lines:
        event = json.loads(line)
        assert type(event) is list
        time, kind, data = event
        assert type(time) in {int, float}
        assert time >= before
        assert kind in {"o", "i", "r"}
        assert type(data) is str
        assert data
        before = time
        events.append((time, kind, data))
    return header, events


def test_a_recording() -> None:
    file = io.StringIO()
    events = [
        (0.0, b"$ "),
        (0.6, b"caf\xc3"),
        (0.8, b'\xa9 "\x1b[31m\r\n'),
        (0.75, b"back"),
        (1.23456789, b"\xff\xe2"),
    ]
    export(file, events, 80, 24, timestamp=1700000000.9, command="sh")
    header, seen = read(file.getvalue())
    assert header == {"version": 2, "width": 80, "height": 24, "timestamp": 1700000000, "command": "sh"}
    assert seen == [
        (0.0, "o", "$ "),
        (0.6, "o", "caf"),
        (0.8, "o", 'é "\x1b[31m\r\n'),
        (0.8, "o", "back"),
        (1.234568, "o", "\ufffd"),
        (1.234568, "o", "\ufffd"),
    ]


@given(st.lists(st.tuples(st.floats(0, 1e6), st.binary(max_size=20)), max_size=20))
def test_any_bytes_can_be_recorded(events: list[tuple[float, bytes]]) -> None:
    file = io.StringIO()
    export(file, events, 80, 24, timestamp=0, command="")
    _, seen = read(file.getvalue())
    whole = b"".join(data for _, data in events).decode("utf-8", "replace")
    assert "".join(data for _, _, data in seen) == whole
