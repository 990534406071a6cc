"""What a session has printed, as its caller wants to see it: text, the screen, or as it came."""

from agent_exec.faces.session.truncate import joined
from agent_exec.sessions.session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.command import Command
    from agent_exec.sandbox.plan.plan import Plan
    from agent_exec.sessions.transcript import Taken, Transcript
    from agent_exec.terminal.plain import Plain
    from agent_exec.terminal.screen import Screen

_REPLAYED = 1 << 20


class View:
    """The eyes of one session's callers; not for two threads at once."""

    __slots__ = ("_plain", "_resized", "_screen", "_shown", "columns", "render", "rows")

    def __init__(self, render: str, rows: int, columns: int, *, tty: bool) -> None:
        self.render = render
        self.rows = rows
        self.columns = columns
        self._plain = _plain(columns) if tty else None
        self._screen: Screen | None = None
        self._resized = False
        self._shown = ""
        """What the caller saw last of lines that may still change."""

    @property
    def application_keys(self) -> bool:
        """True if the program wants the other form of cursor keys."""
        return self._screen is not None and self._screen.application_keys

    def resize(self, rows: int, columns: int) -> None:
        """Be of another size, from what is shown next on; any thread may call this."""
        self.rows, self.columns = rows, columns
        self._resized = True

    def is_exact(self, render: str | None) -> bool:
        """True if each byte that was printed is shown as it is."""
        return self._plain is None or (render or self.render) == "raw"

    def show(self, session: "Session", taken: "Taken", render: str | None) -> str:
        """Return what is new as it is wanted; the screen is shown whole."""
        if self._resized:
            self._resize()
        text = self._text(taken)
        if self._screen is not None:
            for piece in (taken.head, taken.tail):
                self._screen.feed(piece)
        wanted = render or self.render
        if wanted == "screen" and session.command.tty:
            return self._seen(session, taken.end)
        if wanted == "raw" or self._plain is None:
            if not taken.omitted:
                return _decoded(taken.head + taken.tail)
            return joined(_decoded(taken.head), _decoded(taken.tail), taken.omitted)
        return text

    def again(self, data: bytes) -> str:
        """Return output that was shown before."""
        if self._plain is None or self.render == "raw":
            return _decoded(data)
        plain = _plain(self.columns)
        return plain.feed(data) + plain.finish()

    def _text(self, taken: "Taken") -> str:
        """Return what is new as text; of a line shown unfinished, what was added, or all if it changed."""
        plain = self._plain
        if plain is None:
            return ""
        before, self._shown = self._shown, ""
        text = plain.feed(taken.head)
        if taken.omitted:
            text = joined(text + plain.finish(), plain.feed(taken.tail), taken.omitted)
        elif taken.tail:
            text += plain.feed(taken.tail)
        self._shown = plain.peek()
        text += self._shown
        return text.removeprefix(before)

    def _resize(self) -> None:
        self._resized = False
        if self._plain is not None:
            self._plain.resize(self.columns)
        if self._screen is not None:
            self._screen.resize(self.rows, self.columns)

    def _seen(self, session: "Session", end: int) -> str:
        """Return the screen as it was when so much had been printed."""
        if self._screen is None:
            from agent_exec.terminal.screen import new_screen

            self._screen = new_screen(self.rows, self.columns)
            _, data = session.read(max(0, end - _REPLAYED), min(end, _REPLAYED))
            self._screen.feed(data)
        return self._screen.text()


class Seen(Session):
    """A session, how its callers see it, and the plan of its box, if it is in one."""

    def __init__(
        self,
        number: int,
        command: "Command",
        transcript: "Transcript",
        text: str,
        view: View,
        *,
        separate: bool = False,
    ) -> None:
        super().__init__(number, command, transcript, text, separate=separate)
        self.view = view
        self.plan: Plan | None = None
        self._told: list[dict[str, str]] = []

    def new_changes(self) -> "list[dict[str, str]]":
        """Return what became of protected paths and was not told before; see `Guard.look`."""
        guard = self.run.guard
        if guard is None or self.job:
            return []
        new = [told for change in guard.look() if (told := change.to_json()) not in self._told]
        self._told += new
        return new


def _plain(columns: int) -> "Plain":
    from agent_exec.terminal.plain import Plain

    return Plain(columns)


def _decoded(data: bytes) -> str:
    return data.decode(errors="replace")
