"""The pane that shows a folder, and walks from one to another."""

import os
from typing import ClassVar

from rich.text import Text
from textual.binding import BindingType
from textual.message import Message

from agent_exec.apps.shell.background_read import BackgroundReader
from agent_exec.apps.shell.panes.pane import ListPane, homely, shortened
from agent_exec.faces.slash.files import Entry, Listing, listing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.style import Style

_MARKS = {"directory": "/", "file": "", "other": "|", "broken": "!"}
_STYLES = {"directory": "folder", "other": "quiet", "broken": "bad"}


class FilePane(ListPane[Entry]):
    """The names in one folder; it reads them again when the folder has changed."""

    EMPTY = "(empty)"

    BINDINGS: ClassVar[list[BindingType]] = [
        ("right", "enter_folder"),
        ("backspace,left", "parent"),
        ("full_stop,h", "hidden"),
        ("r,f5", "reload"),
        ("t", "screen.new_tab"),
        ("x", "screen.close_tab"),
        ("left_square_bracket", "screen.next_tab(-1)"),
        ("right_square_bracket", "screen.next_tab(1)"),
        *((str(number), f"screen.show_tab({number})") for number in range(1, 10)),
    ]

    class Looked(Message):
        """The names were read again."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.hidden = False
        self.listing = Listing(path)
        self._seen: object = None
        self._reader = BackgroundReader(self)

    @property
    def path(self) -> str:
        """The folder that is shown."""
        return self.listing.path

    @property
    def name_chosen(self) -> str:
        """The name under the cursor; nothing if the folder is empty."""
        return "" if self.entry is None else self.entry.name

    @property
    def folder_chosen(self) -> str | None:
        """The folder under the cursor; None if there is none."""
        entry = self.entry
        return self.chosen_path if entry is not None and entry.kind == "directory" else None

    @property
    def chosen_path(self) -> str:
        """The path under the cursor; the folder itself if it is empty."""
        return os.path.join(self.path, self.name_chosen) if self.count else self.path

    def pieces(self, entry: Entry, base: "Style") -> "list[tuple[str, Style]]":
        """Return a name, with a mark for what it is."""
        style = self.style(_STYLES[entry.kind]) if entry.kind in _STYLES else base
        return [(f" {entry.shown}", style), (_MARKS[entry.kind] + ("@" if entry.is_link else ""), style)]

    def show(self, path: str, name: str = "") -> None:
        """Show a folder, with the cursor on this name if it is there."""
        self.top = self.cursor = 0
        self._read(path, name)

    def on_mount(self) -> None:
        """Show the first folder, and watch for changes."""
        self.action_reload()
        self.set_interval(2, self.look)

    def look(self) -> None:
        """Read the names again if the folder has changed since."""
        path = self.path
        if not self._reader.busy:
            self._reader.read(
                lambda: _stamp(path), lambda stamp: None if stamp == self._seen else self.action_reload()
            )

    def on_resize(self) -> None:
        """Make the title fit."""
        super().on_resize()
        self._entitle()

    def action_choose(self) -> None:
        """Walk into a folder; a file is for the screen."""
        if self.folder_chosen is not None:
            self.action_enter_folder()
        else:
            super().action_choose()

    def action_enter_folder(self) -> None:
        """Walk into the folder under the cursor."""
        if self.folder_chosen is not None:
            self.show(self.folder_chosen)

    def action_parent(self) -> None:
        """Walk to the folder above, or to the nearest that exists; the cursor is on the one left."""
        path = self.path
        above = os.path.dirname(path)
        while above != os.path.dirname(above) and not os.path.isdir(above):
            path, above = above, os.path.dirname(above)
        if above != self.path:
            self.show(above, os.path.basename(path))

    def action_hidden(self) -> None:
        """Show names that begin with a dot, or hide them."""
        self.hidden = not self.hidden
        self.action_reload()

    def action_reload(self) -> None:
        """Read the names again, and keep the cursor on its name."""
        self._read(self.path, self.name_chosen)

    def _read(self, path: str, name: str) -> None:
        hidden = self.hidden
        if not self._reader.read(
            lambda: (_stamp(path), listing(path, hidden=hidden)),
            lambda found: self._show(*found, name),
        ):
            self._show(None, Listing(path, problem="reading …"), name)

    def _show(self, stamp: object, found: Listing, name: str) -> None:
        self._seen = stamp
        self.listing = found
        self.entries, self.problem = found.entries, found.problem
        names = [entry.name for entry in found.entries]
        self.cursor = names.index(name) if name in names else min(self.cursor, max(0, len(names) - 1))
        self.keep_in_sight()
        self._entitle()
        self.post_message(self.Looked())

    def _entitle(self) -> None:
        self.border_title = Text(shortened(homely(self.path), self.size.width - 4, front=True))
        more = "+" if self.listing.more else ""
        self.border_subtitle = f"{self.count}{more}{' with hidden' if self.hidden else ''}"


def _stamp(path: str) -> object:
    """Return what changes when the names in a folder do."""
    try:
        info = os.stat(path)
    except (OSError, ValueError):
        return None
    return info.st_mtime_ns, info.st_ino
