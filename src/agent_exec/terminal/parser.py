"""The grammar of terminal output, and a parser: text and controls in turn, whole whatever the pieces were."""

from codecs import getincrementaldecoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

STRING = r"[\]k][^\x07\x1b\x18\x1a\n\r]*"
"""A title or the like, which no line outlasts: a program that forgets its end hides no output."""
LONG_STRING = r"[PX^_][^\x1b\x18\x1a]*"
BEGUN = rf"\x1b(?:\[[0-?]*[ -/]*|{STRING}|{LONG_STRING}|[ -/]*)?"
"""A sequence whose end is still to come."""

_LONGEST = 4096
"""How much of a sequence that never ends is looked at."""


class Parser:
    """Takes bytes, gives tokens: a text, possibly empty, then a control, and so on, text at both ends."""

    __slots__ = ("_begun", "_carry", "_decoder", "_tokens")

    def __init__(self) -> None:
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._carry = ""
        self._tokens, self._begun = _expressions()

    def feed(self, data: bytes) -> list[str]:
        """Return the tokens that are whole by now."""
        text = self._carry + self._decoder.decode(data)
        self._carry = ""
        start = text.rfind("\x1b")
        if start >= 0 and self._begun.fullmatch(text, start) is not None:
            kind = text[start + 1 : start + 2]
            self._carry = text[start : start + 2] if kind and kind in "PX^_" else text[start:]
            if len(self._carry) > _LONGEST:
                self._carry = self._carry[: _LONGEST - 1] + self._carry[-1]
            text = text[:start]
        return self._tokens.split(text)

    def skip(self, data: bytes, lines: int) -> bytes:
        """Return the last lines of data that is nothing but lines; all of it if it is not, or they are few.

        What is left out has no effect on anything that is drawn after so many lines.
        """
        if (
            self._carry
            or len(data) < 2 * lines
            or b"\x1b" in data
            or b"\x0e" in data
            or b"\x0f" in data
            or data.count(b"\n") <= lines
        ):
            return data
        place = len(data)
        for _ in range(lines + 1):
            place = data.rfind(b"\r\n", 0, place)
            if place < 0:
                return data
        self._decoder.reset()
        return data[place:]


_compiled: "tuple[re.Pattern[str], re.Pattern[str]] | None" = None


def _expressions() -> "tuple[re.Pattern[str], re.Pattern[str]]":
    """Return those for tokens and for what is only begun."""
    global _compiled  # noqa: PLW0603
    if _compiled is None:
        import re

        code = r"[\x00-\x1a\x1c-\x1f\x7f-\x9f]"
        _compiled = (
            re.compile(rf"({code}|\x1b(?:\[[0-?]*[ -/]*[@-~]?|{STRING}\x07?|{LONG_STRING}|[ -/]*[0-~]?))"),
            re.compile(BEGUN),
        )
    return _compiled
