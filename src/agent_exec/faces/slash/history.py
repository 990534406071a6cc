"""The lines that were typed, kept in a file of the user's own, and the way back through them."""

import errno
import os
import stat
import sys
from contextlib import contextmanager
from io import FileIO
from time import monotonic, sleep

from agent_exec.faces.slash.feedback import shown
from agent_exec.host import FileLock
from agent_exec.model.jsonline import dump, load
from agent_exec.places import make_folder, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 1000
"""How many lines are kept."""

LONGEST = 32_000
_PATIENCE = 0.2
_LARGEST = 1 << 26


class History:
    """Typed lines, the oldest first; each is written to the file at once, if there is one.

    Several programs may share a file: each sees what others wrote when it
    starts, and none loses a line of another's. A line that cannot be parsed is
    skipped, and goes when the file is next shortened. Without a file, or if
    it cannot be used, lines are kept in memory, and `problem` says why.
    """

    def __init__(self, path: str | None = None, most: int = MOST) -> None:
        self._path = path
        self.most = most
        self.problem = ""
        self.lines: list[str] = []
        if path is not None:
            try:
                make_folder(os.path.dirname(os.path.abspath(path)))
                if os.path.lexists(path):
                    self.lines, long = self._read(path)
                    if long:
                        self._shorten(path)
            except OSError as error:
                self._fail(error)

    def add(self, line: str) -> None:
        """Keep a line, unless it is empty, too long, not safe to show, or the same as the last."""
        if not _is_line(line) or (self.lines and self.lines[-1] == line):
            return
        self.lines.append(line)
        del self.lines[: -self.most]
        if self._path is not None and not self.problem:
            try:
                with _locked(self._path), _opened(self._path, "ab+") as file:
                    torn = file.tell() and (file.seek(-1, os.SEEK_END), file.read(1))[1] != b"\n"
                    file.write((b"\n" if torn else b"") + dump(line).encode() + b"\n")
            except OSError as error:
                self._fail(error)

    def walk(self) -> "Walk":
        """Return a way back from the newest line, for one edit of the command line."""
        return Walk(tuple(self.lines))

    def _read(self, path: str) -> tuple[list[str], bool]:
        """Return the newest lines of the file, and whether it is much longer than them."""
        with _opened(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _LARGEST))
            data = file.readall()
        found = [line for raw in data.split(b"\n") if (line := _line(raw))]
        return found[-self.most :], data.count(b"\n") > 2 * self.most or size > _LARGEST // 2

    def _shorten(self, path: str) -> None:
        """Replace the file by one with the newest lines; not now if another program holds the lock."""
        try:
            with _locked(path) as ours:
                if ours:
                    write_file(path, "".join(f"{dump(line)}\n" for line in self._read(path)[0]).encode())
        except OSError:
            pass  # another time

    def _fail(self, error: OSError) -> None:
        self.problem = f"the history is not kept: {error.strerror}: {self._path}"


class Walk:
    """The way through the history, away from a line that is being typed."""

    def __init__(self, lines: "tuple[str, ...]") -> None:
        self._lines = lines
        self._place = len(lines)
        self._draft = ""

    def older(self, typed: str) -> str:
        """Return the line before (Ctrl+P); the oldest again at the end. `typed` is what is there now."""
        if self._place == len(self._lines):
            self._draft = typed
        if self._place > 0:
            self._place -= 1
        return self._lines[self._place] if self._lines else typed

    def newer(self, typed: str) -> str:
        """Return the line after (Ctrl+N); past the newest, what was being typed."""
        if self._place == len(self._lines):
            return typed
        self._place += 1
        return self._draft if self._place == len(self._lines) else self._lines[self._place]


def _line(raw: bytes) -> str:
    """Return the typed line of a line of the file; nothing if it cannot be parsed."""
    try:
        value = load(raw.decode())
    except (ValueError, RecursionError):
        return ""
    return value if isinstance(value, str) and _is_line(value) else ""


def _is_line(text: str) -> bool:
    """True if a text can be put on a command line."""
    return bool(text.strip()) and len(text) <= LONGEST and shown(text, LONGEST) == text


@contextmanager
def _locked(path: str) -> "Iterator[bool]":
    """Lock the file against other programs while it is written; False if the lock is not freed in time.

    Without it, a line that is written while another program shortens the file may be lost.
    """
    lock = FileLock(f"{path}.lock")
    until = monotonic() + _PATIENCE
    while not (ours := lock.acquire()) and monotonic() <= until:
        sleep(0.002)
    try:
        yield ours
    finally:
        lock.release()


@contextmanager
def _opened(path: str, mode: str) -> "Iterator[FileIO]":
    """Open the file, private to its owner; raise OSError for anything but a regular file."""
    wait = getattr(os, "O_NONBLOCK", 0)  # for no pipe
    with FileIO(path, mode, opener=lambda path, flags: os.open(path, flags | wait, 0o600)) as file:
        mode_now = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode_now):
            raise OSError(errno.EINVAL, "it is not a regular file")
        if sys.platform != "win32" and mode_now & 0o077:
            os.fchmod(file.fileno(), 0o600)
        yield file
