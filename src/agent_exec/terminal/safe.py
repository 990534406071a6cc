"""Output of a program for a person's own terminal: colours stay, all else that a terminal obeys goes."""

from agent_exec.terminal.parser import Parser, patterns

_KEPT = "\n\t\r\b"
_RESET = "\x1b[0m"
_LONGEST = 64
"""The maximum size of a sequence that changes the style."""


class Safe:
    """Takes bytes, returns text that moves the cursor along its line only, and changes nothing but style.

    With `colours` off, the styles go too.
    """

    __slots__ = ("_colours", "_parser", "_styled")

    def __init__(self, *, colours: bool = True) -> None:
        self._colours = colours
        self._parser = Parser()
        self._styled = False

    def feed(self, data: bytes) -> str:
        """Return what is whole by now."""
        text = self._parser.feed(data)
        if text.isprintable():
            return text
        parts = patterns().tokens.split(text)
        for place in range(1, len(parts), 2):
            parts[place] = self._control(parts[place])
        return "".join(parts)

    def finish(self) -> str:
        """Return what is left, and the end of a style that was begun."""
        rest = self._parser.finish()
        styled, self._styled = self._styled, False
        return rest + _RESET if styled else rest

    def _control(self, token: str) -> str:
        if token in _KEPT:
            return token
        style = token[:2] == "\x1b[" and token[-1] == "m" and token[2:3] not in ("<", "=", ">", "?")
        if not (style and self._colours and len(token) <= _LONGEST):
            return ""
        self._styled = token not in ("\x1b[m", _RESET)
        return token
