"""Writes the record of a job, one line after the other; `record` reads it."""

import errno
import os

from agent_exec.jobs.record import RECORD, all_of
from agent_exec.logs.stream import create, reopen
from agent_exec.model.jsonline import dump

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_RESERVE = 4096
_LONGEST_LINE = 2048


class RecordWriter:
    """A record that is being written: made with its first line, and room for the others.

    `room` is how much the last line may be longer than it usually is.
    """

    __slots__ = ("_fd", "_position", "_room")

    def __init__(self, folder: str, facts: "dict[str, Any]", room: int = 0) -> None:
        line = dump(facts).encode() + b"\n"
        self._fd = create(os.path.join(folder, RECORD))
        self._room = room
        _reserve(self._fd, len(line) + _RESERVE + room)
        _write(self._fd, line, 0)
        self._position = len(line)

    @classmethod
    def reopen(cls, folder: str, room: int = 0) -> "RecordWriter":
        """Return a writer for an existing record, after its last whole line; the caller holds the lock."""
        writer = cls.__new__(cls)
        writer._room = room
        writer._fd = reopen(os.path.join(folder, RECORD))
        data = all_of(writer._fd)
        writer._position = data.rfind(b"\n") + 1
        return writer

    def amend(self, facts: "dict[str, Any]") -> None:
        """Write a line that no room was reserved for; raise OSError if there is none, and write nothing."""
        line = dump(facts).encode() + b"\n"
        _reserve(self._fd, self._position + len(line) + _RESERVE + self._room)
        _write(self._fd, line, self._position)
        self._position += len(line)

    def append(self, facts: "dict[str, Any]") -> None:
        """Write a line, in one piece, into the room that is reserved for it."""
        line = dump(facts).encode() + b"\n"
        if len(line) > _LONGEST_LINE and "message" in facts:
            line = dump(facts | {"message": facts["message"][:200]}).encode() + b"\n"
        _write(self._fd, line, self._position)
        self._position += len(line)

    def finish(self) -> None:
        """Free the reserved space that was not needed, and sync the record to the disk."""
        try:
            os.truncate(self._fd, self._position)
            os.fsync(self._fd)
        except OSError:
            pass  # said already, and as safe as this disk is
        os.close(self._fd)


def _reserve(fd: int, size: int) -> None:
    """Take room on the disk; where a file system cannot do that ahead, go without."""
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(fd, 0, size)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise


def _write(fd: int, data: bytes, position: int) -> None:
    if hasattr(os, "pwrite"):
        while data:
            sent = os.pwrite(fd, data, position)
            data, position = data[sent:], position + sent
        return
    os.lseek(fd, position, os.SEEK_SET)
    while data:
        data = data[os.write(fd, data) :]
