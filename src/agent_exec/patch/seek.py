"""Finds lines in a file: as they are, else with ever less regard to blanks and to typography."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FOLDED = {
    **dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-"),
    **dict.fromkeys(range(0x2018, 0x201C), "'"),
    **dict.fromkeys(range(0x201C, 0x2020), '"'),
    **dict.fromkeys((0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " "),
    0x2026: "...",
    0xFEFF: "",
}


def fold(line: str) -> str:
    """Return a line with plain dashes, quotes and spaces, and none of these at its ends."""
    return line.translate(_FOLDED).strip()


_PASSES: "tuple[Callable[[str], str], ...]" = (str, str.rstrip, str.strip, fold)


class Seeker:
    """The lines of one file, to be searched many times."""

    def __init__(self, lines: "Sequence[str]") -> None:
        self._seen: list[list[str]] = [list(lines)]

    def find(self, wanted: "Sequence[str]", start: int = 0, at_end: bool = False) -> int | None:
        """Return where these lines are, at `start` or after; None if nowhere.

        An exact match anywhere is better than a loose one before it. With
        `at_end` the last lines are tried first, loosely too.
        """
        last = len(self._seen[0]) - len(wanted)
        if last < start:
            return None
        if at_end and (found := self._search(wanted, last, last)) is not None:
            return found
        return self._search(wanted, start, last)

    def _search(self, wanted: "Sequence[str]", start: int, last: int) -> int | None:
        for number, change in enumerate(_PASSES):
            if number == len(self._seen):
                self._seen.append([change(line) for line in self._seen[0]])
            found = _search(self._seen[number], [change(line) for line in wanted], start, last)
            if found is not None:
                return found
        return None


def _search(lines: list[str], wanted: list[str], start: int, last: int) -> int | None:
    if not wanted:
        return start
    while start <= last:
        try:
            start = lines.index(wanted[0], start, last + 1)
        except ValueError:
            return None
        if lines[start : start + len(wanted)] == wanted:
            return start
        start += 1
    return None
