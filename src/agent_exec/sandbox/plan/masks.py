"""What may not be read: paths and patterns, expanded once, when a plan is made."""

import os

from agent_exec.model.errors import InvalidArgument
from agent_exec.sandbox.plan.paths import outermost
from agent_exec.sandbox.plan.secrets import STARRED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.sandbox.plan.look import Look

MOST_MASKS = 1000
"""How many paths the patterns of `deny_read` may stand for."""


def find_masks(
    deny_read: "Sequence[str]", home: str, roots: "Sequence[str]", bound: int, look: "Look"
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
                expand(base, path, most=MOST_MASKS, entries=bound, look=look if written in STARRED else None)
                if is_pattern(path)
                else [os.path.join(base, path)]
            )
            for place in paths:
                real, there = look.lead(place)
                (absent if there is None else found).append(real)
    if len(found) > MOST_MASKS:
        raise InvalidArgument(f"deny_read stands for more than {MOST_MASKS} paths; make it narrower")
    return outermost(found), tuple(sorted(set(absent)))


def is_fixed(written: str) -> bool:
    """True if what an entry of deny_read stands for is known from a look, whatever the roots are and hold."""
    return written in STARRED or (written.startswith(("~/", "/")) and not is_pattern(written))


def is_pattern(path: str) -> bool:
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


def expand(base: str, pattern: str, *, most: int, entries: int, look: "Look | None" = None) -> list[str]:
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
        if not is_pattern(part):
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
