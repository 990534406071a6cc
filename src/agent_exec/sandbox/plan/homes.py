"""What a box shows of home folders: roots, toolchains, what the profile names; and how secrets stay out.

The result is a *view*: entries (kind, path, extra) that are the same for every
backend. Kinds: "cover", a folder that is replaced by one of the box's own;
"show", bound back into it as it is; "text", copied into it without lines that
look like secrets; "link", a symbolic link to `extra`; "root", an empty folder
that a root is attached to; "open", a folder of the box's own with all entries
of the real one but those below it in the view; and "hide", a name that is not
there, whatever the host puts in its place. `extra` of the others is a time of
change: when it is another, the view is.
"""

import os
import stat
import sys

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.paths import inside
from agent_exec.sandbox.plan.paths import Look, above_all, held, outermost, read_small
from agent_exec.sandbox.plan.secrets import SHOWN, TEXTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_exec.sandbox.profile import Profile

    Entry = tuple[str, str, str]
    View = tuple[Entry, ...]

_HOMES = ("/home", "/root")
"""Folders of homes: covered as a whole, since they hold those of other users too."""

_SYSTEM = tuple("/usr /bin /sbin /lib /lib32 /lib64 /libx32 /etc /boot /dev /proc /sys /nix /gnu".split())
_NEVER = frozenset("/ /var /var/lib /opt /run /srv /tmp /var/tmp /mnt /media".split())
_BUSY = ("/", "/etc", "/run", "/var", "/var/lib", "/var/spool", "/tmp", "/var/tmp")
"""Folders in which a secret is covered by itself: they hold too much, or change too often, to be rebuilt."""

_POINTER = 1 << 12
_MOST = 1000
"""How many entries a folder may have that is made anew in the box."""


def real_home() -> str:
    """Return the home folder that the system knows of this user, "" if it knows none."""
    if sys.platform == "win32":
        return ""
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return ""


