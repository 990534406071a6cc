"""Puts folders of the box's own in the place of home folders, as a plan's view says, with little bound back.

A name that such a folder does not have cannot appear in it, whatever the host
makes or renames: nothing is mounted over the secret itself that could come off.
"""

import os
import stat
from errno import EACCES, ELOOP, ENOENT, ENOTDIR

from agent_exec.model.paths import inside
from agent_exec.model.secret import PARTS, is_secret
from agent_exec.sandbox.closing import Closing
from agent_exec.sandbox.linux import calls
from agent_exec.sandbox.linux.mounts import BARE, make_entry, make_folder, put

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_OPTIONS = {"size": str(8 << 20), "nr_inodes": "65536", "mode": "755"}
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_GONE = (ENOENT, ENOTDIR, ELOOP, EACCES)
_LONGEST = 1 << 16


class Node:
    """A place in a view: its kind and extra, and what is below it by name."""

    __slots__ = ("below", "extra", "kind")

    def __init__(self) -> None:
        self.kind = ""
        self.extra = ""
        self.below: dict[str, Node] = {}


def tops(view: "Iterable[tuple[str, bytes, bytes]]") -> dict[str, Node]:
    """Return the folders that are replaced, none in another, each with what is below it."""
    found: dict[str, Node] = {}
    for kind, raw, extra in sorted(view, key=lambda entry: entry[1].count(b"/")):
        path = os.fsdecode(raw)
        top = next((one for one in found if inside(path, one)), None)
        if top is None:
            if kind not in {"cover", "open"}:
                continue
            top, found[path] = path, Node()
        node = found[top]
        for part in path[len(top) :].split("/")[1:]:
            node = node.below.setdefault(part, Node())
        node.kind, node.extra = kind, os.fsdecode(extra)
    return found


def open_tops(view: "Iterable[tuple[str, bytes, bytes]]") -> list[tuple[str, Node, int]]:
    """Open what is to be replaced, while it can be reached; -1 stands for what is not there."""
    return [(path, node, _look(path)) for path, node in tops(view).items()]


def put_up(opened: "Sequence[tuple[str, Node, int]]") -> None:
    """Replace the opened folders, and close them. The new ones are read-only, as is what is shown in them."""
    for path, node, source in opened:
        with Closing(source):
            make_folder(path)
            with Closing(calls.new_filesystem("tmpfs", _OPTIONS, BARE)) as folder:
                put(folder, path)
                _fill(node, source, folder)
                calls.mount_setattr(folder, calls.MOUNT_RDONLY | BARE, recursive=False, path=path)


def _fill(node: Node, source: int, folder: int) -> None:
    """Put into a new folder what the real one may show."""
    if node.kind == "open" and source >= 0:
        for name in entries(source):
            if name not in node.below:
                _bind(name, source, folder)
    for name, child in node.below.items():
        if child.kind == "link":
            os.symlink(child.extra, name, dir_fd=folder)
        elif child.kind == "show":
            _bind(name, source, folder)
        elif child.kind == "text":
            if (text := read_text(name, source)) is not None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
                with Closing(os.open(name, flags, 0o644, dir_fd=folder)) as fd:
                    os.write(fd, text)
        elif child.kind != "hide":
            os.mkdir(name, 0o755, dir_fd=folder)
            with (
                Closing(_look(name, source) if source >= 0 else -1) as real,
                Closing(os.open(name, _FOLDER, dir_fd=folder)) as inner,
            ):
                _fill(child, real, inner)


def _bind(name: str, source: int, folder: int) -> None:
    """Let an entry of the real folder be seen in the new one; a link is made again."""
    with Closing(_look(name, source)) as fd:
        if fd < 0:
            return
        mode = os.fstat(fd).st_mode
        if stat.S_ISLNK(mode):
            os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=folder)
            return
        with Closing(calls.open_tree(fd, path=name)) as tree:
            is_folder = stat.S_ISDIR(mode)
            make_entry(name, folder, is_folder=is_folder, mode=0o755 if is_folder else 0o600)
            calls.move_mount(tree, folder, name, path=name)


def entries(folder: int | str) -> list[str]:
    """Return the names in a folder, by its descriptor or path; none if it may not be listed."""
    at = folder if isinstance(folder, int) else None
    with Closing(_open("." if isinstance(folder, int) else folder, _FOLDER, at)) as fd:
        return sorted(os.listdir(fd)) if fd >= 0 else []


def read_text(name: str, source: int | None = None) -> bytes | None:
    """Return a small configuration file without its secrets; None if it is invalid or cannot be read."""
    with Closing(_open(name, _FILE, source)) as fd:
        if fd < 0 or not stat.S_ISREG((found := os.fstat(fd)).st_mode) or found.st_size > _LONGEST:
            return None
        data = os.read(fd, _LONGEST + 1)
    return b"".join(_harmless(data.splitlines(keepends=True)))


def _open(path: str, flags: int, at: int | None) -> int:
    """Open a path; -1 if nothing can be reached there."""
    try:
        return os.open(path, flags, dir_fd=at)
    except OSError as problem:
        if problem.errno in _GONE:
            return -1
        raise


def _harmless(lines: "Iterable[bytes]") -> "Iterator[bytes]":
    """Return the lines without secrets, what continues those, and what stands in a section that looks so."""
    section = goes_on = False
    quotes = ""
    for line in lines:
        word = line.strip().decode("utf-8", "replace")
        if quotes:  # a text of many lines
            quotes = "" if quotes in word else quotes
            continue
        if word.startswith("["):
            section = _is_secret(word)
        secret = section or goes_on or _is_secret(word)
        goes_on = secret and word.endswith("\\")
        if not secret:
            yield line
        else:
            quotes = next((mark for mark in ('"""', "'''") if word.count(mark) % 2), "")


def _is_secret(line: str) -> bool:
    upper = line.upper()
    if "SIGNINGKEY" in upper:
        return False
    _, address, rest = line.partition("://")
    return (
        any(part in upper for part in PARTS)
        or "EXTRAHEADER" in upper
        or is_secret(line.partition("=")[0].strip(" \t\"'"), line)
        or bool(address and "@" in rest.partition("/")[0])
    )


def _look(path: str, at: int = calls.AT_FDCWD) -> int:
    """Open a place, no link followed on the way to it; -1 if nothing can be reached there."""
    try:
        return calls.openat2(path, os.O_PATH | os.O_NOFOLLOW, calls.RESOLVE_NO_SYMLINKS, at)
    except OSError as problem:
        if problem.errno in _GONE:
            return -1
        raise
