"""Which sockets are listened on, by which processes: read from the kernel's tables, never tried (Linux)."""

import os
import sys
from time import monotonic

from agent_exec.host.posix.keeper.tree import children
from agent_exec.host.posix.lock import signers, supervisors
from agent_exec.host.posix.system import is_alive, parent_and_start, processes, read
from agent_exec.model.errors import Unsupported
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from agent_exec.model.identity import Identity

_TABLES = ("tcp", "tcp6")
_LISTENS = b"0A"
_SOCK_DIAG, _BY_FAMILY, _DUMP, _DONE, _FAILED, _STATE_LISTEN = 4, 20, 0x301, 3, 2, 10
"""How the kernel is asked for sockets, and answers."""
_ACCEPTS = 0x10000
"""The flag of a UNIX socket that is listened on."""
_FULL_SOON, _FULL_LATER, _SOON = 0.05, 0.25, 2.0
"""How often the whole tree is looked at: in the first seconds, later, and how long the first seconds are."""


class Listener(Value):
    """A socket that is listened on; of a UNIX socket, `port` is 0 and `address` its path.

    `family` is "ipv4", "ipv6" or "unix". `pid` is 0 if the process that has
    it open cannot be seen; `uid` is its user.
    """

    port: int
    address: str
    family: str
    pid: int = 0
    uid: int = 0


def is_listened_on(port: int, loopback: str | None = None) -> bool:
    """True if a TCP port is listened on, of this machine or of a loopback network that boxes share.

    It is read on Linux, else tried, which may be noticed. "" is a network that cannot be looked at.
    """
    if sys.platform != "linux":
        import socket

        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True
    if loopback is None:
        return any(one.port == port for one in _listening("self").values())
    from agent_exec.host.posix.process.loopbacks import port_tables

    rows = (row for table in port_tables(loopback) for row in _rows(table))
    return any(listener.port == port for _, listener in rows)


def holders(port: int, beside: "Collection[int]" = (), pid: int = 0) -> list[Listener]:
    """Return what listens on a TCP port in the network of process `pid` (0: ours), except `beside`, pids."""
    wanted = {inode: one for inode, one in _listening(pid or "self").items() if one.port == port}
    if not wanted:
        return []
    owned: dict[int, int] = {}
    for one in processes():
        for inode in _sockets(one, wanted):
            owned.setdefault(inode, one)
    found = [one.replace(pid=owned.get(inode, 0)) for inode, one in wanted.items()]
    return [one for one in found if one.pid not in beside]


def ancestors(pid: int) -> list[int]:
    """Return a process and those above it, as far as they can be seen."""
    found: list[int] = []
    while pid > 0:
        found.append(pid)
        try:
            pid = parent_and_start(pid)[0]
        except OSError:
            break
    return found


