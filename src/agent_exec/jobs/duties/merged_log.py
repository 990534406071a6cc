"""A file with both streams of a job, each line with its time and its stream, for readers of one file."""

import os
from time import time

from agent_exec.jobs.duties import Duty
from agent_exec.jobs.record import stamp
from agent_exec.logs.stream import STREAMS
from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agent_exec.jobs.supervise import Supervisor
    from agent_exec.model.choices import Stream

FULL_LOG = "full.log"
_LONGEST = 1 << 16
"""So much of a line without an end is held back; then it is written as if it had ended."""
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)


def writable(path: str) -> str:
    """Return the absolute path of a file, which is made; raise InvalidArgument if it cannot be written."""
    try:
        os.close(os.open(path, _FLAGS, 0o600))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not a path"
        raise InvalidArgument(f"--log {path!r} cannot be written: {why}", path=path) from None
    return os.path.abspath(path)


class Term(Duty):
    """Adds the lines of both streams to a file: `value` is its path; "" is `full.log` of the job's folder.

    The file grows by as much as is kept of both streams; lines beyond that are
    only in the logs. What cannot be written is left out.
    """

    __slots__ = ("_fd", "_parts", "_room")

    def __init__(self, job: "Supervisor", value: str) -> None:
        super().__init__(job, value)
        self._parts = dict.fromkeys(STREAMS, b"")
        self._room = 2 * job.order["quota"] or 1 << 62
        self._fd = -1

    def facts(self) -> "dict[str, Any]":
        """Open the file, and return where it is."""
        path = self.value or os.path.join(self.job.folder, FULL_LOG)
        if self._fd < 0:
            self._fd = os.open(path, _FLAGS, 0o600)
        return {"full_log_path": path}

    def printed(self, stream: "Stream", chunk: bytes) -> None:
        """Write the lines that are complete."""
        *lines, rest = (self._parts[stream] + chunk).split(b"\n")
        if len(rest) > _LONGEST:
            lines, rest = [*lines, rest], b""
        self._parts[stream] = rest
        self._write(stream, lines)

    def ended(self, _facts: "dict[str, Any]") -> None:
        """Write the lines that nothing has ended."""
        for stream, rest in self._parts.items():
            self._write(stream, [rest] if rest else [])
            self._parts[stream] = b""

    def published(self, _facts: "Mapping[str, Any]") -> None:
        """Close the file."""
        os.close(self._fd)
        self._fd = -1

    def _write(self, stream: "Stream", lines: list[bytes]) -> None:
        head = f"{stamp(time())} [{stream.upper()}] ".encode()
        data = b"".join(head + line + b"\n" for line in lines)
        if self._fd < 0 or not data or len(data) > self._room:
            return
        self._room -= len(data)
        try:
            os.write(self._fd, data)
        except OSError:
            self._room = 0  # a full disk: the logs say what is lost
