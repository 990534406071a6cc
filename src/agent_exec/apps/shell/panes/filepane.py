"""The pane that shows a folder, and walks from one to another."""

import os
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message

from agent_exec.apps.shell.background_read import Aside
from agent_exec.apps.shell.panes.listpane import ListPane
from agent_exec.apps.shell.panes.rows import homely, shortened_front
from agent_exec.faces.slash.feedback import shown
from agent_exec.faces.slash.files import Entry, Listing, listing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.style import Style

_MARKS = {"directory": "/", "file": "", "other": "|", "broken": "!"}


class FilePane(ListPane):
    """The names in one folder; it looks again when the folder has changed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right", "enter_folder", "into", show=False),
        Binding("backspace,left", "parent", "parent", show=False),
        Binding("full_stop,h", "hidden", "hidden", show=False),
        Binding("r,f5", "reload", "look again", show=False),
        Binding("t", "screen.new_tab", "new tab", show=False),
        Binding("x", "screen.close_tab", "close tab", show=False),
        Binding("left_square_bracket", "screen.next_tab(-1)", show=False),
        Binding("right_square_bracket", "screen.next_tab(1)", show=False),
        *(Binding(str(number), f"screen.show_tab({number})", show=False) for number in range(1, 10)),
    ]

    class Looked(Message):
        """The names were read anew."""

    class Went(Message):
        """Another folder is shown."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    def __init__(self, path: str, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.hidden = False
        self.listing = Listing(path)
        self._seen: object = None
        self._aside = Aside(self)

    @property
    def path(self) -> str:
        """The folder that is shown."""
        return self.listing.path

    @property
    def entry(self) -> Entry | None:
        """The name under the cursor."""
        return self.listing.entries[self.cursor] if self.listing.entries else None

    @property
    def chosen_path(self) -> str:
        """The path under the cursor; the folder itself if it is empty."""
        entry = self.entry
        return self.path if entry is None else os.path.join(self.path, entry.name)

    @property
    def count(self) -> int:
        """How many names there are."""
        return len(self.listing.entries)

    def nothing(self) -> str:
        """Return why there are no names."""
        return self.listing.problem or "(empty)"

    def pieces(self, number: int, base: "Style") -> "list[tuple[str, Style]]":
        """Return a name with what it is."""
        entry = self.listing.entries[number]
        style = base
        if entry.kind == "directory":
            style = self.style_named("folder")
        elif entry.kind != "file":
            style = self.style_named("bad" if entry.kind == "broken" else "quiet")
        mark = _MARKS[entry.kind] + ("@" if entry.is_link else "")
        return [(f" {entry.shown}", style), (mark, style)]

    def show(self, path: str, name: str = "") -> None:
        """Show a folder, with the cursor on this name if it is there."""
        self.top = 0
        self.cursor = 0
        self._take(path, name)

    def reload(self) -> None:
        """Look again at the folder that is shown, and stay on the name under the cursor."""
        entry = self.entry
        self._take(self.path, "" if entry is None else entry.name)

    def look(self) -> None:
        """Look again if the folder has changed since."""
        if not self._aside.busy:
            path = self.path
            self._aside.read(lambda: self._stamp(path), self._compare)

    def _compare(self, stamp: object) -> None:
        if stamp != self._seen:
            self.reload()

    def on_mount(self) -> None:
        """Show the first folder, and see when it changes."""
        self.reload()
        self.set_interval(2, self.look)

    def on_resize(self) -> None:
        """Have the title fit."""
        super().on_resize()
        self._entitle()

    def action_choose(self) -> None:
        """Walk into a folder; a file is for whoever listens."""
        entry = self.entry
        if entry is not None and entry.kind == "directory":
            self.action_enter_folder()
        else:
            super().action_choose()

    def action_enter_folder(self) -> None:
        """Walk into the folder under the cursor."""
        entry = self.entry
        if entry is not None and entry.kind == "directory":
            self._go_to(os.path.join(self.path, entry.name))

    def action_parent(self) -> None:
        """Walk to the folder above, and stay on the one left; from one that is gone, to the nearest left."""
        path = self.path
        above = os.path.dirname(path)
        while above != os.path.dirname(above) and not os.path.isdir(above):
            path, above = above, os.path.dirname(above)
        if above != self.path:
            self._go_to(above, os.path.basename(path))

    def action_hidden(self) -> None:
        """Show names that begin with a dot, or hide them."""
        self.hidden = not self.hidden
        self.reload()

    def action_reload(self) -> None:
        """Look again."""
        self.reload()

    def _go_to(self, path: str, name: str = "") -> None:
        self.show(path, name)
        self.post_message(self.Went(path))

    def _take(self, path: str, name: str) -> None:
        hidden = self.hidden
        if not self._aside.read(
            lambda: (self._stamp(path), listing(path, hidden=hidden)),
            lambda found: self._show(*found, name),
        ):
            self._show(None, Listing(path, problem="reading …"), name)

    def _show(self, stamp: object, found: Listing, name: str) -> None:
        self._seen = stamp
        self.listing = found
        names = [entry.name for entry in found.entries]
        self.cursor = names.index(name) if name in names else min(self.cursor, max(0, len(names) - 1))
        self._keep_in_sight()
        self._entitle()
        self.refresh()
        self.post_message(self.Looked())

    def _entitle(self) -> None:
        home = os.path.expanduser("~")
        self.border_title = Text(shortened_front(homely(shown(self.path), home), self.size.width - 4))
        more = "+" if self.listing.more else ""
        self.border_subtitle = f"{self.count}{more}{' with hidden' if self.hidden else ''}"

    def _stamp(self, path: str) -> object:
        try:
            info = os.stat(path)
        except (OSError, ValueError):
            return None
        return info.st_mtime_ns, info.st_ino
