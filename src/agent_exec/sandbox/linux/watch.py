"""Hears from the kernel which names appear in folders, or are taken by other files."""

import ctypes
import os
import struct

from agent_exec.sandbox.linux.calls import check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

READABLE = 1
"""What a loop is to wait for."""

_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC if hasattr(os, "O_NONBLOCK") else 0
_CREATE, _MOVED_TO, _OVERFLOW = 0x100, 0x80, 0x4000
_ONLY_FOLDERS, _NO_LINKS = 0x1000000, 0x2000000
_EVENT = struct.Struct("iIII")
_ROOM = 1 << 16


class Watch:
    """A descriptor that is readable when something appeared in one of the folders; to be closed."""

    __slots__ = ("fd",)

    def __init__(self, folders: "Iterable[str]") -> None:
        """Begin; raise OSError if the kernel has no watch to give, or a folder is gone."""
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = check(libc.inotify_init1(_FLAGS), "inotify_init1")
        try:
            for folder in folders:
                mask = _CREATE | _MOVED_TO | _ONLY_FOLDERS | _NO_LINKS
                check(libc.inotify_add_watch(self.fd, os.fsencode(folder), mask), "inotify_add_watch", folder)
        except OSError:
            self.close()
            raise

    def heard(self, names: "set[str]") -> bool:
        """Take what was heard; True if one of the names appeared, or more was heard than could be kept."""
        found = False
        try:
            while data := os.read(self.fd, _ROOM):
                at = 0
                while at < len(data):
                    _, mask, _, length = _EVENT.unpack_from(data, at)
                    at += _EVENT.size
                    name = os.fsdecode(data[at : at + length].rstrip(b"\0"))
                    at += length
                    found = found or bool(mask & _OVERFLOW) or name in names
        except BlockingIOError:
            pass
        return found

    def close(self) -> None:
        """Hear no more."""
        os.close(self.fd)
