"""Files of the workspaces over HTTP: read with ranges, replaced whole, deleted, listed.

No path leads out of the workspaces, and none to what is hidden from commands
or is our own. A path is opened once, through folders that are held open, so a
link that is put there meanwhile is an error. What may be written is what a
patch may write.
"""

import asyncio
import errno
import os
import stat
from email.utils import formatdate
from typing import TYPE_CHECKING, Any

from agent_exec.apps.serve.operation import Operation
from agent_exec.apps.serve.problems import HttpError
from agent_exec.apps.web.guard import PATIENCE, declared, fields
from agent_exec.engine.awaiting import in_thread
from agent_exec.faces.answers import answer
from agent_exec.jobs.record import stamp
from agent_exec.jobs.stdin import spooled
from agent_exec.logs.folders import Folders, HiddenPath, identities, open_file
from agent_exec.model.paths import inside
from agent_exec.patch.bounds import Bounds, confined, obeyed
from agent_exec.patch.journal import recover
from agent_exec.tools.define import integer, reads_only, string

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from agent_exec.apps.serve.operation import Exchange, Request
    from agent_exec.apps.serve.service import Service

    Given = dict[str, Any]
    Answer = dict[str, Any]
    T = TypeVar("T")

LARGEST = 1 << 30
"""The maximum size in bytes of a file that a request writes."""

MOST = 1000
"""How many names a listing has by default, and how many it has at the most."""

_PIECE = 256 << 10
_SHOWN = 4096
"""Bytes of a new content that an approver is shown."""
_PATH = string("A path in a workspace; relative ones start from the first.")


def readable(service: "Service", path: str) -> tuple[str, tuple[str, ...]]:
    """Return the real path of a file or folder, and all paths that are hidden."""
    real = service.workspace.resolve(path)
    return real, service.hidden()


def opened(service: "Service", path: str) -> int:
    """Return a descriptor of a regular file, for reading."""
    real, hidden = readable(service, path)
    with _Refusals(path):
        fd = open_file(real, hidden)
    if stat.S_ISREG(os.fstat(fd).st_mode):
        return fd
    os.close(fd)
    raise HttpError("not_a_file", f"{path!r} is a device; only files can be read")


def write(service: "Service", path: str, pieces: "Iterator[bytes]", start: bytes = b"") -> "Answer":
    """Replace a file, or make it with the folders that are missing; `start` is shown to an approver."""
    real = _writable(service, path, service.workspace.resolve(path), start)
    folders = Folders(make=True)
    new = os.path.join(os.path.dirname(real), f".put-{os.urandom(8).hex()}")
    try:
        with _Refusals(path):
            old = folders.state(real)
            if old is not None:
                old = folders.writable(real)
            try:
                state = folders.create(new, pieces, old)
                folders.rename(new, real)
            except BaseException:
                _remove(folders, new)
                raise
    except BaseException:
        folders.make = False
        for folder in reversed(folders.made):
            try:
                folders.rmdir(folder)
            except OSError:
                break
        raise
    finally:
        folders.close()
    return answer(
        "write_file",
        {"path": real, "created": old is None, "size": state.st_size, "modified_at": stamp(state.st_mtime)},
    )


def _remove(folders: Folders, path: str) -> None:
    try:
        folders.unlink(path)
    except OSError:
        pass  # it was not made, or is the file already


def _writable(service: "Service", path: str, real: str, start: bytes = b"", *, made: bool = True) -> str:
    """Return a real path if it may be written; `made` is False for a name that is deleted."""
    if reads_only(service.settings.sandbox):
        raise HttpError(
            "forbidden",
            "this server is read-only; have it started with --sandbox workspace-write to change files",
        )
    recover()  # or a patch whose process was killed would be undone over this
    plan = service.dispatcher.plan()
    roots, kept = (list(service.workspace.roots), ()) if plan is None else confined(plan)
    plain = os.path.normpath(os.path.join(service.workspace.root, path))
    why = Bounds(service.workspace.root, roots, (*kept, *service.hidden())).refusal(plain, real)
    if not why and made and plan is not None:
        why = obeyed(plan, [real])[1]
    if why:
        raise HttpError("forbidden", f"{path!r} cannot be changed: {why}", path=path)
    if real in service.workspace.roots:
        raise HttpError("not_a_file", f"{path!r} is a workspace; name a file in it")
    service.gate.admit(("apply_patch",), service.workspace.root, stdin=start, writes=(real,))
    return real


