"""A box behind the walls of bubblewrap: for machines where only that program may make namespaces.

Its arguments say the same as our own mounts do; what it cannot do, Landlock
and the filter, is done by the helper that it starts inside. Not for root, who
would own the machine's devices there: bubblewrap cannot make them read-only.
"""

import os

from agent_exec.model.paths import below
from agent_exec.sandbox.linux import covers, mounts
from agent_exec.sandbox.linux.box_common import (
    SHARED_BYTES,
    SHARED_MEMORY,
    Box,
    finish,
    leave_devices,
    limit,
    pinned,
    private_folders,
)
from agent_exec.sandbox.setup_steps import At

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    Spec = dict[str, Any]

PLACES = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap")
"""Where it is looked for; never on a PATH, which others may write."""

_NAMESPACES = "--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try"
_TERMS = "--die-with-parent --as-pid-1 --cap-drop ALL"


def wrap(spec: "Spec", words: "Sequence[str]") -> list[str]:
    """Return the command that runs another one behind the walls of a box."""
    network = [] if spec["net"] else ["--unshare-net"]
    program = next((place for place in PLACES if os.path.exists(place)), PLACES[0])
    return [program, *_NAMESPACES.split(), *network, *_TERMS.split(), *_view(spec), "--", *words]


def confine(spec: "Spec") -> Box:
    """Finish the box that bubblewrap has begun, as its first process."""
    at = At()
    with at("a private /dev"):
        leave_devices()
    with at("limits"):
        limit(spec, spec["procs"])
    return finish(spec, private_folders(spec), at)


def _view(spec: "Spec") -> "Iterable[str]":
    """Return what is to be seen; the order is what makes it hold."""
    roots = [os.fsdecode(path) for path, _, _ in spec["roots"]]
    private = private_folders(spec)
    masks = [
        path
        for path in map(os.fsdecode, spec["masks"])
        if below(path, roots) or not below(path, private)  # bubblewrap would make what is not there
    ]
    yield from ("--ro-bind", "/", "/")
    for path in pinned(spec, masks):  # below the roots: see mounts.pin
        yield from ("--bind", path, path)
    for folder in private:
        yield from _memory_folder(folder, spec["tmp_mb"] << 20)
    for path in map(os.fsdecode, spec["own"]):
        if below(path, private) and os.path.exists(path):
            yield from ("--ro-bind", path, path)
    for path, node in covers.tops(spec["view"]).items():
        yield from ("--perms", "0755", "--tmpfs", path, *_fill(node, path), "--remount-ro", path)
    for path in roots:
        yield from ("--bind" if spec["writable"] else "--ro-bind", path, path)
    for path in (os.fsdecode(path) for path, _, _ in spec["protected"]):
        yield from ("--ro-bind", path, path)
    yield from ("--dev", "/dev", *_memory_folder(SHARED_MEMORY, SHARED_BYTES))
    yield from ("--remount-ro", "/dev", "--proc", "/proc")
    for path in (*mounts.PROC_MASKS, *mounts.SYSTEM_MASKS):
        yield from _mask(path, ("--ro-bind", "/dev/null"))
    for path in masks:
        yield from _mask(path)
    yield from ("--remount-ro", "/proc", "--chdir", "/")


def _memory_folder(path: str, wanted: int) -> "Iterable[str]":
    return "--perms", "1777", "--size", str(mounts.room(wanted)), "--tmpfs", path


def _fill(node: "covers.Node", path: str) -> "Iterable[str]":
    """Put into a new folder what the real one may show."""
    if node.kind == "open":
        for name in covers.entries(path):
            if name not in node.below:
                yield from _bind(f"{path}/{name}")
    for name, child in node.below.items():
        place = f"{path}/{name}"
        if child.kind == "link":
            yield from ("--symlink", child.extra, place)
        elif child.kind == "show":
            yield from _bind(place)
        elif child.kind == "text":
            if (text := covers.read_text(place)) is not None:
                yield from ("--perms", "0644", "--ro-bind-data", str(_memory(text)), place)
        elif child.kind != "hide":
            yield from ("--perms", "0755", "--dir", place, *_fill(child, place))


def _bind(path: str) -> "Iterable[str]":
    if os.path.islink(path):
        return "--symlink", os.readlink(path), path
    return ("--ro-bind", path, path) if os.path.exists(path) else ()


def _memory(data: bytes) -> int:
    """Return a descriptor that bubblewrap reads data from, and closes."""
    fd = os.memfd_create("agent-exec", 0)
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _mask(path: str, by: "Sequence[str]" = ()) -> "Iterable[str]":
    """Cover a path: a folder by one that cannot be entered, all else by a file that cannot be read."""
    if os.path.isdir(path):
        yield from ("--perms", "000", "--tmpfs", path, "--remount-ro", path)
    elif os.path.lexists(path):
        yield from (*(by or ("--perms", "000", "--ro-bind-data", str(_memory(b"")))), path)
