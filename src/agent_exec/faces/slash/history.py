"""The lines that were typed, kept in a file of the user's own, and the way back through them."""

import errno
import os
import stat
import sys
from time import monotonic, sleep

from agent_exec.faces.slash.display import shown
from agent_exec.host import FileLock
from agent_exec.model.jsonline import dump, load
from agent_exec.places import make_folder, write_file

MOST = 1000
"""How many lines are kept."""

LONGEST = 32_000
_PATIENCE = 0.2
_LARGEST = 1 << 26
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


class History:
    """Typed lines, the oldest first; each is written to the file at once, if there is one.

    Several programs may share a file: each sees what others wrote when it
    starts, and none loses a line of another's. What cannot be read in it is
    passed over, and goes when the file is next made shorter. Without a file,
    or if it cannot be used, lines are kept in memory, and `problem` says why.
    """

    __slots__ = ("_path", "lines", "most", "problem")

    def __init__(self, path: str | None = None, most: int = MOST) -> None:
        self._path = path
        self.most = most
        self.problem = ""
        self.lines: list[str] = []
        if path is not None:
            try:
                make_folder(os.path.dirname(os.path.abspath(path)))
                self.lines = self._read()
            except OSError as error:
                self._fail(error)

    def add(self, line: str) -> None:
        """Keep a line, unless it is empty, too long, not safe to be shown, or the same as the last."""
        if not _is_line(line) or (self.lines and self.lines[-1] == line):
            return
        self.lines.append(line)
        del self.lines[: -self.most]
        if self._path is not None and not self.problem:
            try:
                self._append(self._path, line)
            except OSError as error:
                self._fail(error)

    def walk(self) -> "Walk":
        """Return a way back from the newest line, for one edit of the command line."""
        return Walk(tuple(self.lines))

    def _read(self) -> list[str]:
        assert self._path is not None
        try:
            fd = os.open(self._path, os.O_RDONLY | _FLAGS)
        except FileNotFoundError:
            return []
        try:
            _private(fd)
            size = os.fstat(fd).st_size
            os.lseek(fd, max(0, size - _LARGEST), os.SEEK_SET)
            data = _all(fd)
        finally:
            os.close(fd)
        found = [line for raw in data.split(b"\n") if (line := _line(raw))]
        if data.count(b"\n") > 2 * self.most or size > _LARGEST // 2:
            self._shorten(self._path)
        return found[-self.most :]

    def _append(self, path: str, line: str) -> None:
        """Write one line in one piece, after a whole one."""
        lock = FileLock(f"{path}.lock")
        _take(lock)  # without it, a line that is written while another makes the file shorter may be lost
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _FLAGS, 0o600)
            try:
                _private(fd)
                size = os.fstat(fd).st_size
                torn = size > 0 and _last_byte(fd, size) != b"\n"
                os.write(fd, (b"\n" if torn else b"") + dump(line).encode() + b"\n")
            finally:
                os.close(fd)
        finally:
            lock.release()

    def _shorten(self, path: str) -> None:
        """Write the newest lines into a new file, and put it in the place of the old one."""
        lock = FileLock(f"{path}.lock")
        if not _take(lock):
            return  # another time
        try:
            fd = os.open(path, os.O_RDONLY | _FLAGS)
            try:
                lines = [line for raw in _all(fd).split(b"\n") if (line := _line(raw))]
            finally:
                os.close(fd)
            write_file(path, "".join(f"{dump(line)}\n" for line in lines[-self.most :]).encode())
        except OSError:
            pass  # another time
        finally:
            lock.release()

    def _fail(self, error: OSError) -> None:
        self.problem = f"the history is not kept: {error.strerror}: {self._path}"


class Walk:
    """The way through the history, away from a line that is being typed."""

    __slots__ = ("_draft", "_lines", "_place")

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
    """Return the typed line that is written so; nothing if it cannot be read."""
    try:
        value = load(raw.decode())
    except (ValueError, RecursionError):
        return ""
    return value if isinstance(value, str) and _is_line(value) else ""


def _is_line(text: str) -> bool:
    """True if a text can be put on a command line."""
    return bool(text.strip()) and len(text) <= LONGEST and shown(text, LONGEST) == text


def _take(lock: FileLock) -> bool:
    """Take a lock that others hold for a moment; say whether we have it."""
    until = monotonic() + _PATIENCE
    while not lock.acquire():
        if monotonic() > until:
            return False
        sleep(0.002)
    return True


def _private(fd: int) -> None:
    """Have a file of ours be for us alone; raise OSError for what is no file."""
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        raise OSError(errno.EINVAL, "it is no file")
    if sys.platform != "win32" and os.fstat(fd).st_mode & 0o077:
        os.fchmod(fd, 0o600)


def _last_byte(fd: int, size: int) -> bytes:
    os.lseek(fd, size - 1, os.SEEK_SET)
    return os.read(fd, 1)


def _all(fd: int) -> bytes:
    parts = []
    while part := os.read(fd, 1 << 20):
        parts.append(part)
    return b"".join(parts)
