"""What a session has printed, as its caller wants to see it: text, the screen, or as it came."""

from agent_exec.faces.session.truncate import joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.sessions.plain import Plain
    from agent_exec.sessions.screen import Screen
    from agent_exec.sessions.session import Session
    from agent_exec.sessions.transcript import Taken

_REPLAYED = 1 << 20


class View:
    """The eyes of one session's callers; not for two threads at once."""

    __slots__ = ("_plain", "_screen", "_shown", "columns", "render", "rows")

    def __init__(self, render: str, rows: int, columns: int, *, tty: bool) -> None:
        self.render = render
        self.rows = rows
        self.columns = columns
        self._plain = _plain(columns) if tty else None
        self._screen: Screen | None = None
        self._shown = ""
        """What the caller saw last of lines that may still change."""

    @property
    def application_keys(self) -> bool:
        """Whether the program wants the other form of cursor keys."""
        return self._screen is not None and self._screen.application_keys

    def resize(self, rows: int, columns: int) -> None:
        """Be of another size."""
        self.rows, self.columns = rows, columns
        if self._screen is not None:
            self._screen.resize(rows, columns)

    def show(self, session: "Session", taken: "Taken", render: str | None) -> str:
        """Give what is new as it is wanted; the screen is shown whole."""
        text = self._text(taken)
        if self._screen is not None:
            for piece in (taken.head, taken.tail):
                self._screen.feed(piece)
        wanted = render or self.render
        if wanted == "screen" and session.command.tty:
            return self._seen(session, taken.end)
        if wanted == "raw" or self._plain is None:
            return joined(_decoded(taken.head), _decoded(taken.tail), taken.omitted)
        return text

    def again(self, data: bytes) -> str:
        """Give output that was shown before."""
        if self._plain is None or self.render == "raw":
            return _decoded(data)
        plain = _plain(self.columns)
        return plain.feed(data) + plain.finish()

    def _text(self, taken: "Taken") -> str:
        """Give what is new as text; of a line shown unfinished, what was added, or all if it changed."""
        plain = self._plain
        if plain is None:
            return ""
        before, self._shown = self._shown, ""
        head = plain.feed(taken.head)
        if taken.omitted:
            head += plain.finish()
        tail = plain.feed(taken.tail)
        self._shown = plain.peek()
        text = joined(head, tail, taken.omitted) + self._shown
        return text.removeprefix(before)

    def _seen(self, session: "Session", end: int) -> str:
        """Give the screen as it was when so much had been printed."""
        if self._screen is None:
            from agent_exec.sessions.screen import new_screen

            self._screen = new_screen(self.rows, self.columns)
            _, data = session.read(max(0, end - _REPLAYED), min(end, _REPLAYED))
            self._screen.feed(data)
        return self._screen.text()


def _plain(columns: int) -> "Plain":
    from agent_exec.sessions.plain import Plain

    return Plain(columns)


def _decoded(data: bytes) -> str:
    return data.decode(errors="replace")