class Listening:
    """Looks again and again at what the processes of a job listen on.

    `lock` is the job's lock, which its owners have signed; `leader` is its
    command, by which the tree is found if they are gone. A look reads the
    tables of the job's networks. Only if they have changed, and from time to
    time, all processes of the job are looked at.
    """

    __slots__ = ("_began", "_found", "_full_at", "_leader", "_lock", "_networks", "_seen", "pids")

    def __init__(self, lock: str, leader: "Identity | None") -> None:
        if sys.platform != "linux":
            raise Unsupported("only Linux shows what a process listens on; wait for match= or http= instead")
        self._lock = lock
        self._leader = leader
        self._began = monotonic()
        self._full_at = 0.0
        self._networks: list[int] = []
        """One process in each network of the job."""
        self._seen: list[frozenset[int]] = []
        self._found: tuple[Listener, ...] = ()
        self.pids: set[int] = set()
        """The processes of the job, as of the last full look."""

    def look(self) -> tuple[Listener, ...]:
        """Return every TCP socket that a process of the job listens on, each once."""
        now = monotonic()
        if now < self._full_at and self._networks:
            tables = [_listening(pid) for pid in self._networks]
            if [frozenset(table) for table in tables] == self._seen:
                return self._found
        self._full_at = now + (_FULL_SOON if now - self._began < _SOON else _FULL_LATER)
        self._found = self._look_at_all()
        return self._found

    def unix(self, path: str) -> Listener | None:
        """Return the UNIX socket with this path that a process of the job listens on; None if none does."""
        roots, tree = self._tree()
        wanted = {inode: name for pid in self._one_each(tree).values() for inode, name in _unix(pid)}
        for pid in tree if wanted else ():
            for inode in _sockets(pid, wanted):
                if pid not in roots and _in_folder_of(pid, wanted[inode]) == path:
                    return Listener(0, path, "unix", pid)
        return None

    def roots(self) -> "Iterator[str]":
        """Yield paths that lead to what processes of the job see as the root, if that is not ours."""
        self.look()
        for pid in self.pids:
            try:
                if not os.path.samestat(os.stat(f"/proc/{pid}/ns/mnt"), os.stat("/proc/self/ns/mnt")):
                    yield f"/proc/{pid}/root"
            except OSError:
                continue

    def network(self) -> int:
        """Return a process of the job in a network that is not ours, as of the last look; 0 if none is."""
        ours = os.stat("/proc/self/ns/net").st_ino
        return next((pid for number, pid in self._one_each(self._networks).items() if number != ours), 0)

    def _tree(self) -> tuple[set[int], list[int]]:
        """Return the owners of the job, which are ours, and all processes below them, parents first."""
        roots = set(signers(self._lock))
        tree: list[int] = []
        if not roots and self._leader is not None and is_alive(self._leader):
            tree.append(self._leader.pid)
        ranks = [*roots, *tree]
        while ranks:
            ranks = [child for pid in ranks for child in children(pid) if child not in roots]
            spared = supervisors(ranks)  # of other jobs, which this one has started
            ranks = [pid for pid in ranks if pid not in spared]
            tree += ranks
        return roots, tree

    @staticmethod
    def _one_each(tree: "Iterable[int]") -> dict[int, int]:
        """Return one process in each network of some processes."""
        found: dict[int, int] = {}
        for pid in tree:
            try:
                found.setdefault(os.stat(f"/proc/{pid}/ns/net").st_ino, pid)
            except OSError:
                continue  # gone, or a helper of ours that cannot be looked at
        return found

    def _look_at_all(self) -> tuple[Listener, ...]:
        roots, tree = self._tree()
        self.pids = set(tree)
        self._networks = list(self._one_each(tree).values())
        tables = [_listening(pid) for pid in self._networks]
        self._seen = [frozenset(table) for table in tables]
        rows = {inode: one for table in tables for inode, one in table.items()}
        for pid in roots if rows else ():
            for inode in list(_sockets(pid, rows)):
                del rows[inode]  # the way out of a box, which is served by the owner
        found: list[Listener] = []
        for pid in tree:
            if not rows:
                break
            found += [rows.pop(inode).replace(pid=pid) for inode in list(_sockets(pid, rows))]
        found.sort(key=lambda one: (one.port, one.family, one.address))
        return tuple(found)


