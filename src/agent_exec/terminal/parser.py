"""The one grammar of terminal output, for text and for the screen: whole sequences, and their meaning."""

from codecs import getincrementaldecoder
from functools import lru_cache

from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

_STRING = r"[\]k][^\x07\x1b\x18\x1a\n\r]*"
"""A title or the like, which no line outlasts: a program that forgets its end hides no output."""
_LONG_STRING = r"[PX^_][^\x1b\x18\x1a]*"
_LONGEST = 4096
"""How much of a sequence that never ends is looked at."""
_LONGEST_SEQUENCE = 256
_MOST = 100_000
_FIELDS = 16


class Patterns(Value):
    """The expressions.

    `tokens` splits text from controls, `begun` matches a sequence whose end is still to come, `quiet`
    matches sequences that change no text, and `junk` characters that are none.
    """

    tokens: "re.Pattern[str]"
    begun: "re.Pattern[str]"
    quiet: "re.Pattern[str]"
    junk: "re.Pattern[str]"


@lru_cache(1)
def patterns() -> Patterns:
    """Return the expressions; made when first needed, for most output needs none."""
    import re

    code = r"[\x00-\x1a\x1c-\x1f\x7f-\x9f]"
    broken = r"(?:\[[0-?]*)?[ -/]*(?=\x1b)"
    return Patterns(
        re.compile(rf"({code}|\x1b(?:\[[0-?]*[ -/]*[@-~]?|{_STRING}\x07?|{_LONG_STRING}|[ -/]*[0-~]?))"),
        re.compile(rf"\x1b(?:\[[0-?]*[ -/]*|{_STRING}|{_LONG_STRING}|[ -/]*)?"),
        re.compile(rf"\x1b(?:\[[0-9;:]*m|{_STRING}\x07?|{_LONG_STRING}|\\|{broken})"),
        re.compile(r"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x9f]+"),
    )


class Parser:
    """Takes bytes, returns text in which every character and every sequence is whole."""

    __slots__ = ("_carry", "_decoder")

    def __init__(self) -> None:
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._carry = ""

    @property
    def pending(self) -> bool:
        """True if a sequence or a character is only begun."""
        return bool(self._carry or self._decoder.getstate()[0])

    @property
    def begun(self) -> tuple[str, int]:
        """The sequence that is only begun, and the number of bytes of a character that is."""
        return self._carry, len(self._decoder.getstate()[0])

    def feed(self, data: bytes) -> str:
        """Return what is whole by now, for `patterns().tokens` to split."""
        text = self._carry + self._decoder.decode(data)
        self._carry = ""
        start = text.rfind("\x1b")
        if start >= 0 and patterns().begun.fullmatch(text, start) is not None:
            kind = text[start + 1 : start + 2]
            self._carry = text[start : start + 2] if kind and kind in "PX^_" else text[start:]
            if len(self._carry) > _LONGEST:
                self._carry = self._carry[: _LONGEST - 1] + self._carry[-1]
            text = text[:start]
        return text

    def finish(self) -> str:
        """Return what is left of a character that never became whole, and begin anew."""
        rest = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        carry, self._carry = self._carry, ""
        return "" if carry else rest

    def skip(self, data: bytes, lines: int) -> bytes:
        """Return the last lines of data that is nothing but lines; all of it if it is not, or they are few.

        What is left out has no effect on anything that is drawn after so many lines.
        """
        if self._carry or len(data) < 2 * lines or data.count(b"\n") <= lines:
            return data
        if b"\x1b" in data or b"\x0e" in data or b"\x0f" in data:
            return data
        place = len(data)
        for _ in range(lines + 1):
            place = data.rfind(b"\r\n", 0, place)
            if place < 0:
                return data
        self._decoder.reset()
        return data[place:]


def sequence(token: str) -> tuple[str, tuple[int, ...]]:
    """Return the key of a control sequence, such as "A" or "?h", and its numbers, at least one."""
    return _parsed(token) if len(token) <= _LONGEST_SEQUENCE else ("", (0,))


@lru_cache(2048)
def _parsed(token: str) -> tuple[str, tuple[int, ...]]:
    body = token[2:-1]
    prefix = body[:1] if body[:1] in set("<=>?") else ""
    fields = body[len(prefix) :].rstrip(" !\"#$%&'()*+,-./")
    key = prefix + body[len(prefix) + len(fields) :] + token[-1]
    return key, tuple(min(int(f), _MOST) if f.isdecimal() else 0 for f in fields.split(";")[:_FIELDS])
