"""The one thread of a process that shows its sessions to people: the private socket, and all viewers.

Viewers pull: when the socket of one takes more, the next piece is read for it. No viewer has a
queue, and none is waited for.
"""

import os
import sys
from collections import deque
from threading import Thread
from time import monotonic

from agent_exec.host import Poller
from agent_exec.model.errors import SCARCE, Broken, Missing, Refused
from agent_exec.sessions.keyboard import Keyboard
from agent_exec.sessions.sharing import place
from agent_exec.sessions.sharing.frames import frame
from agent_exec.sessions.sharing.painter import Painter
from agent_exec.sessions.sharing.viewer import PIECE, Viewer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from agent_exec.sessions.replay import Snapshot
    from agent_exec.sessions.session import Session
    from agent_exec.sessions.sharing.share import Share

_READ, _WRITE = 1, 4
_APART = 0.002
"""How many seconds apart a session's output is looked at: the first at once, a flood now and then."""
_LITTLE = 4096
"""How much output at once is no flood."""
_TURN = 8 * PIECE
"""How much is sent to one viewer before the others have their turn."""
_PAUSE = 0.1
"""How many seconds no connection is accepted while descriptors are scarce."""


class Watched:
    """A session that has viewers."""

    def __init__(self, hub: "Hub", session: "Session") -> None:
        self.session = session
        self.keyboard = session.keyboard = session.keyboard or Keyboard()
        self.viewers: list[Viewer] = []
        self.shown = session.transcript.total
        self.shown_at = 0.0
        self.is_due = False
        self._hub = hub
        self._piece = 0, b""
        self._showable = False, -1, 0
        session.watcher = self.notice

    def notice(self) -> None:
        """Have its viewers looked after soon; any thread may call this, under any lock."""
        if not self.is_due:
            self.is_due = True
            self._hub.notice(self)

    @property
    def showable(self) -> int:
        """The offset up to which viewers are shown output."""
        ended, total = self.session.ended, self.session.transcript.total
        if self._showable[:2] != (ended, total):
            self._showable = ended, total, self.session.showable
        return self._showable[2]

    def read(self, start: int, most: int) -> tuple[int, bytes]:
        """Return output as `Session.read` does; what one viewer was sent is at hand for the next."""
        begin, data = self._piece
        if not begin <= start < begin + len(data):
            begin, data = self._piece = self.session.read(start, most)
            return begin, data
        return start, data[start - begin :][:most]

    def want_snapshot(self, viewer: Viewer) -> None:
        """Have the screen drawn for a viewer, by another thread."""
        viewer.waits_for_snapshot = True
        self._hub.painter.paint(
            self.session, lambda snapshot: self._hub.call(lambda: self._painted(snapshot))
        )

    def tell_writers(self) -> None:
        """Have all viewers hear who has the keyboard."""
        for viewer in self.viewers:
            viewer.show_writer()
        self.notice()

    def _painted(self, snapshot: "Snapshot | None") -> None:
        waiting = [viewer for viewer in self.viewers if viewer.waits_for_snapshot]
        if snapshot is None:
            for viewer in waiting:
                viewer.fail(Broken("the screen of this session cannot be drawn; attach with an offset"))
                self._hub.pump(viewer)
        elif waiting:
            fields = ("offset", "rows", "columns", "data", "exact")
            message = frame({"type": "snapshot", **{name: getattr(snapshot, name) for name in fields}})
            for viewer in waiting:
                viewer.show_snapshot(snapshot, message)
                self._hub.pump(viewer)


