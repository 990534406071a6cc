"""The framing of messages on the private socket: data, or an object of JSON.

Four bytes with the length of the payload, big-endian; one byte, `d` or `j`; the payload.
"""

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.jsonline import dump, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Message = bytes | dict[str, Any]

HEADER = 5
MOST_SENT = 1 << 20
"""How many bytes one message to a server may have."""
MOST_RECEIVED = 1 << 28
"""How many bytes one message from a server may have: snapshots can be large."""


def frame(message: "Message") -> bytes:
    """Return a message as it is sent: bytes as data, a dict as an object."""
    if isinstance(message, dict):
        payload, kind = dump(message).encode(), b"j"
    else:
        payload, kind = message, b"d"
    return len(payload).to_bytes(4, "big") + kind + payload


def header(head: bytes, most: int = MOST_RECEIVED) -> tuple[int, str]:
    """Return length and kind of the message that a header announces; raise InvalidArgument for a bad one."""
    size, kind = int.from_bytes(head[:4], "big"), chr(head[4])
    if kind not in "dj":
        raise InvalidArgument(f"a message is of kind 'd' or 'j'; got {kind!r}")
    if size > most:
        raise InvalidArgument(f"a message has at most {most} bytes; got {size}: send it in pieces")
    return size, kind


def parse(kind: str, payload: bytes) -> "Message":
    """Return the message of a payload; raise InvalidArgument for an object that is none."""
    if kind == "d":
        return payload
    try:
        value = load(payload.decode())
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidArgument("a message of kind 'j' must be an object of JSON")
    return value


class Frames:
    """Takes bytes as they come, returns the messages that are whole."""

    __slots__ = ("_data", "_most")

    def __init__(self, most: int = MOST_RECEIVED) -> None:
        self._data = bytearray()
        self._most = most

    def feed(self, data: bytes) -> "Iterator[Message]":
        """Return the messages that are whole by now; raise InvalidArgument at the first bad one."""
        self._data += data
        while len(self._data) >= HEADER:
            size, kind = header(bytes(self._data[:HEADER]), self._most)
            if len(self._data) < HEADER + size:
                return
            payload = bytes(self._data[HEADER : HEADER + size])
            del self._data[: HEADER + size]
            yield parse(kind, payload)
