"""Which bytes of its session's output an answer does not show."""

from agent_exec.faces.session.truncate import bytes_kept, cut_middle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from agent_exec.sessions.transcript import Taken


def cut(text: str, tokens: int, of: "Taken", *, exact: bool) -> "tuple[int, int, bool] | None":
    """Give the bytes that the budget has left no room for; if that cannot be told, those it was made from."""
    if not exact:
        return (of.start, of.end, False) if of.start < of.end else None
    before, after = bytes_kept(text, tokens, of.head, of.tail, of.omitted)
    return of.start + before, of.end - after, True


def omitted(taken: "Taken") -> "list[tuple[int, int]]":
    """Return the bytes that were too many to be kept at hand until somebody asked for them."""
    if not taken.omitted:
        return []
    start = taken.start + len(taken.head)
    return [(start, start + taken.omitted)]


def without(
    ranges: "Iterable[tuple[int, int]]", gaps: "Sequence[tuple[int, int]]"
) -> "list[tuple[int, int]]":
    """Return what is left of ranges without gaps, which are in order."""
    found: list[tuple[int, int]] = []
    for start, end in ranges:
        at = start
        for first, last in gaps:
            if at < min(first, end):
                found.append((at, min(first, end)))
            at = max(at, min(last, end))
        if at < end:
            found.append((at, end))
    return found


def overlap(gaps: "Iterable[tuple[int, int]]", start: int, end: int) -> "list[tuple[int, int]]":
    """Return the parts of gaps that lie in a range."""
    return [(max(first, start), min(last, end)) for first, last in gaps if max(first, start) < min(last, end)]


def within(streams: "dict[str, str] | None", tokens: int) -> "dict[str, str] | None":
    """Return each stream within the budget."""
    return None if streams is None else {name: cut_middle(text, tokens) for name, text in streams.items()}
