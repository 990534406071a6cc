"""What the user is shown: text that is safe on any screen, and feedback for the Bottom Bar."""

from unicodedata import category

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.value import Value
from agent_exec.terminal.widths import width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Status = Literal["Success", "Error", "Warn", "Info"]

STATUSES = ("Success", "Error", "Warn", "Info")
SHOWN_FOR = 4.0
"""How many seconds good news stay; a warning or an error stays until other feedback comes."""

LONGEST = 8192
"""How many characters of one line are shown."""

_TAB = 8
_REMEMBERED = 4096
_KEPT = "\u200c\u200d"  # they join letters and emoji


class SlashFeedback(Value):
    """One line for the Bottom Bar; `text` is safe to show as it is."""

    text: str
    status: "Status"

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise InvalidArgument(f"status must be one of {', '.join(STATUSES)}; got {self.status!r}")

    @property
    def ttl(self) -> float | None:
        """How many seconds it is shown; None is until it is replaced."""
        return SHOWN_FOR if self.status in ("Success", "Info") else None


class SlashRefused(Exception):
    """A typed line is refused; nothing runs."""

    def __init__(self, text: str, status: "Status" = "Error") -> None:
        super().__init__(text)
        self.feedback = SlashFeedback(text, status)


class BottomBar:
    """The feedback that is on the Bottom Bar now; times are in seconds of a monotonic clock."""

    def __init__(self) -> None:
        self._feedback: SlashFeedback | None = None
        self._until: float | None = None

    def tell(self, feedback: SlashFeedback, now: float) -> None:
        """Show this from now on, instead of what was shown before."""
        self._feedback = feedback
        self._until = None if feedback.ttl is None else now + feedback.ttl

    def shown(self, now: float) -> SlashFeedback | None:
        """Return what is shown now; None once its time is over."""
        return None if self._until is not None and now >= self._until else self._feedback

    def dismiss(self) -> None:
        """Show nothing."""
        self._feedback = None


def shown(text: str | bytes, limit: int = LONGEST) -> str:
    """Return one line of text, or of bytes, as it can be shown: a control character as its picture.

    Bytes that are not UTF-8 are U+FFFD, or in a file name their number. Tabs
    are spaces. A line longer than `limit` ends with how much is left out.
    """
    line = text if isinstance(text, str) else text.decode("utf-8", "replace")
    more = len(line) - limit
    if more > 0:
        line = line[:limit]
    if not line.isprintable():
        line = line.translate(_pictures)
        if "\t" in line:
            line = _untabbed(line)
    return line if more <= 0 else f"{line}… (+{more} characters)"


def clipped(text: str, limit: int) -> str:
    """Return the beginning of a text on one line, safe to show; ends of lines are written out."""
    head = text[: limit + 1].replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    line = shown(head[:limit])
    return line if len(head) <= limit else f"{line}..."


def cells(text: str) -> int:
    """Return how many cells a safe line takes on a screen."""
    return len(text) if text.isascii() else sum(map(width, text))


def _untabbed(line: str) -> str:
    *parts, last = line.split("\t")
    return "".join(part + " " * (_TAB - cells(part) % _TAB) for part in parts) + last


def _picture(character: str) -> str:
    code = ord(character)
    if character == "\t" or character.isprintable() or character in _KEPT:
        return character
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if category(character) in ("Zs", "Co"):
        return character
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a name that is not text
        code -= 0xDC00
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


class _Pictures(dict[int, str]):
    """The visible form of each character met so far, made when first needed."""

    def __missing__(self, code: int) -> str:
        if len(self) >= _REMEMBERED:
            self.clear()
        return self.setdefault(code, _picture(chr(code)))


_pictures = _Pictures()