class Homes:
    """The homes of one plan; `own` are folders of ours that commands may need, `path` the search path."""

    def __init__(self, profile: "Profile", home: str, roots: "Sequence[str]", look: Look) -> None:
        self._look = look
        self._profile = profile
        self._roots = roots
        self._entries: dict[str, tuple[str, str]] = {}
        users = dict.fromkeys(filter(None, (home, real_home())))
        self.homes = [real for user in users if self._is_folder(real := look.lead(user)[0])]
        self.left = [user for user in self.homes if not _coverable(user)]
        wanted = [
            *(user for user in self.homes if _coverable(user)),
            *(look.lead(base)[0] for base in _HOMES),
        ]
        self.covers: tuple[str, ...] = ()
        if profile.secrets == "allow-list":
            self.covers = outermost(
                path
                for path in wanted
                if self._is_folder(path) and os.access(path, os.X_OK) and not inside(path, *roots)
            )
        self._below_covers = tuple(f"{cover}/" for cover in self.covers)
        ends = (*self.covers, *self.homes)
        self._holders = {"/", *ends, *(above for end in ends for above in above_all(end))}

    def view(self, hidden: "Iterable[str]", *, own: "Sequence[str]", path: "Sequence[str]") -> "View":
        """Return the view of these homes, in which none of the hidden real paths is."""
        hidden = [place for place in hidden if not inside(place, *self._roots)]
        self._hidden = dict.fromkeys(outermost(hidden))
        if self.covers:
            self._fill(own, path)
        for place in self._hidden:
            self._hide(place)
        found = [("cover", cover, "") for cover in self.covers]
        found += [(kind, place, extra) for place, (kind, extra) in self._entries.items()]
        return tuple(sorted(found, key=lambda entry: (entry[1], entry[0])))

    def _fill(self, own: "Sequence[str]", path: "Sequence[str]") -> None:
        for root in self._roots:
            if self._covered(root):
                self._entries[root] = "root", ""
                self._look.lead(root)
                for place in _around(root, self.covers, self.homes):
                    self._show(place)
            for place in self._pointed(root):
                self._show(place)
        for home in self.homes:
            for name in SHOWN:
                self._show(os.path.join(home, name))
            for name in TEXTS:
                self._show(os.path.join(home, name), text=True)
            for written in self._profile.show:
                place = os.path.join(home, written[2:]) if written.startswith("~/") else written
                real = self._look.lead(place)[0]
                if real in self._holders:
                    raise InvalidArgument(
                        f"show: {written!r} is or holds a whole home folder; name folders in it, or say"
                        ' secrets="deny-list"',
                        field="show",
                    )
                self._show(place)
        for place in (*path, *own):
            self._show(place)
        for place in [place for place, (kind, _) in self._entries.items() if kind != "root"]:
            above = place.rpartition("/")[0]
            while above and self._entries.get(above, ("",))[0] != "show":
                above = above.rpartition("/")[0]
            if above:  # seen with what holds it
                del self._entries[place]

    def _show(self, path: str, *, text: bool = False) -> None:
        """Show what is at a path, and the links by which it is reached."""
        real, found = self._look.lead(path)
        if found is None or real in self._holders or real in self._hidden or held(real, self._hidden):
            return
        if real != path:
            ways = ((place, target) for place, target, _ in self._look.walk(path))
            self._entries.update(
                {place: ("link", target) for place, target in ways if target and self._covered(place)}
            )
        if not self._covered(real) or self._entries.get(real, ("",))[0] == "root":
            return
        if text:
            if stat.S_ISREG(found.st_mode):
                self._entries[real] = "text", str(self._look.stamp(real))
        else:
            self._entries[real] = "show", f"{found.st_dev}:{found.st_ino}"

    def _hide(self, place: str) -> None:
        """Keep a name out of the view, if it would be seen."""
        base = next((above for above in above_all(place) if self._kind(above) in {"show", "open"}), None)
        if base is None:
            if self._covered(place):
                return
            base = self._parent(place)
            if not base or not self._rebuilds(base):
                return
        here = base
        for part in place[len(base) :].strip("/").split("/"):
            found = self._look.facts(here)
            if found is None or not stat.S_ISDIR(found.st_mode):
                break
            self._entries[here] = "open", str(self._look.stamp(here))
            here = f"{here}/{part}"
        self._entries[here] = "hide", ""

    def _pointed(self, root: str) -> list[str]:
        """Return the repository of a root that is a worktree of it, if that repository says so too.

        The file in the root may be the work of a command; what it names lies outside, and is not.
        """
        dotgit = os.path.join(root, ".git")
        self._look.stamp(dotgit)
        try:
            head, _, name = read_small(dotgit, _POINTER).strip().partition(" ")
            folder = os.path.realpath(os.path.join(root, name))
            if head != "gitdir:" or inside(folder, *self._roots):
                return []
            self._look.stamp(folder)
            back = os.path.realpath(read_small(os.path.join(folder, "gitdir"), _POINTER).strip())
            shared = read_small(os.path.join(folder, "commondir"), _POINTER).strip()
        except (OSError, ValueError):
            return []
        common = os.path.realpath(os.path.join(folder, shared))
        return [common] if back == dotgit and os.path.dirname(folder) == f"{common}/worktrees" else []

    def _rebuilds(self, folder: str) -> bool:
        """True if a folder outside of covered homes may be made anew in the box."""
        if folder in _BUSY or inside(folder, "/dev", "/proc", "/sys"):
            return False
        if inside(folder, "/tmp", "/var/tmp"):
            return self._profile.tmp != "private"
        try:
            return os.access(folder, os.W_OK) and len(os.listdir(folder)) <= _MOST
        except OSError:
            return False

    def _parent(self, place: str) -> str:
        """Return the nearest folder above a path that is there."""
        for above in above_all(place):
            if self._is_folder(above):
                return above
        return ""

    def _kind(self, path: str) -> str:
        return self._entries.get(path, ("", ""))[0]

    def _covered(self, path: str) -> bool:
        return path.startswith(self._below_covers)

    def _is_folder(self, path: str) -> bool:
        found = self._look.facts(path)
        return found is not None and stat.S_ISDIR(found.st_mode)


def _coverable(home: str) -> bool:
    """True if a folder may be covered as a home: it is not the system's own."""
    return home not in _NEVER and not any(inside(home, place) or inside(place, home) for place in _SYSTEM)


def _around(root: str, covers: "Sequence[str]", homes: "Sequence[str]") -> list[str]:
    """Return the working tree that holds a root, if one does: tools look for its settings upwards.

    Nothing in it can be written to, and so no command inside decides what it is.
    """
    for above in above_all(root):
        if above in covers or above in homes or os.path.dirname(above) in _HOMES:
            break
        if os.path.lexists(os.path.join(above, ".git")):
            return [above]
    return []
