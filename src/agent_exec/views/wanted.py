"""The views that a caller can ask for: parsed, or refused with the list of them."""

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from regex import Pattern

KINDS = ("auto", "full", "head", "tail", "errors")
SYNTAX = "auto, full, head, tail, errors, grep=REGEX[,LINES], since=CURSOR, range=A-B"


USEFUL = "errors or grep=REGEX."
"""What a model reads of them: an answer names ranges, and a refusal lists all."""
MOST_CONTEXT = 100
ENOUGH = 2048
"""So many bytes are shown as they are by default, without a look at them."""


class View(Value):
    """Which part of an output is shown.

    `kind` is one of KINDS, "grep", "since" or "range". Of grep: the lines that match `pattern`, with
    `context` lines around each. `cursor` is that of since, as it was given. Of range: `start` to `end`.
    """

    kind: str = "auto"
    pattern: "Pattern[str] | None" = None
    context: int = 0
    cursor: str = ""
    start: int = 0
    end: int = 0


AUTO = View()


def parse(text: str) -> View:
    """Return the view that a text names; raise InvalidArgument for any other text."""
    kind, given, value = text.partition("=")
    if kind in KINDS and not given:
        return View(kind)
    if kind == "since" and value:
        return View(kind, cursor=value)
    if kind == "range":
        start, dash, end = value.partition("-")
        if dash and start.isdecimal() and end.isdecimal() and int(start) <= int(end):
            return View(kind, start=int(start), end=int(end))
    if kind == "grep" and value:
        from agent_exec.model.patterns import compiled

        pattern, comma, lines = value.rpartition(",")
        pattern, context = (pattern, int(lines)) if comma and lines.isdecimal() else (value, 0)
        if context > MOST_CONTEXT:
            raise InvalidArgument(f"grep shows at most {MOST_CONTEXT} lines around each match", view=text)
        return View(kind, pattern=compiled(pattern), context=context)
    raise InvalidArgument(f"invalid view {text!r}: use {SYNTAX}", view=text)
