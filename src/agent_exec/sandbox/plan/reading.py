"""What may be read, as a profile comes to here and now; looked for again only when something has changed."""

import os

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.paths import inside
from agent_exec.model.value import Value
from agent_exec.sandbox.plan.homes import Homes
from agent_exec.sandbox.plan.paths import Look, above_all, held, outermost, unchanged
from agent_exec.sandbox.plan.secrets import STARRED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.sandbox.plan.homes import View
    from agent_exec.sandbox.plan.paths import Stamp
    from agent_exec.sandbox.profile import Profile

MOST_MASKS = 1000
"""How many paths the patterns of `deny_read` may stand for."""

_MOST_KNOWN = 16


class Reading(Value):
    """What may be read: `masks` may not be, `absent` are those that do not exist yet.

    `inner` are the absent paths in roots. `view` is how homes are shown,
    `bare` are the masks that it does not see to, or that lie in a root,
    `loose` the folders of absent paths that it would show. `unenforced` says
    in words what stays readable.
    """

    masks: tuple[str, ...]
    absent: tuple[str, ...]
    inner: tuple[str, ...]
    view: "View"
    bare: tuple[str, ...]
    loose: tuple[str, ...]
    unenforced: tuple[str, ...]


class Reader:
    """Finds what may be read, and keeps what it found until something there changes."""

    __slots__ = ("_known", "_split")

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[dict[str, Stamp], Reading]] = {}
        self._split: tuple[object, tuple[str, ...], tuple[str, ...]] = (None, (), ())

    def find(
        self,
        profile: "Profile",
        *,
        home: str,
        roots: "Sequence[str]",
        state: "Sequence[str]",
        own: "Sequence[str]",
        bound: int,
    ) -> Reading:
        """Return what may be read; `state` are folders of ours to hide, `own` those of ours to show."""
        if self._split[0] is not profile.deny_read:
            others = tuple(written for written in profile.deny_read if not _is_fixed(written))
            self._split = profile.deny_read, tuple(filter(_is_fixed, profile.deny_read)), others
        _, fixed, others = self._split
        path = tuple(os.environ.get("PATH", "").split(":"))
        # Looked at each time: they may lie in a /tmp, which changes all the time.
        kept = tuple(sorted({os.path.realpath(folder) for folder in state if os.path.isdir(folder)}))

        def look_for(entries: "Sequence[str]", look: Look) -> Reading:
            masks, absent = _find_masks(entries, home, roots, bound, look)
            masks = outermost((*masks, *kept))
            homes = Homes(profile, home, roots, look)
            search = [folder for folder in dict.fromkeys(path) if folder[:1] == "/"]
            view = homes.view((*masks, *absent), own=own, path=search)
            left = tuple(
                f"the home folder {user!r} is or holds the system's own: all in it can be read but deny_read"
                for user in (homes.left if profile.secrets == "allow-list" else ())
            )
            return _reading(masks, absent, view, roots, left)

        more_masks, more_absent = _find_masks(others, home, roots, bound, Look()) if others else ((), ())
        if not all(inside(place, *roots) for place in (*more_masks, *more_absent)):
            return look_for((*fixed, *others), Look())
        key = (fixed, profile.secrets, profile.show, profile.tmp, home, tuple(roots), kept, tuple(own), path)
        stamps, found = self._known.get(key, (None, None))
        if found is None or stamps is None or not unchanged(stamps):
            look = Look()
            found = look_for(fixed, look)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = look.stamps, found
        if not (more_masks or more_absent):
            return found
        masks = outermost((*found.masks, *more_masks))
        absent = tuple(sorted({*found.absent, *more_absent}))
        return _reading(masks, absent, found.view, roots, found.unenforced)


def _reading(
    masks: tuple[str, ...],
    absent: tuple[str, ...],
    view: "View",
    roots: "Sequence[str]",
    unenforced: tuple[str, ...],
) -> Reading:
    kinds = {path: kind for kind, path, _ in view if kind in {"cover", "hide", "root"}}

    def nearest(path: str) -> str:
        """Return how the nearest folder of a path is shown that the view speaks of."""
        return next(filter(None, map(kinds.get, (path, *above_all(path)))), "root")

    seen_to = {path for path, kind in kinds.items() if kind != "root"}
    bare = tuple(
        mask for mask in masks if inside(mask, *roots) or not (mask in seen_to or held(mask, seen_to))
    )
    loose = tuple(sorted({os.path.dirname(path) for path in absent if nearest(path) == "root"}))
    inner = tuple(path for path in absent if inside(path, *roots))
    return Reading(masks, absent, inner, view, bare, loose, unenforced)


