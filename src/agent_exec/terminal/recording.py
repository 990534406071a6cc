"""A recording of a session as an asciicast, version 2: a header, then one line for each event."""

from codecs import getincrementaldecoder

from agent_exec.model.jsonline import dump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_exec.model.choices import Sink


def export(
    file: "Sink",
    events: "Iterable[tuple[float, bytes]]",
    columns: int,
    rows: int,
    *,
    timestamp: float,
    command: str,
) -> None:
    """Write what was printed, each piece with the seconds since the beginning.

    A character whose bytes came in pieces is written whole, with its last piece. Time never goes back.
    """
    header = {"version": 2, "width": columns, "height": rows, "timestamp": int(timestamp), "command": command}
    file.write(dump(header) + "\n")
    decoder = getincrementaldecoder("utf-8")("replace")
    now = 0.0
    for seconds, data in events:
        now = max(now, seconds)
        if text := decoder.decode(data):
            file.write(dump([round(now, 6), "o", text]) + "\n")
    if text := decoder.decode(b"", final=True):
        file.write(dump([round(now, 6), "o", text]) + "\n")
