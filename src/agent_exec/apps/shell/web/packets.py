"""How a Textual app and whoever serves it talk over pipes: packets of a letter, a length and a payload."""

import json

PRELUDE = b"__GANGLION__\n"
"""What the app prints before its first packet."""

DATA = b"D"
META = b"M"
_HEAD = 5
_LONGEST_PRELUDE = 65536
_LONGEST = 16 * 1024 * 1024


class Packets:
    """Cuts what an app prints into packets, however the pipe has cut it."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.started = False
        """Whether the app has begun to draw."""

    def feed(self, chunk: bytes) -> list[tuple[bytes, bytes]]:
        """Give the packets, kind and payload, that are whole now; ValueError if it is no app that speaks."""
        buffer = self._buffer
        buffer += chunk
        if not self.started:
            found = buffer.find(PRELUDE)
            if found < 0:
                if len(buffer) > _LONGEST_PRELUDE:
                    raise ValueError("what was started is no app that can be served")
                return []
            del buffer[: found + len(PRELUDE)]
            self.started = True
        packets = []
        place = 0
        while len(buffer) - place >= _HEAD:
            size = int.from_bytes(buffer[place + 1 : place + _HEAD], "big")
            if size > _LONGEST:
                raise ValueError("the app sent something that is no packet")
            end = place + _HEAD + size
            if len(buffer) < end:
                break
            packets.append((bytes(buffer[place : place + 1]), bytes(buffer[place + _HEAD : end])))
            place = end
        del buffer[:place]
        return packets


def data(typed: str) -> bytes:
    """Return the packet of what was typed."""
    return _packet(DATA, typed.encode("utf-8", "replace"))


def meta(kind: str, **fields: int) -> bytes:
    """Return the packet of something else that happened: resize, focus, blur, quit."""
    return _packet(META, json.dumps({"type": kind, **fields}).encode())


def _packet(kind: bytes, payload: bytes) -> bytes:
    return kind + len(payload).to_bytes(4, "big") + payload