class Hub:
    """The socket, and the thread that serves it until `stop`."""

    def __init__(self, server: str) -> None:
        self.server = server
        self.shares: list[Share] = []
        self.painter = Painter()
        self._listener, self._path = place.listen(server)
        self._poller = Poller(many=True, wakeable=True)
        self._poller.add(self._listener.fileno(), _READ)
        self._viewers: dict[int, Viewer] = {}
        self._watched: dict[Session, Watched] = {}
        self._due: deque[Watched] = deque()
        self._calls: deque[Callable[[], object]] = deque()
        self._accepts_at = 0.0  # when connections are accepted again; 0 is now
        self._most = _most_viewers()
        self._stopping = False
        self._thread = Thread(target=self._run, name="agent-exec sharing", daemon=True)
        self._thread.start()

    def call(self, action: "Callable[[], object]") -> None:
        """Have something done by the hub's thread; any thread may call this."""
        self._calls.append(action)
        self._poller.wake()

    def notice(self, watched: Watched) -> None:
        """Look after the viewers of a session soon; any thread may call this."""
        self._due.append(watched)
        self._poller.wake()

    def stop(self) -> None:
        """Say good-bye to all viewers, and end the thread; not by the thread itself."""
        place.remove(self._path)
        self._stopping = True
        self._poller.wake()
        self._thread.join()

    def close_descriptors(self) -> None:
        """Close all sockets and forget the thread: in a forked copy of the process."""
        for viewer in self._viewers.values():
            viewer.connection.close()
        self._listener.close()
        self._poller.close()

    # What follows is called by the hub's thread.

    def listing(self) -> "dict[str, Any]":
        """Return the answer to a viewer that asks which sessions there are."""
        shares = self.shares
        first = shares[0] if shares else None
        server = {
            "server": self.server,
            "pid": os.getpid(),
            "kind": first.kind if first else "",
            "client": first.client if first else "",
            "workspace": first.workspace if first else "",
        }
        found = [
            {**self._listed(session), "client": share.client, "workspace": share.workspace}
            for share in shares
            for session in (*share.registry.live(), *share.registry.ended())
        ]
        return {"type": "sessions", "server": server, "sessions": found}

    def _listed(self, session: "Session") -> "dict[str, Any]":
        watched = self._watched.get(session)
        size, line = session.printed_so_far()
        _, _, rows, columns = session.sizes.last
        return {
            **session.summary(),
            "rows": rows,
            "columns": columns,
            "size": size,
            "line": line,
            "viewers": len(watched.viewers) if watched else 0,
            "writer": session.keyboard.holder if session.keyboard else None,
        }

    def watch(self, viewer: Viewer, number: int | None) -> Watched:
        """Have a viewer watch a session; raise Missing if there is none of this number."""
        found = (share.registry.find(number) for share in self.shares if number is not None)
        session = next(filter(None, found), None)
        if session is None:
            raise Missing(f"this server has no session {number}; list its sessions", session_id=number)
        watched = self._watched.get(session)
        if watched is None:
            watched = self._watched[session] = Watched(self, session)
        watched.viewers.append(viewer)
        return watched

    def drop_forgotten(self) -> None:
        """End the conversations about sessions that this process does not share any more."""
        kept = {
            session for share in self.shares for session in (*share.registry.live(), *share.registry.ended())
        }
        for session, watched in tuple(self._watched.items()):
            if session not in kept:
                for viewer in tuple(watched.viewers):
                    self._dismiss(viewer)

    def pump(self, viewer: Viewer) -> None:
        """Send a viewer what its socket takes now."""
        sent, more = 0, True
        try:
            while sent < _TURN:
                if not viewer.out:
                    viewer.out = memoryview(viewer.pull())
                    if not viewer.out:
                        more = False
                        break
                count = viewer.connection.send(viewer.out)
                viewer.out = viewer.out[count:]
                sent += count
        except BlockingIOError:
            pass
        except OSError:
            viewer.over, more = True, False
        except Exception as error:  # one viewer must not end the conversations of all
            viewer.fail(Broken(f"this conversation has failed: {error!r}; attach again"))
        if viewer.over and not more:
            self._drop(viewer)
        elif viewer.wants_write != more:
            viewer.wants_write = more
            self._poller.change(viewer.connection.fileno(), _READ | _WRITE if more else _READ)

    def _run(self) -> None:
        while not self._stopping:
            ready = self._poller.wait(self._patience())
            for fd, events in ready:
                if fd == self._listener.fileno():
                    self._accept()
                elif (viewer := self._viewers.get(fd)) is not None:
                    if events & ~_WRITE:
                        self._read(viewer)
                    if fd in self._viewers:
                        self.pump(viewer)
            while self._calls:
                self._calls.popleft()()
            self._look_after()
        for viewer in tuple(self._viewers.values()):
            self._dismiss(viewer)
        self.painter.stop()
        self._listener.close()
        self._poller.close()

    def _patience(self) -> float | None:
        """Return how long nothing is to be done unless something comes."""
        if self._calls:
            return 0.0
        times = [watched.shown_at + _APART for watched in list(self._due)]
        if self._accepts_at:
            times.append(self._accepts_at)
        return max(0.0, min(times) - monotonic()) if times else None

    def _look_after(self) -> None:
        """Send what is new to the viewers of sessions that have printed, but of a flood not each chunk."""
        now = monotonic()
        for _ in range(len(self._due)):
            watched = self._due.popleft()
            if now - watched.shown_at < _APART:
                self._due.append(watched)
                continue
            watched.is_due = False
            total = watched.session.transcript.total
            watched.shown_at = now if total - watched.shown > _LITTLE else 0.0
            watched.shown = total
            for viewer in tuple(watched.viewers):
                if not viewer.wants_write:
                    self.pump(viewer)
        if self._accepts_at and now >= self._accepts_at:
            self._accepts_at = 0.0
            self._poller.add(self._listener.fileno(), _READ)

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError as error:
            if error.errno in SCARCE and not isinstance(error, BlockingIOError):
                self._poller.remove(self._listener.fileno())
                self._accepts_at = monotonic() + _PAUSE
            return
        connection.setblocking(False)
        viewer = Viewer(self, connection)
        self._viewers[connection.fileno()] = viewer
        self._poller.add(connection.fileno(), _READ)
        if (user := place.peer(connection)[1]) != _own_user():
            viewer.fail(Refused(f"these are sessions of another user; you are user {user}"))
        elif len(self._viewers) > self._most:
            viewer.fail(Refused(f"there are {self._most} viewers already; end some"))
        self.pump(viewer)

    def _read(self, viewer: Viewer) -> None:
        try:
            data = viewer.connection.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._drop(viewer)
            return
        viewer.receive(data)

    def _dismiss(self, viewer: Viewer) -> None:
        """End a conversation with what the socket takes at once."""
        self.pump(viewer)
        self._drop(viewer)

    def _drop(self, viewer: Viewer) -> None:
        """Close a connection; the keyboard goes to the next who asks, or back to the agent."""
        fd = viewer.connection.fileno()
        if self._viewers.pop(fd, None) is None:
            return
        self._poller.remove(fd)
        viewer.out = memoryview(b"")
        watched, viewer.watched = viewer.watched, None
        if watched is not None:
            watched.viewers.remove(viewer)
            if watched.keyboard.give(viewer):
                watched.tell_writers()
            if not watched.viewers:
                watched.session.watcher = None
                del self._watched[watched.session]
        viewer.connection.close()  # last: at its other end, all of this has happened


def _most_viewers() -> int:
    """Return how many viewers there may be: half of the descriptors are for commands."""
    if sys.platform == "win32":
        return 0
    import resource

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 16 if most == resource.RLIM_INFINITY else most // 2


def _own_user() -> int:
    if sys.platform == "win32":
        return -1
    return os.geteuid()
