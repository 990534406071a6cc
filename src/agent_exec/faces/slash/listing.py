"""What is in a folder, for a pane that shows it."""

import os

from agent_exec.faces.slash.display import shown
from agent_exec.model.value import Value

MOST = 10_000
"""How many names are given; a folder with more is not read to its end."""

_HIDDEN = 10
"""Hidden names are read past, up to so many for each that is given."""


class Entry(Value):
    """A name in a folder, as it is and as it is shown, and what it is.

    `kind` is "directory", "file", "other" (a pipe, a device), or "broken" (a
    link to nothing). A link has the kind of what it leads to.
    """

    __slots__ = ("is_link", "kind", "name", "shown")

    def __init__(self, name: str, kind: str, *, is_link: bool = False) -> None:
        self.name = name
        self.kind = kind
        self.is_link = is_link
        self.shown = shown(name)

    def replace(self, **changes: object) -> "Entry":
        """Return a copy with some fields changed; how it is shown follows from its name."""
        fields: dict[str, object] = {"name": self.name, "kind": self.kind, "is_link": self.is_link}
        return Entry(**(fields | changes))  # type: ignore[arg-type]


class Listing(Value):
    """The names in a folder, folders first; whether there are more, and why there are none."""

    path: str
    entries: "tuple[Entry, ...]" = ()
    more: bool = False
    problem: str = ""


def listing(path: str, *, hidden: bool = False, most: int = MOST) -> Listing:
    """List a folder; one that is gone or cannot be read is a listing with a problem."""
    found: list[Entry] = []
    more = False
    try:
        with os.scandir(path) as entries:
            for number, entry in enumerate(entries):
                if len(found) >= most or number >= most * _HIDDEN:
                    more = True
                    break
                if entry.name.startswith(".") and not hidden:
                    continue
                found.append(_entry(entry))
    except OSError as error:
        return Listing(path, problem=f"{shown(path)}: {error.strerror}")
    except ValueError:
        return Listing(path, problem=f"{shown(path)}: this is no path")
    found.sort(key=lambda one: (one.kind != "directory", one.name.casefold(), one.name))
    return Listing(path, tuple(found), more=more)


def _entry(entry: "os.DirEntry[str]") -> Entry:
    try:
        is_link = entry.is_symlink()
        if entry.is_dir():
            kind = "directory"
        elif entry.is_file():
            kind = "file"
        else:
            kind = "broken" if is_link and not os.path.exists(entry.path) else "other"
    except OSError:  # a link in a circle
        return Entry(entry.name, "broken", is_link=True)
    return Entry(entry.name, kind, is_link=is_link)
