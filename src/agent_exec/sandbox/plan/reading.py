"""What may be read, as a profile comes to here and now; looked for again only when something has changed."""

import os

from agent_exec.model.paths import inside
from agent_exec.sandbox.plan.homes import Homes, above_all, search_path
from agent_exec.sandbox.plan.look import Look, unchanged
from agent_exec.sandbox.plan.masks import find_masks, is_fixed
from agent_exec.sandbox.plan.paths import outermost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_exec.sandbox.plan.homes import View
    from agent_exec.sandbox.plan.look import Stamp
    from agent_exec.sandbox.profile import Profile

    Found = tuple[tuple[str, ...], tuple[str, ...], View, tuple[str, ...]]

_MOST_KNOWN = 16


class Reader:
    """Finds what may be read, and keeps what it found until something there changes."""

    __slots__ = ("_known", "_loose", "_split")

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[dict[str, Stamp], Found]] = {}
        self._split: tuple[object, tuple[str, ...], tuple[str, ...]] = (None, (), ())
        self._loose: tuple[object, object, tuple[str, ...]] = (None, None, ())

    def find(
        self,
        profile: "Profile",
        *,
        home: str,
        roots: "Sequence[str]",
        state: "Sequence[str]",
        own: "Sequence[str]",
        bound: int,
    ) -> "Found":
        """Return the real paths that may not be read, the absent ones, the view, and what is not enforced.

        `state` are folders of ours that are hidden, `own` those of ours that are shown.
        """
        fixed, others = self._entries(profile.deny_read)
        path = search_path()
        # Looked at each time: they may lie in a /tmp, which changes all the time.
        kept = tuple(sorted({os.path.realpath(folder) for folder in state if os.path.isdir(folder)}))
        more: tuple[tuple[str, ...], tuple[str, ...]] = (), ()
        if others:
            more = find_masks(others, home, roots, bound, Look())
        if not all(any(inside(place, root) for root in roots) for places in more for place in places):
            return _look(profile, (*fixed, *others), home, roots, kept, own, path, bound, Look())
        key = (
            fixed,
            profile.secrets,
            profile.show,
            profile.tmp,
            home,
            *roots,
            "",
            *kept,
            "",
            *own,
            "",
            *path,
        )
        stamps, found = self._known.get(key, (None, None))
        if found is None or stamps is None or not unchanged(stamps):
            look = Look()
            found = _look(profile, fixed, home, roots, kept, own, path, bound, look)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = look.stamps, found
        if not any(more):
            return found
        masks, absent, view, left = found
        return outermost((*masks, *more[0])), tuple(sorted({*absent, *more[1]})), view, left

    def loose(self, absent: "Sequence[str]", view: "View") -> tuple[str, ...]:
        """Return the folders of absent paths that are neither covered nor kept out by their names."""
        last = self._loose
        if last[0] is not absent or last[1] is not view:
            kinds = {path: kind for kind, path, _ in view if kind in {"cover", "hide", "root"}}
            shown = [path for path in absent if _nearest(path, kinds) == "root"]
            self._loose = last = absent, view, tuple(sorted({os.path.dirname(path) for path in shown}))
        return last[2]

    def _entries(self, deny_read: tuple[str, ...]) -> "tuple[tuple[str, ...], tuple[str, ...]]":
        """Return the entries that name one path each, and the others."""
        last = self._split
        if last[0] is not deny_read:
            others = tuple(written for written in deny_read if not is_fixed(written))
            self._split = last = deny_read, tuple(filter(is_fixed, deny_read)), others
        return last[1], last[2]


def _nearest(path: str, kinds: "Mapping[str, str]") -> str:
    """Return how the nearest folder of a path is shown that the view speaks of."""
    return next(filter(None, map(kinds.get, (path, *above_all(path)))), "root")


def _look(
    profile: "Profile",
    deny_read: "Sequence[str]",
    home: str,
    roots: "Sequence[str]",
    kept: "Sequence[str]",
    own: "Sequence[str]",
    path: "Sequence[str]",
    bound: int,
    look: Look,
) -> "Found":
    masks, absent = find_masks(deny_read, home, roots, bound, look)
    masks = outermost((*masks, *kept))
    homes = Homes(profile, home, roots, look)
    view = homes.view((*masks, *absent), own=own, path=path)
    left: tuple[str, ...] = ()
    if profile.secrets == "allow-list":
        left = tuple(
            f"the home folder {user!r} is or holds the system's own: all in it can be read but deny_read"
            for user in homes.left
        )
    return masks, absent, view, left
