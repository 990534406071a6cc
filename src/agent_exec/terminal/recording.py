"""A recording of a session as an asciicast, version 2: a header, then one line for each event."""

from codecs import getincrementaldecoder

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.jsonline import dump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from codecs import IncrementalDecoder
    from collections.abc import Iterable, Mapping

    from agent_exec.model.choices import Sink

    Event = tuple[float, str, bytes]
    """Seconds since the beginning; "o" printed, "i" typed, "r" resized; the bytes, or b"80x24"."""


class Recording:
    """Writes a recording as it comes; the file stays open, and is the caller's.

    A character whose bytes came in pieces is written whole, with its last
    piece. Time never goes back. `finish` writes what was only begun.
    """

    __slots__ = ("_decoders", "_file", "_now")

    def __init__(
        self,
        file: "Sink",
        columns: int,
        rows: int,
        *,
        timestamp: float | None = None,
        title: str | None = None,
        command: str | None = None,
        env: "Mapping[str, str] | None" = None,
    ) -> None:
        self._file = file
        self._now = 0.0
        self._decoders: dict[str, IncrementalDecoder] = {}
        header: dict[str, object] = {"version": 2, "width": columns, "height": rows}
        if timestamp is not None:
            header["timestamp"] = int(timestamp)
        if command is not None:
            header["command"] = command
        if title is not None:
            header["title"] = title
        if env is not None:
            header["env"] = dict(env)
        file.write(dump(header) + "\n")

    def add(self, seconds: float, kind: str, data: bytes) -> None:
        """Write an event; nothing is written while there is no whole character in it."""
        if kind == "r":
            columns, by, rows = data.decode("ascii", "replace").partition("x")
            if not (by and columns.isdecimal() and rows.isdecimal()):
                raise InvalidArgument(f"a resize is written as b'80x24'; got {data!r}")
        elif kind not in {"o", "i"}:
            raise InvalidArgument(f"an event is 'o', 'i' or 'r'; got {kind!r}")
        self._now = max(self._now, seconds)
        decoder = self._decoders.get(kind)
        if decoder is None:
            decoder = self._decoders[kind] = getincrementaldecoder("utf-8")("replace")
        self._write(kind, decoder.decode(data))

    def finish(self) -> None:
        """Write what is left of characters that were never finished; harmless when repeated."""
        for kind, decoder in self._decoders.items():
            self._write(kind, decoder.decode(b"", final=True))
            decoder.reset()

    def _write(self, kind: str, text: str) -> None:
        if text:
            self._file.write(dump([round(self._now, 6), kind, text]) + "\n")


def export(
    file: "Sink",
    events: "Iterable[Event]",
    columns: int,
    rows: int,
    *,
    timestamp: float | None = None,
    title: str | None = None,
    command: str | None = None,
    env: "Mapping[str, str] | None" = None,
) -> None:
    """Write a whole recording."""
    recording = Recording(file, columns, rows, timestamp=timestamp, title=title, command=command, env=env)
    for seconds, kind, data in events:
        recording.add(seconds, kind, data)
    recording.finish()
