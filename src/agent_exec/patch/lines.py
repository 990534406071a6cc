"""A file's text as lines that keep their own endings, and chunks applied to them.

What a patch calls unchanged is left as it is, even where it was matched
loosely. An added line ends as the one it stands for, else as its neighbour.
The last line of a changed file has an ending. Bytes that are no UTF-8 are kept.
"""

from agent_exec.patch.errors import UnfitPatch
from agent_exec.patch.seek import Seeker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_exec.patch.grammar import Chunk, Edit

    Lines = tuple[list[str], list[str]]  # texts, endings

_BOM = "\ufeff"


def rewritten(data: bytes, chunks: "Sequence[Chunk]", shown: str) -> bytes:
    """Return a file's bytes with the chunks applied; raise UnfitPatch if they do not fit."""
    text = data.decode("utf-8", "surrogateescape")
    mark = _BOM if text.startswith(_BOM) else ""
    failure: UnfitPatch | None = None
    for lines in _readings(text.removeprefix(mark)):
        try:
            changed = _apply(lines, chunks, shown)
        except UnfitPatch as unfit:
            failure = failure or unfit
        else:
            return (mark + changed).encode("utf-8", "surrogateescape")
    assert failure is not None
    raise failure


def _readings(text: str) -> "Iterator[Lines]":
    """Return the ways to read a text: a lone CR ends a line if nothing else does, or if nothing else fits."""
    lone = "\r" in text and "\n" not in text
    yield _split(text, lone)
    if not lone and "\r" in text.replace("\r\n", ""):
        yield _split(text, True)


def _split(text: str, lone: bool) -> "Lines":
    texts = text.split("\n")
    ends = ["\n"] * (len(texts) - 1) + [""]
    if "\r" in text:
        for number, line in enumerate(texts[:-1]):
            if line.endswith("\r"):
                texts[number], ends[number] = line[:-1], "\r\n"
        if lone:
            texts, ends = _split_further(texts, ends)
    if not texts[-1]:
        del texts[-1], ends[-1]
    else:
        ends[-1] = ends[-2] if len(ends) > 1 else "\n"
    return texts, ends


def _split_further(texts: list[str], ends: list[str]) -> "Lines":
    finer: Lines = ([], [])
    for line, end in zip(texts, ends, strict=True):
        pieces = line.split("\r")
        finer[0].extend(pieces)
        finer[1].extend(["\r"] * (len(pieces) - 1) + [end])
    return finer


def _apply(lines: "Lines", chunks: "Sequence[Chunk]", shown: str) -> str:
    texts, ends = lines
    made: list[str] = []
    at = 0
    for start, edits in _placed(texts, chunks, shown):
        made.extend(map(str.__add__, texts[at:start], ends[at:start]))
        at = start
        freed: list[str] = []  # endings of removed lines that no added line has taken yet
        for sign, line in edits:
            if sign == "+":
                made.append(line + (freed.pop(0) if freed else _neighbour(ends, at)))
                continue
            if sign == " ":
                made.append(texts[at] + ends[at])
                freed.clear()
            else:
                freed.append(ends[at])
            at += 1
    made.extend(map(str.__add__, texts[at:], ends[at:]))
    return "".join(made)


def _neighbour(ends: list[str], at: int) -> str:
    return ends[max(at - 1, 0)] if ends else "\n"


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
                raise UnfitPatch(f"Failed to find context '{chunk.context}' in {shown}")
            begun, at = found, found + 1
        edits: Sequence[Edit] = chunk.edits
        old = chunk.old
        found = _found(seeker, old, at, begun, chunk.at_end) if old else None
        if found is None and old and not old[-1]:
            edits, old = _without_last(edits), old[:-1]
            found = _found(seeker, old, at, begun, chunk.at_end) if old else None
        if not old:
            if edits:
                anchored = chunk.context is not None and not chunk.at_end
                placed.append((at if anchored else len(texts), edits))
            continue
        if found is None:
            raise UnfitPatch(f"Failed to find expected lines in {shown}:\n" + "\n".join(chunk.old))
        placed.append((found, edits))
        at = found + len(old)
    return sorted(placed, key=_start)


def _found(seeker: Seeker, old: "tuple[str, ...]", at: int, begun: int, at_end: bool) -> int | None:
    """Find lines after the context, else from the context on: many repeat it as their first line."""
    found = seeker.find(old, at, at_end)
    return seeker.find(old, begun, at_end) if found is None and begun < at else found


def _without_last(edits: "Sequence[Edit]") -> "Sequence[Edit]":
    """Return the edits without the last line that they expect, which is empty and not there."""
    last = max(number for number, (sign, _) in enumerate(edits) if sign != "+")
    wanted = edits[last][0] == " " and last + 1 < len(edits)  # something is to be added below it
    return (*edits[:last], *([("+", "")] if wanted else []), *edits[last + 1 :])


def _start(place: "tuple[int, object]") -> int:
    return place[0]
