"""A file's text as lines that keep their own endings, and chunks found in them and applied.

What a patch calls unchanged is left as it is, even where it was matched
loosely. An added line ends as the one it stands for, else as its neighbour.
The last line of a changed file has an ending. Bytes that are not UTF-8 are kept.
"""

import re

from agent_exec.patch.errors import UnfitPatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_exec.patch.grammar import Chunk, Edit

_BOM = "\ufeff"
_FOLDED = {
    **dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-"),
    **dict.fromkeys(range(0x2018, 0x201C), "'"),
    **dict.fromkeys(range(0x201C, 0x2020), '"'),
    **dict.fromkeys((0xA0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000), " "),
    0x2026: "...",
    0xFEFF: "",
}
_MOST_SHOWN, _LONGEST = 12, 200
"""How many lines of a file, and characters of each, are shown where a patch does not fit."""
_MOST_SEARCHED, _MOST_COMPARED = 100_000, 2000
"""How many lines are searched for equal ones, and for one that is alike."""


def rewritten(data: bytes, chunks: "Sequence[Chunk]", shown: str) -> bytes:
    """Return a file's bytes with the chunks applied; raise UnfitPatch if they do not fit.

    A lone CR ends a line if nothing else does, or if nothing else fits.
    """
    whole = data.decode("utf-8", "surrogateescape")
    text = whole.removeprefix(_BOM)
    lone = "\r" in text and "\n" not in text
    try:
        changed = _apply(text, lone, chunks, shown)
    except UnfitPatch as unfit:
        if lone or "\r" not in text.replace("\r\n", ""):
            raise
        try:
            changed = _apply(text, True, chunks, shown)
        except UnfitPatch:
            raise unfit from None
    return (whole[: len(whole) - len(text)] + changed).encode("utf-8", "surrogateescape")


def _apply(text: str, lone: bool, chunks: "Sequence[Chunk]", shown: str) -> str:
    pieces = re.split(r"(\r\n|\n|\r)" if lone else r"(\r?\n)", text)
    texts, ends = pieces[::2], pieces[1::2]
    if texts[-1]:
        ends.append(ends[-1] if ends else "\n")
    else:
        del texts[-1]
    made: list[str] = []
    at = 0
    for start, edits in _placed(texts, chunks, shown):
        made.extend(map(str.__add__, texts[at:start], ends[at:start]))
        at = start
        freed: list[str] = []  # endings of removed lines that no added line has taken yet
        for sign, line in edits:
            if sign == "+":
                neighbour = ends[max(at - 1, 0)] if ends else "\n"
                made.append(line + (freed.pop(0) if freed else neighbour))
                continue
            if sign == " ":
                made.append(texts[at] + ends[at])
                freed.clear()
            else:
                freed.append(ends[at])
            at += 1
    made.extend(map(str.__add__, texts[at:], ends[at:]))
    return "".join(made)


def _placed(texts: list[str], chunks: "Sequence[Chunk]", shown: str) -> "list[tuple[int, Sequence[Edit]]]":
    """Return where each chunk begins, and its edits, from the first line of the file to the last."""
    seeker = Seeker(texts)
    placed: list[tuple[int, Sequence[Edit]]] = []
    at = 0
    for chunk in chunks:
        begun = at
        if chunk.context is not None:
            found = seeker.find((chunk.context,), at)
            if found is None:
                problem = f"Failed to find context '{chunk.context}' in {shown}"
                raise UnfitPatch(problem, near=_nearest(texts, (chunk.context,)))
            begun, at = found, found + 1
        edits: Sequence[Edit] = chunk.edits
        old = expected = chunk.old
        found = None
        while old and found is None:
            # After the context, else from the context on: many repeat it as their first line.
            found = seeker.find(old, at, chunk.at_end)
            if found is None and begun < at:
                found = seeker.find(old, begun, chunk.at_end)
            if found is None:
                if old[-1] or old is not expected:
                    problem = f"Failed to find expected lines in {shown}:\n" + "\n".join(expected)
                    raise UnfitPatch(problem, near=_nearest(texts, expected))
                edits, old = _without_last(edits), old[:-1]
        if found is not None:
            placed.append((found, edits))
            at = found + len(old)
        elif edits:
            anchored = chunk.context is not None and not chunk.at_end
            placed.append((at if anchored else len(texts), edits))
    return sorted(placed, key=lambda place: place[0])


def _nearest(texts: list[str], expected: "Sequence[str]") -> str:
    """Return the lines of a file, numbered, where most of the expected ones are; "" if none is."""
    folded = [fold(line) for line in texts[:_MOST_SEARCHED]]
    offsets: dict[str, int] = {}
    for offset, line in enumerate(map(fold, expected)):
        offsets.setdefault(line, offset)
    votes: dict[int, int] = {}  # where the place would begin, by how many lines say so
    for at, line in enumerate(folded):
        if line in offsets and line:
            votes[at - offsets[line]] = votes.get(at - offsets[line], 0) + 1
    if votes:
        first = max(votes, key=lambda start: (votes[start], -start))
    else:
        from difflib import get_close_matches

        offset, wanted = next(((at, fold(line)) for at, line in enumerate(expected) if fold(line)), (0, ""))
        close = get_close_matches(wanted[:_LONGEST], [line[:_LONGEST] for line in folded[:_MOST_COMPARED]], 1)
        if not close:
            return ""
        first = next(at for at, line in enumerate(folded) if line[:_LONGEST] == close[0]) - offset
    start, end = max(0, first - 1), min(len(texts), first + len(expected) + 1, first + _MOST_SHOWN)
    return "\n".join(f"{at + 1}: {texts[at][:_LONGEST]}" for at in range(start, end))


def _without_last(edits: "Sequence[Edit]") -> "Sequence[Edit]":
    """Return the edits without the last line that they expect, which is empty and not there."""
    last = max(number for number, (sign, _) in enumerate(edits) if sign != "+")
    wanted = edits[last][0] == " " and last + 1 < len(edits)  # something is to be added below it
    return (*edits[:last], *([("+", "")] if wanted else []), *edits[last + 1 :])


def fold(line: str) -> str:
    """Return a line with plain dashes, quotes and spaces, stripped."""
    return line.translate(_FOLDED).strip()


_PASSES: "tuple[Callable[[str], str], ...]" = (str, str.rstrip, str.strip, fold)


class Seeker:
    """The lines of one file, to be searched many times: exactly, then without blanks and typography."""

    def __init__(self, lines: "Sequence[str]") -> None:
        self._seen: list[list[str]] = [list(lines)]

    def find(self, wanted: "Sequence[str]", start: int = 0, at_end: bool = False) -> int | None:
        """Return where these lines are, at `start` or after; None if nowhere.

        An exact match anywhere is better than a loose one before it. With
        `at_end` the last lines are tried first, loosely too.
        """
        last = len(self._seen[0]) - len(wanted)
        if last < start or not wanted:
            return None if wanted else start
        for first in (last, start) if at_end else (start,):
            for number, change in enumerate(_PASSES):
                if number == len(self._seen):
                    self._seen.append([change(line) for line in self._seen[0]])
                found = _search(self._seen[number], [change(line) for line in wanted], first, last)
                if found is not None:
                    return found
        return None


def _search(lines: list[str], wanted: list[str], start: int, last: int) -> int | None:
    while start <= last:
        try:
            start = lines.index(wanted[0], start, last + 1)
        except ValueError:
            return None
        if lines[start : start + len(wanted)] == wanted:
            return start
        start += 1
    return None
