"""Stable free ports: one for each folder and name, registered for all jobs of this user.

Each port has a file, which says whose it is. A job holds the file's lock for
as long as its supervisor lives; the entry stays, so that the next job of the
same folder gets the same port. An entry is dropped once its folder is gone and
no job holds it.
"""

import os

from agent_exec.host import FileLock, is_listened_on
from agent_exec.jobs.store import broken, digest
from agent_exec.logs.stream import open_to_read
from agent_exec.model.errors import StoreFailed
from agent_exec.model.jsonline import dump, load
from agent_exec.places import DATA, make_folder, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_FIRST, _COUNT = 20000, 10000
"""The range of ports: below those that systems give to clients."""
_REGISTRY = "registry"
_SIZE = 1 << 16

Owner = tuple[str, str]


def allocate(folder: str, name: str, registry: str | None = None) -> tuple[int, FileLock]:
    """Return the port of a folder and a name, and the lock that keeps it: to be held while it is used.

    It is the one that was given before, unless that is in use. Raise
    StoreFailed if the registry cannot be used, or no port is left.
    """
    root = registry or place("ports", *DATA)
    lock = FileLock(os.path.join(root, _REGISTRY))
    try:
        make_folder(root)
        lock.acquire(wait=True)
        return _allocate(root, (folder, name))
    except OSError as error:
        raise broken(error, root, "ports") from error
    finally:
        lock.release()


def _allocate(root: str, owner: Owner) -> tuple[int, FileLock]:
    known = _entries(root)
    first = digest(os.fsencode("\0".join(owner))) % _COUNT
    ours = [port for port, found in known.items() if found == owner]
    others = (_FIRST + (first + step) % _COUNT for step in range(_COUNT))
    for port in (*sorted(ours), *others):
        if known.get(port, owner) != owner:
            continue
        held = FileLock(os.path.join(root, str(port)))
        if not held.acquire():
            continue
        if is_listened_on(port):
            held.release()
            continue
        os.truncate(held.fd, 0)
        os.write(held.fd, dump(list(owner)).encode())
        return port, held
    raise StoreFailed(f"all {_COUNT} ports from {_FIRST} on are given away; delete folders of old checkouts")


def _entries(root: str) -> dict[int, Owner]:
    """Return whose each port is; drop what belongs to folders that are gone."""
    return dict(_living(root))


def _living(root: str) -> "Iterator[tuple[int, Owner]]":
    for name in os.listdir(root):
        if not name.isdecimal():
            continue
        path = os.path.join(root, name)
        owner = _read(path)
        if owner is not None and os.path.isdir(owner[0]):
            yield int(name), owner
            continue
        held = FileLock(path)
        if held.acquire():
            os.unlink(path)
            held.release()
        else:
            yield int(name), owner or ("", "")  # a job has it still


def _read(path: str) -> Owner | None:
    """Return whose a port is; None if its file was not written whole."""
    fd = open_to_read(path)
    try:
        found = load(os.read(fd, _SIZE).decode())
    except (OSError, ValueError, RecursionError):
        return None
    finally:
        os.close(fd)
    if isinstance(found, list) and len(found) == 2 and all(isinstance(one, str) for one in found):
        return found[0], found[1]
    return None