def _find_masks(
    deny_read: "Sequence[str]", home: str, roots: "Sequence[str]", bound: int, look: Look
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the real paths that may not be read, and those of them that do not exist."""
    found: list[str] = []
    absent: list[str] = []
    for written in deny_read:
        bases: Sequence[str] = roots
        path = written
        if written == "~" or written.startswith("~/"):
            bases, path = (home,), written[2:]
        elif written.startswith("/"):
            bases = ("/",)
        for base in bases:
            paths = (
                _expand(base, path, most=MOST_MASKS, entries=bound, look=look if written in STARRED else None)
                if _is_pattern(path)
                else [os.path.join(base, path)]
            )
            for place in paths:
                real, there = look.lead(place)
                (absent if there is None else found).append(real)
    if len(found) > MOST_MASKS:
        raise InvalidArgument(f"deny_read stands for more than {MOST_MASKS} paths; make it narrower")
    return outermost(found), tuple(sorted(set(absent)))


def _is_fixed(written: str) -> bool:
    """True if what an entry of deny_read stands for is known from a look, whatever the roots are and hold."""
    return written in STARRED or (written.startswith(("~/", "/")) and not _is_pattern(written))


def _is_pattern(path: str) -> bool:
    """True if a path holds characters that stand for others."""
    return "*" in path or "?" in path


def matches(name: str, pattern: str) -> bool:
    """True if a name is as the pattern says: `*` is any number of characters, `?` is one."""
    start, place, star, mark = 0, 0, -1, 0
    while place < len(name):
        if start < len(pattern) and pattern[start] == "*":
            star, mark = start, place
            start += 1
        elif start < len(pattern) and pattern[start] in {"?", name[place]}:
            start += 1
            place += 1
        elif star >= 0:
            start, mark = star + 1, mark + 1
            place = mark
        else:
            return False
    return not pattern[start:].strip("*")


def _expand(base: str, pattern: str, *, most: int, entries: int, look: "Look | None" = None) -> list[str]:
    """Return the paths below a folder that a pattern stands for; `**` is any number of folders, not of links.

    Too many matches, too many entries to look at, and folders that cannot be
    read are refused: what was left out would be readable. A `look` remembers
    which folders were looked into; those that cannot be read are passed over.
    """
    found: list[str] = []
    seen = 0
    waiting = [(base, tuple(part for part in pattern.split("/") if part))]
    done: set[tuple[str, tuple[str, ...]]] = set()
    while waiting:
        item = waiting.pop()
        if item in done:
            continue
        done.add(item)
        here, parts = item
        if not parts:
            found.append(here)
            if len(found) > most:
                raise InvalidArgument(
                    f"deny_read: {pattern!r} stands for more than {most} paths; make it narrower"
                )
            continue
        part, rest = parts[0], parts[1:]
        if not _is_pattern(part):
            there = os.path.join(here, part)
            if os.path.lexists(there) if look is None else look.lead(there)[1]:
                waiting.append((there, rest))
            continue
        if part == "**":
            waiting.append((here, rest))
        if look is not None:
            look.stamp(look.lead(here)[0])
        try:
            with os.scandir(here) as listed:
                for entry in listed:
                    seen += 1
                    if seen > entries:
                        raise InvalidArgument(
                            f"deny_read: {pattern!r} has more than {entries} files to look at; narrow it"
                        )
                    folder = entry.is_dir(follow_symlinks=False)
                    if part == "**":
                        if folder:
                            waiting.append((entry.path, parts))
                    elif matches(entry.name, part) and (folder or not rest or entry.is_symlink()):
                        waiting.append((entry.path, rest))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            if look is not None:
                continue
            raise InvalidArgument(
                f"deny_read: {pattern!r} cannot be looked for in {here!r}: {error.strerror}", path=here
            ) from None
    return sorted(found)