def _listening(pid: "int | str") -> dict[int, Listener]:
    """Return the TCP sockets that are listened on in the network of a process, by their inodes."""
    found: dict[int, Listener] = {}
    try:
        if pid == "self" or os.path.samestat(os.stat(f"/proc/{pid}/ns/net"), os.stat("/proc/self/ns/net")):
            return dict(
                _asked()
            )  # of our own network, the kernel can be asked: its tables take 50 times as long
    except OSError:
        pass  # it is gone, or the kernel does not tell
    for name in _TABLES:
        try:
            fd = os.open(f"/proc/{pid}/net/{name}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            # Those that are listened on come first: connections, of which there may be many, are not read.
            rest = os.read(fd, 1 << 16).partition(b"\n")[2]
            while rest:
                whole, _, rest = rest.rpartition(b"\n")
                rows = list(_rows(whole))
                found.update(rows)
                if len(rows) <= whole.count(b"\n"):
                    break
                rest += os.read(fd, 1 << 16)
        except OSError:
            continue  # the process has gone meanwhile
        finally:
            os.close(fd)
    return found


def _asked() -> "Iterator[tuple[int, Listener]]":
    """Ask the kernel for the TCP sockets of our network that are listened on; yield each with its inode."""
    import _socket
    from struct import pack, unpack_from

    sock = _socket.socket(_socket.AF_NETLINK, _socket.SOCK_RAW | _socket.SOCK_CLOEXEC, _SOCK_DIAG)
    try:
        for family in (_socket.AF_INET, _socket.AF_INET6):
            wanted = pack("=BBBxI48x", family, _socket.IPPROTO_TCP, 0, 1 << _STATE_LISTEN)
            sock.send(pack("=IHHII", 16 + len(wanted), _BY_FAMILY, _DUMP, 1, 0) + wanted)
            kind = 0
            while kind != _DONE:
                data, place = sock.recv(1 << 16), 0
                while place < len(data) and kind != _DONE:
                    size, kind = unpack_from("=IH", data, place)
                    if kind == _FAILED:
                        raise OSError(-unpack_from("=i", data, place + 16)[0], "sock_diag")
                    if kind == _BY_FAMILY:
                        row = data[place + 16 : place + size]
                        uid, inode = unpack_from("=II", row, 64)
                        six = row[0] == _socket.AF_INET6
                        address = _socket.inet_ntop(row[0], row[8 : 24 if six else 12])
                        port = int.from_bytes(row[4:6], "big")
                        yield inode, Listener(port, address, "ipv6" if six else "ipv4", uid=uid)
                    place += (size + 3) & ~3
    finally:
        sock.close()


def _rows(table: bytes) -> "Iterator[tuple[int, Listener]]":
    """Yield the sockets of a table that are listened on, with their inodes."""
    for line in table.splitlines():
        row = line.split()
        if len(row) > 9 and row[3] == _LISTENS:
            host, _, port = row[1].rpartition(b":")
            family = "ipv4" if len(host) == 8 else "ipv6"
            yield int(row[9]), Listener(int(port, 16), _address(host), family, uid=int(row[7]))


def _address(text: bytes) -> str:
    """Return an address as people write it; the kernel writes it in words of the machine's byte order."""
    import _socket

    data = bytes.fromhex(text.decode())
    if sys.byteorder == "little":
        data = b"".join(data[place : place + 4][::-1] for place in range(0, len(data), 4))
    return _socket.inet_ntop(_socket.AF_INET if len(data) == 4 else _socket.AF_INET6, data)


def _sockets(pid: int, wanted: "Collection[int]") -> "Iterator[int]":
    """Yield those of some sockets, by their inodes, that a process has open; each once."""
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return  # gone, or another user's
    seen: set[int] = set()
    for number in numbers:
        try:
            name = os.readlink(f"/proc/{pid}/fd/{number}")
        except OSError:
            continue
        if name.startswith("socket:["):
            inode = int(name[8:-1])
            if inode in wanted and inode not in seen:
                seen.add(inode)
                yield inode


def _unix(pid: int) -> "Iterator[tuple[int, str]]":
    """Yield the UNIX sockets with a path that are listened on, in the network of a process."""
    try:
        lines = read(f"/proc/{pid}/net/unix").splitlines()
    except OSError:
        return
    for line in lines[1:]:
        row = line.split(maxsplit=7)
        if len(row) == 8 and int(row[3], 16) & _ACCEPTS and not row[7].startswith(b"@"):
            yield int(row[6]), os.fsdecode(row[7])


def _in_folder_of(pid: int, path: str) -> str:
    """Return a path, which the kernel knows as a process has written it, as an absolute one."""
    try:
        return os.path.normpath(os.path.join(os.readlink(f"/proc/{pid}/cwd"), path))
    except OSError:
        return path
