"""One conversation with a person's terminal: what is sent to it next, and what it asks for."""

from agent_exec.model.errors import AgentExecError, InputClosed, InvalidArgument
from agent_exec.sessions.sharing.frames import MOST_SENT, Frames, frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

    from agent_exec.sessions.replay import Snapshot
    from agent_exec.sessions.sharing.frames import Message
    from agent_exec.sessions.sharing.hub import Hub, Watched

PIECE = 1 << 15
_MOST_UNREAD = 1 << 20
"""How much may be typed ahead of a program that does not read."""
_LONGEST_NAME = 64
_LARGEST_SIDE, _MOST_CELLS = 2000, 250_000
_REFUSALS = {
    "not_writer": "the keyboard is not yours; send take first",
    "read_only": "this viewer may only watch; attach without watch",
    "input_full": "the program does not read what was typed before; wait until it does",
    "no_terminal": "this session has no terminal to type on or to resize; watch it, or end it",
    "ended": "this session has ended",
}


class Viewer:
    """What a viewer has seen, and what it waits for; used by the hub's thread alone.

    Nothing is queued: `pull` makes the next message when the socket has taken the last.
    """

    def __init__(self, hub: "Hub", connection: "socket.socket") -> None:
        self.hub = hub
        self.connection = connection
        self.out = memoryview(b"")
        self.wants_write = False
        self.over = False
        """True if the connection is closed once all is sent."""
        self.watched: Watched | None = None
        self.waits_for_snapshot = False
        self._frames = Frames(MOST_SENT)
        self._hello: dict[str, Any] | None = None
        self._error: dict[str, Any] | None = None
        self._lists = 0
        self._refusal = ""
        self._writer_due = False
        self._snapshot = b""
        self._offset = self._size = 0
        self._skip: int | None = None
        self._own_size: tuple[int, int] | None = None
        self._paused = False
        self._only_watches = False
        self._name = ""

    # What it is sent.

    def pull(self) -> bytes:
        """Return the next message for it, as it is sent; none if there is none now."""
        if self._error is not None:
            told, self._error, self.over = self._error, None, True
            return frame(told)
        if self.over:
            return b""
        if self._lists:
            self._lists -= 1
            return frame(self.hub.listing())
        if self.watched is None:
            return b""
        if self._hello is not None:
            hello, self._hello = self._hello, None
            return frame(hello | self._writer("writer_name"))
        if self._refusal:
            code, self._refusal = self._refusal, ""
            return frame({"type": "refused", "code": code, "message": _REFUSALS[code]})
        if self._writer_due:
            self._writer_due = False
            keyboard = self.watched.keyboard
            return frame({"type": "writer", **self._writer("name"), "asked_by": keyboard.asked_by})
        if self._paused or self.waits_for_snapshot:
            return b""
        if self._snapshot:
            snapshot, self._snapshot = self._snapshot, b""
            return snapshot
        return self._output(self.watched)

    def _output(self, watched: "Watched") -> bytes:
        session = watched.session
        ended = session.ended  # before the total: all output is there then
        total = watched.showable
        if self._skip is not None and total - self._offset > self._skip:
            watched.want_snapshot(self)
            return b""
        size = session.sizes.after(self._size)
        if size is not None and size[1] <= self._offset:
            self._size, _, rows, columns = size
            return frame({"type": "resize", "offset": self._offset, "rows": rows, "columns": columns})
        end = total if size is None else min(total, size[1])
        if self._offset < end:
            begin, data = watched.read(self._offset, min(PIECE, end - self._offset))
            if begin == self._offset and data:
                self._offset += len(data)
                return frame(data)
            if data or not ended:
                watched.want_snapshot(self)
                return b""
        if not ended:
            return b""
        self.over = True
        outcome = session.outcome
        return frame(
            {
                "type": "end",
                "offset": total,
                "exit_code": None if outcome is None else outcome.exit_code,
                "signal": None if outcome is None else outcome.signal,
                "job_id": session.job or None,
            }
        )

    def _writer(self, name: str) -> "dict[str, Any]":
        """Return who has the keyboard, seen from here."""
        assert self.watched is not None
        keyboard = self.watched.keyboard
        holder = keyboard.holder
        writer = None if holder is None else "you" if keyboard.has(self) else "other"
        return {"writer": writer, name: holder}

    def show_snapshot(self, snapshot: "Snapshot", message: bytes) -> None:
        """Go on from a snapshot, which the message has."""
        self.waits_for_snapshot = False
        self._snapshot, self._offset, self._size = message, snapshot.offset, snapshot.size

    def show_writer(self) -> None:
        """Say anew who has the keyboard."""
        self._writer_due = True

    def fail(self, error: AgentExecError) -> None:
        """Say what is wrong, and end the conversation."""
        self._error = self._error or {"type": "error", "code": error.code, "message": error.message}

    # What it sends.

    def receive(self, data: bytes) -> None:
        """Heed what it has sent; a bad message ends the conversation."""
        if self.over or self._error is not None:
            return
        try:
            for message in self._frames.feed(data):
                self._heed(message)
        except AgentExecError as error:
            self.fail(error)

    def _heed(self, message: "Message") -> None:
        kind = "data" if isinstance(message, bytes) else message.get("type")
        if self.watched is None:
            if kind == "list":
                self._lists += 1
            elif kind == "attach" and isinstance(message, dict):
                self._attach(message)
            else:
                raise InvalidArgument(f"the first message is list or attach; got {kind!r}")
            return
        if kind in ("pause", "resume"):
            self._paused = kind == "pause"
        elif kind not in ("data", "take", "give", "resize", "kill"):
            raise InvalidArgument(
                f"a viewer sends data, take, give, resize, pause, resume or kill; got {kind!r}"
            )
        else:
            self._refusal = self._act(self.watched, message) or self._refusal

    def _act(self, watched: "Watched", message: "Message") -> str:
        """Do what changes the session; return why not, "" if it was done."""
        session, keyboard = watched.session, watched.keyboard
        if self._only_watches:
            return "read_only"
        if session.ended:
            return "ended"
        kind = None if isinstance(message, bytes) else message["type"]
        if kind == "kill":
            session.stop()
            return ""
        if not session.command.tty:
            return "no_terminal"
        if kind == "take":
            if keyboard.take(self, self._name):
                watched.tell_writers()
                if keyboard.has(self) and self._own_size is not None:
                    session.resize(*self._own_size)
            else:
                self._writer_due = True
        elif kind == "give":
            if not keyboard.give(self):
                return "not_writer"
            watched.tell_writers()
        elif not keyboard.has(self):
            return "not_writer"
        elif isinstance(message, dict):
            session.resize(*_size(message))
        else:
            return self._type(watched, message)
        return ""

    def _type(self, watched: "Watched", data: bytes) -> str:
        session = watched.session
        if session.run.unread + len(data) > _MOST_UNREAD:
            return "input_full"
        try:
            session.type(data)
        except InputClosed:
            return "ended"
        watched.keyboard.note_typed(self._name, len(data))
        return ""

    def _attach(self, asked: "dict[str, Any]") -> None:
        number, offset, self._skip = (_count(asked, name) for name in ("session", "offset", "skip"))
        if asked.get("rows") is not None or asked.get("columns") is not None:
            self._own_size = _size(asked)
        name = asked.get("name")
        if name is not None and not isinstance(name, str):
            raise InvalidArgument(f"name must be a text; got {name!r}")
        self._name = (name or "")[:_LONGEST_NAME].strip() or "someone"
        self._only_watches = asked.get("watch") is True
        self.watched = watched = self.hub.watch(self, number)
        session = watched.session
        total = watched.showable
        wanted = offset is not None and offset <= total
        self._offset = total if offset is None or not wanted else offset
        self._size, _, rows, columns = session.sizes.at(self._offset)
        if not wanted:
            watched.want_snapshot(self)
        self._hello = {
            "type": "hello",
            "session": session.number,
            "server": self.hub.server,
            "offset": self._offset,
            "rows": rows,
            "columns": columns,
            "running": not session.ended,
            "tty": session.command.tty,
            "cmd": session.text,
        }


def _count(asked: "dict[str, Any]", name: str) -> int | None:
    value = asked.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise InvalidArgument(f"{name} must be a whole number, 0 or more; got {value!r}")
    return value


def _size(asked: "dict[str, Any]") -> tuple[int, int]:
    """Return rows and columns; raise InvalidArgument for a size that no terminal of a session may have."""
    rows, columns = _count(asked, "rows"), _count(asked, "columns")
    if not (rows and columns and max(rows, columns) <= _LARGEST_SIDE and rows * columns <= _MOST_CELLS):
        raise InvalidArgument(
            f"rows and columns must be 1 to {_LARGEST_SIDE}, and their product at most {_MOST_CELLS}; "
            f"got {rows} and {columns}"
        )
    return rows, columns
