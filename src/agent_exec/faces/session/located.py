"""Which bytes of its session's output an answer does not show."""

from agent_exec.faces.session.truncate import bytes_kept, cut_middle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.sessions.transcript import Taken


def cut(text: str, tokens: int, of: "Taken", *, exact: bool) -> "tuple[int, int, bool] | None":
    """Give the bytes that the budget has left no room for; if that cannot be told, those it was made from."""
    if not exact:
        return (of.start, of.end, False) if of.start < of.end else None
    before, after = bytes_kept(text, tokens, of.head, of.tail, of.omitted)
    return of.start + before, of.end - after, True


def omitted(taken: "Taken") -> "list[tuple[int, int]]":
    """Give the bytes that were too many to be kept at hand until somebody asked for them."""
    if not taken.omitted:
        return []
    start = taken.start + len(taken.head)
    return [(start, start + taken.omitted)]


def within(streams: "dict[str, str] | None", tokens: int) -> "dict[str, str] | None":
    """Give each stream within the budget."""
    return None if streams is None else {name: cut_middle(text, tokens) for name, text in streams.items()}
