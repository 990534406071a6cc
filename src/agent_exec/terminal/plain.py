"""Terminal output as readable text: colours dropped, progress bars as they were left, in one pass."""

from codecs import getincrementaldecoder

from agent_exec.terminal.lines import WINDOW, Lines
from agent_exec.terminal.moves import run
from agent_exec.terminal.parser import BEGUN, LONG_STRING, STRING

_JUNK = bytes(set(range(32)) - set(b"\b\t\n\v\f\r\x1b")) + b"\x7f"
_RARE = _JUNK + b"\b\v\f\r"
_BREAKS = bytes.maketrans(b"\v\f", b"\n\n")
_ENOUGH = 32 * 1024
_LONGEST_PARAMETERS = 64


class Plain:
    """What a terminal was told, as text that can be read.

    `feed` gives out the lines that nothing can change any more, `peek` shows
    what comes after them so far, `finish` gives the rest. All that was given
    and the peek make up the text at any moment. How the bytes are cut into
    pieces does not matter. Memory is bounded whatever comes.

    Sequences that move the cursor are followed within the last lines; what a
    program draws on the alternate screen is left out, with a note. If
    `columns` is told, long lines are taken to be wrapped there, as line
    editors expect; if not, a line is as long as what is written to it.
    """

    __slots__ = ("_carry", "_cr", "_decoder", "_follows", "_lines", "_partial", "_raw", "_size")

    def __init__(self, columns: int | None = None) -> None:
        self._lines = Lines(columns)
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._partial = False  # whether the decoder holds the beginning of a character
        self._carry = b""  # the beginning of a sequence
        self._cr = False  # whether a carriage return may yet turn out to end a line
        self._follows = True  # whether clean text simply follows what is there
        self._raw: list[bytes] = []  # not looked at yet: much at once is faster than little
        self._size = 0

    def feed(self, data: bytes) -> str:
        """Take what was printed; return out what is settled by now, possibly nothing."""
        self._raw.append(data)
        self._size += len(data)
        if self._size < _ENOUGH and not self._lines.given and len(self._lines.lines) <= 2 * WINDOW:
            return ""
        self._look()
        return self._lines.settled()

    def peek(self) -> str:
        """Return what is not settled yet: the last lines, with the unfinished one at their end."""
        self._look()
        return self._lines.text()

    def resize(self, columns: int | None) -> None:
        """Take what comes from now on to be wrapped elsewhere."""
        self._look()
        self._lines.columns = columns

    def finish(self) -> str:
        """Return all that is left, and begin anew."""
        self._look()
        rest = self._decoder.decode(b"", final=True)
        if rest:
            run(self._lines, [rest])
        text = self._lines.text()
        self._lines = Lines(self._lines.columns)
        self._decoder.reset()
        self._partial = self._cr = False
        self._carry = b""
        self._follows = True
        return text

    def _look(self) -> None:
        """Work on what has come."""
        data = b"".join(self._raw)
        self._raw.clear()
        self._size = 0
        if not (self._cr or self._carry or b"\x1b" in data):
            clean = data.translate(None, _RARE)
            if len(clean) == len(data) or len(data) - len(clean) == data.count(b"\r\n"):
                # Nothing was rare but the returns before newlines.
                self._add(self._decode(clean), True)
                return
        text = self._decode(self._strip(data))
        self._add(text, "\x1b" not in text and "\r" not in text and "\b" not in text)

    def _add(self, text: str, clean: bool) -> None:
        if clean and self._follows:
            self._lines.extend(text)
        else:
            run(self._lines, _patterns().moves.split(text))
            self._follows = self._lines.at_end

    def _strip(self, data: bytes) -> bytes:
        """Drop the sequences and characters that change no text, and hold back what is only begun."""
        data = self._carry + data
        self._carry = b""
        start = data.rfind(b"\x1b")
        if start >= 0:
            patterns = _patterns()
            if patterns.begun.fullmatch(data, start) is not None:
                self._carry = data[start:]
                data = data[:start]
                if self._carry[1:2] and self._carry[1:2] in b"]kPX^_":
                    self._carry = self._carry[:2]  # what is in such a string is not ours to show
                elif len(self._carry) > _LONGEST_PARAMETERS + 2:
                    # Too long to mean anything, however it goes on.
                    self._carry = b"\x1b[ " if self._carry[-1] < 0x30 else b"\x1b[<"
            data = patterns.harmless.sub(b"", data)
        data = data.translate(_BREAKS, _JUNK)
        if self._cr:
            data = b"\r" + data
        whole = data.rstrip(b"\r")
        self._cr = len(whole) < len(data)
        while b"\r\n" in whole:
            whole = whole.replace(b"\r\n", b"\n")
        return whole

    def _decode(self, data: bytes) -> str:
        if data.isascii() and not self._partial:
            return data.decode("ascii")
        begun = self._partial
        text = self._decoder.decode(data)
        self._partial = bool(self._decoder.getstate()[0])
        if begun or b"\xc2" in data:
            text = _patterns().controls.sub("", text)
        return text


class _Patterns:
    """The expressions; made when first needed, for most output needs none."""

    __slots__ = ("begun", "controls", "harmless", "moves")

    def __init__(self) -> None:
        import re

        string, long_string = STRING.encode(), LONG_STRING.encode()
        moving = rb"(?:[0-9;:]{0,%d}[@A-HJKPX`dfsu]|\?(?:[0-9]{1,5};){0,4}(?:47|1047|1049)[hl])" % (
            _LONGEST_PARAMETERS
        )
        other = rb"\[(?!%b)[0-?]*[ -/]*[@-~]?|%b\x07?|%b" % (moving, string, long_string)
        short = rb"[ -/]+[0-~]?|[0-69-CF-LN-Z\\`abd-~]|(?![\[78DEMc])"
        self.harmless = re.compile(rb"\x1b(?:\[[0-9;:]*m|%b|%b)" % (other, short))
        self.begun = re.compile(BEGUN.encode())
        self.moves = re.compile("([\n\r\b]|\x1b(?:\\[[^@-~]*[@-~]|.))")
        self.controls = re.compile("[\x80-\x9f]")


_compiled: _Patterns | None = None


def _patterns() -> _Patterns:
    global _compiled  # noqa: PLW0603
    if _compiled is None:
        _compiled = _Patterns()
    return _compiled
