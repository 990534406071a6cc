"""Files that a client of SWE-ReX uploads: a form with one file, which may be an archive to unpack."""

import mmap
import os
import re
import zipfile
from typing import TYPE_CHECKING

from agent_exec.apps.serve.files import LARGEST, receive_file, write
from agent_exec.apps.web.guard import fields
from agent_exec.engine.awaiting import in_thread
from agent_exec.jobs.stdin import spooled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from agent_exec.apps.serve.operation import Exchange
    from agent_exec.apps.serve.service import Service


class FormError(Exception):
    """The body of an upload is not a form that can be used; the protocol has a status of its own for that."""


MOST_FILES = 100_000
"""How many files an archive may hold."""

_BOUNDARY = re.compile(r'multipart/form-data\s*;.*?boundary=("?)([^";,]{1,70})\1', re.IGNORECASE)
_NAME = re.compile(rb'content-disposition:[^\r\n]*?[;\s]name="([^"\r\n]*)"', re.IGNORECASE)
_LONGEST_HEAD = 8 << 10
_LONGEST_FIELD = 8 << 10
_MOST_PARTS = 16
_PIECE = 256 << 10


async def upload(service: "Service", exchange: "Exchange") -> None:
    """Store the file of a form at its target path, or what an archive holds below it."""
    found = _BOUNDARY.search("".join(fields(exchange.scope, "content-type")))
    if found is None:
        raise FormError("an upload is sent as multipart/form-data with a boundary")
    boundary = f"--{found[2]}".encode("latin-1")
    fd = await receive_file(service, exchange)
    try:
        await in_thread(lambda: _store(service, fd, boundary), lambda: None)
    finally:
        os.close(fd)


def _store(service: "Service", fd: int, boundary: bytes) -> None:
    size = os.fstat(fd).st_size
    if not size:
        raise FormError("the form is empty; send file, target_path and unzip")
    with mmap.mmap(fd, size, access=mmap.ACCESS_READ) as form:
        parts = _parts(form, boundary)
        for name in ("file", "target_path"):
            if name not in parts:
                raise FormError(f"the form has no {name}; send file, target_path and unzip")
        target = _text(form, parts["target_path"])
        unzip = (
            _text(form, parts["unzip"]).lower() in ("true", "1", "on", "yes") if "unzip" in parts else False
        )
        start, stop = parts["file"]
        if not unzip:
            write(service, target, _slice(form, start, stop), form[start : min(stop, start + 4096)])
            return
        archive = spooled(service.jobs.store, _slice(form, start, stop))
    with os.fdopen(archive, "rb") as file:
        _unpack(service, file, target)


def _parts(form: mmap.mmap, boundary: bytes) -> dict[str, tuple[int, int]]:
    """Return where the content of each field of a form begins and ends."""
    found: dict[str, tuple[int, int]] = {}
    at = form.find(boundary)
    while at >= 0 and len(found) < _MOST_PARTS:
        at += len(boundary)
        if form[at : at + 2] == b"--":
            return found
        head = form.find(b"\r\n\r\n", at, at + _LONGEST_HEAD)
        end = form.find(b"\r\n" + boundary, max(head, at))
        if head < 0 or end < 0:
            break
        named = _NAME.search(form[at:head])
        if named is not None:
            found[named[1].decode("utf-8", "replace")] = head + 4, end
        at = end + 2
    raise FormError("the form is cut short, or is no form")


def _text(form: mmap.mmap, place: tuple[int, int]) -> str:
    start, stop = place
    if stop - start > _LONGEST_FIELD:
        raise FormError(f"a field of the form has more than {_LONGEST_FIELD} bytes")
    return form[start:stop].decode("utf-8", "surrogateescape")


def _slice(form: mmap.mmap, start: int, stop: int) -> "Iterator[bytes]":
    while start < stop:
        yield form[start : min(stop, start + _PIECE)]
        start += _PIECE


def _unpack(service: "Service", file: "BinaryIO", target: str) -> None:
    """Write every file of an archive below a path; nothing of it leads out of the workspaces."""
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_FILES or sum(entry.file_size for entry in entries) > LARGEST:
                raise FormError(
                    f"the archive holds more than {MOST_FILES} files or {LARGEST} bytes; send less at once"
                )
            base = os.path.join(service.workspace.root, target)
            for entry in entries:
                if entry.is_dir():
                    continue
                name = entry.filename
                if name.startswith("/") or ".." in name.split("/"):
                    raise FormError(f"the archive has a path that leads out of it: {name!r}")
                with archive.open(entry) as member:
                    write(service, os.path.join(base, name), iter(lambda: member.read(_PIECE), b""))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise FormError(f"the file is not an archive that can be unpacked: {error}") from None