def _delete(service: "Service", given: "Given", _request: "Request") -> "Answer":
    """Delete a file, or a link itself."""
    path = given["path"]
    service.workspace.resolve(path)
    parent, name = os.path.split(path.replace("\\", "/").rstrip("/"))
    if name in ("", os.curdir, os.pardir):
        raise HttpError("not_a_file", f"{path!r} is a folder; name a file")
    real = os.path.join(service.workspace.resolve(parent or "."), name)
    _writable(service, path, real, made=False)
    folders = Folders()
    try:
        with _Refusals(path):
            state = folders.state(real)
            if state is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), real)
            if stat.S_ISDIR(state.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), real)
            folders.unlink(real)
    finally:
        folders.close()
    return answer("delete_file", {"path": real})


def _list(service: "Service", given: "Given", _request: "Request") -> "Answer":
    """List a folder."""
    path = given.get("path", ".")
    real, hidden = readable(service, path)
    if inside(real, *hidden):
        raise HttpError("forbidden", f"{path!r} is hidden by the sandbox; name another folder")
    known = identities(hidden)
    folders = Folders()
    try:
        with _Refusals(path):
            found, more = folders.entries(real, given.get("after", ""), given.get("limit", MOST))
    finally:
        folders.close()
    entries = [
        _entry(name, state)
        for name, state in found
        if (state.st_dev, state.st_ino) not in known and not inside(os.path.join(real, name), *hidden)
    ]
    return answer("list_files", {"path": real, "entries": entries, "truncated": more})


def _entry(name: str, state: os.stat_result) -> "Answer":
    kinds = {stat.S_IFREG: "file", stat.S_IFDIR: "folder", stat.S_IFLNK: "link"}
    return {
        "name": os.fsencode(name).decode("utf-8", "replace"),
        "kind": kinds.get(stat.S_IFMT(state.st_mode), "other"),
        "size": state.st_size,
        "mode": f"{stat.S_IMODE(state.st_mode):04o}",
        "modified_at": stamp(state.st_mtime),
    }


