"""The beginning of a file, for a pane that shows it."""

import os
import stat

from agent_exec.faces.slash.display import shown
from agent_exec.faces.slash.listing import listing
from agent_exec.logs.folders import open_own_file
from agent_exec.model.value import Value

MAX_BYTES = 64 * 1024
MAX_LINES = 500
_TEXTLESS = 0.1


class Preview(Value):
    """The first lines of a file, safe to be shown, and whether there are more.

    `kind` is "text", "directory" (its names), "binary", or "message"; the
    last two have one line that says so.
    """

    kind: str
    lines: "tuple[str, ...]" = ()
    more: bool = False


def preview(path: str, *, max_bytes: int = MAX_BYTES, max_lines: int = MAX_LINES) -> Preview:
    """Return the beginning of a file; whatever is wrong with it is a message. Waits for no pipe."""
    try:
        fd = open_own_file(path)
    except (OSError, ValueError) as error:
        return _message(path, error)
    try:
        info = os.fstat(fd)
        if stat.S_ISDIR(info.st_mode):
            return _folder(path, max_lines)
        if not stat.S_ISREG(info.st_mode):
            return Preview("message", (f"{shown(os.path.basename(path))}: neither a file nor a folder",))
        data = b""
        while len(data) <= max_bytes and (part := os.read(fd, max_bytes + 1 - len(data))):
            data += part
    except OSError as error:
        return _message(path, error)
    finally:
        os.close(fd)
    if is_binary(data):
        return Preview("binary", (f"binary, {info.st_size} bytes",))
    more = len(data) > max_bytes
    lines = data[:max_bytes].split(b"\n")
    if not lines[-1]:
        lines.pop()
    told = tuple(shown(line.removesuffix(b"\r")) for line in lines[:max_lines])
    return Preview("text", told, more=more or len(lines) > max_lines)


def is_binary(data: bytes) -> bool:
    """True if the beginning of a file is no text: it has a NUL, or much of it is no UTF-8."""
    if b"\0" in data:
        return True
    bad = data.decode("utf-8", "replace").count("\ufffd") - data.count("\ufffd".encode())
    return bad > 1 + len(data) * _TEXTLESS


def _folder(path: str, most: int) -> Preview:
    found = listing(path, most=most)
    if found.problem:
        return Preview("message", (found.problem,))
    names = (one.shown + ("/" if one.kind == "directory" else "") for one in found.entries)
    return Preview("directory", tuple(names), more=found.more)


def _message(path: str, error: "OSError | ValueError") -> Preview:
    why = error.strerror if isinstance(error, OSError) else "this is no path"
    return Preview("message", (f"{shown(os.path.basename(path))}: {why}",))