class _Refusals:
    """Turns what the system says about a path into an answer."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if not isinstance(error, OSError):
            return
        path, number = self._path, error.errno
        if isinstance(error, HiddenPath):
            raise HttpError("forbidden", f"{path!r} is hidden by the sandbox; name another") from None
        if number == errno.ENOENT:
            raise HttpError("missing", f"there is no {path!r}; /v1/files/list lists a folder") from None
        if number in (errno.EISDIR, errno.EINVAL, errno.ENXIO, errno.ENOTDIR, errno.ENAMETOOLONG):
            why = error.strerror
            raise HttpError("not_a_file", f"{path!r} cannot be used: {why}; name a file") from None
        if number in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ELOOP):
            raise HttpError("forbidden", f"{path!r} cannot be used: {error.strerror}") from None


async def _read(service: "Service", given: "Given", exchange: "Exchange") -> None:
    """Send a file, or one range of it."""
    path = given["path"]
    fd = await _thread(lambda: opened(service, path))
    gone = asyncio.ensure_future(_hung_up(exchange))
    try:
        state = os.fstat(fd)
        tag = f'"{state.st_ino:x}-{state.st_size:x}-{state.st_mtime_ns:x}"'
        wanted = "".join(fields(exchange.scope, "range"))
        if (unless := "".join(fields(exchange.scope, "if-range"))) and unless != tag:
            wanted = ""
        start, stop = span(wanted, state.st_size)
        part = (start, stop) != (0, state.st_size)
        head = {
            "content-type": "application/octet-stream",
            "content-length": str(stop - start),
            "content-disposition": "attachment",
            "accept-ranges": "bytes",
            "etag": tag,
            "last-modified": formatdate(state.st_mtime, usegmt=True),
            "x-file-mode": f"{stat.S_IMODE(state.st_mode):04o}",
            "cache-control": "no-store",
            "x-content-type-options": "nosniff",
            "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
            **({"content-range": f"bytes {start}-{stop - 1}/{state.st_size}"} if part else {}),
        }
        headers = [(name.encode(), value.encode()) for name, value in head.items()]
        await exchange.send(
            {"type": "http.response.start", "status": 206 if part else 200, "headers": headers}
        )
        os.lseek(fd, start, os.SEEK_SET)
        while start < stop:
            data = await _thread(_reader(fd, min(_PIECE, stop - start)))
            if not data or gone.done():
                return  # the file became shorter, or the client has gone: the connection is closed
            start += len(data)
            await exchange.send({"type": "http.response.body", "body": data, "more_body": True})
        await exchange.send({"type": "http.response.body", "body": b""})
    finally:
        gone.cancel()
        os.close(fd)


def _reader(fd: int, size: int) -> "Callable[[], bytes]":
    def call() -> bytes:
        try:
            return os.read(fd, size)
        except OSError:  # of a disk; an answer that has begun can only be cut short
            return b""

    return call


def span(wanted: str, size: int) -> tuple[int, int]:
    """Return where what a Range field wants of so many bytes begins and ends; all of them if it is no range.

    Several ranges are answered by the whole, as RFC 9110 allows.
    """
    unit, _, text = wanted.partition("=")
    first, dash, last = text.strip().partition("-")
    numbers = [one for one in (first, last) if one]
    if unit.strip() != "bytes" or not dash or not all(one.isascii() and one.isdecimal() for one in numbers):
        return 0, size
    if not numbers or any(len(one) > 18 for one in numbers):
        return 0, size
    if not first:
        start, stop = max(0, size - int(last)), size
    else:
        start, stop = int(first), min(size, int(last) + 1) if last else size
    if first and last and int(last) < int(first):
        return 0, size
    if start >= stop:
        raise HttpError(
            "range_not_satisfiable", f"the file has {size} bytes, and {wanted} is beyond them", size=size
        )
    return start, stop


async def _write(service: "Service", given: "Given", exchange: "Exchange") -> "Answer":
    """Take the whole body first: nothing is changed by one that is cut short."""
    fd = await receive_file(service, exchange)
    try:
        start = os.read(fd, _SHOWN)
        return await _thread(lambda: write(service, given["path"], pieces_of(fd), start))
    finally:
        os.close(fd)


async def receive_file(service: "Service", exchange: "Exchange") -> int:
    """Return a descriptor of a nameless file that holds the body of a request; the caller closes it."""
    if declared(exchange.scope) > LARGEST:
        raise _too_large()
    fd = await _thread(lambda: spooled(service.jobs.store, ()))
    try:
        size, more = 0, True
        while more:
            try:
                async with asyncio.timeout(PATIENCE):
                    message = await exchange.receive()
            except TimeoutError:
                raise HttpError(
                    "timed_out", f"no byte has come for {PATIENCE:.0f} s; send it again"
                ) from None
            if message["type"] != "http.request":
                raise HttpError("timed_out", "the connection ended before the whole file had come")
            data, more = message.get("body", b""), message.get("more_body", False)
            size += len(data)
            if size > LARGEST:
                raise _too_large()
            if data:
                await _thread(_writer(fd, data))
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _writer(fd: int, data: bytes) -> "Callable[[], None]":
    def call() -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]

    return call


def pieces_of(fd: int) -> "Iterator[bytes]":
    """Yield all of a file, in pieces."""
    os.lseek(fd, 0, os.SEEK_SET)
    while data := os.read(fd, _PIECE):
        yield data


def _too_large() -> HttpError:
    return HttpError("too_large", f"a file may have {LARGEST} bytes; send less, or have a command fetch it")


async def _hung_up(exchange: "Exchange") -> None:
    while (await exchange.receive())["type"] != "http.disconnect":
        pass


async def _thread(call: "Callable[[], T]") -> "T":
    return await in_thread(call, lambda: None)


OPERATIONS = (
    Operation(
        "read_file",
        "Read a file, or a range of it.",
        fields={"path": _PATH},
        required=("path",),
        reads=True,
        raw=_read,
    ),
    Operation(
        "write_file",
        "Replace a file by the body, or make it with the folders that are missing.",
        fields={"path": _PATH},
        required=("path",),
        raw=_write,
    ),
    Operation("delete_file", "Delete a file.", _delete, {"path": _PATH}, ("path",)),
    Operation(
        "list_files",
        "List a folder.",
        _list,
        {
            "path": _PATH,
            "after": string("A name; only those that are sorted after it are listed."),
            "limit": integer("How many names to list.", 1, MOST),
        },
        reads=True,
    ),
)
