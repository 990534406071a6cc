"""Looking for text in the output, forwards and backwards."""

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_exec.faces.slash.view import OutputLine, ShellOutputView


class Found(Value):
    """A line in which something was found, where in it, and whether the search began anew for it."""

    number: int
    start: int
    end: int
    wrapped: bool = False


class Search:
    """What is looked for: plain text, or an expression.

    Without a capital letter in it, capital letters are not told apart. The
    text of lines is what is shown, so what is found can be seen.
    """

    __slots__ = ("_pattern", "text")

    def __init__(self, text: str, *, regex: bool = False) -> None:
        import re

        if not text:
            raise InvalidArgument("there is nothing to look for; type some text")
        self.text = text
        flags = re.IGNORECASE if text == text.lower() else 0
        try:
            self._pattern: re.Pattern[str] = re.compile(text if regex else re.escape(text), flags)
        except (re.error, OverflowError, RecursionError) as error:
            raise InvalidArgument(f"this is no regular expression: {error}") from None

    def spans(self, text: str) -> "list[tuple[int, int]]":
        """Return where it is found in a line, to be marked; an empty find is none."""
        return [found.span() for found in self._pattern.finditer(text) if found.end() > found.start()]

    def find(self, view: "ShellOutputView", start: int, *, backwards: bool = False) -> Found | None:
        """Give the nearest line from number `start` on, or back; then from the other end. None if nowhere."""
        return find(self, view.snapshot().lines, start, backwards=backwards)


def find(
    search: Search, lines: "Iterable[OutputLine]", start: int, *, backwards: bool = False
) -> Found | None:
    """Return the nearest of these lines, as `Search.find` does."""
    order = list(lines)
    if backwards:
        order.reverse()
    near = [line for line in order if (line.number <= start if backwards else line.number >= start)]
    far = [line for line in order if (line.number > start if backwards else line.number < start)]
    for wrapped, part in ((False, near), (True, far)):
        for line in part:
            if spans := search.spans(line.text):
                return Found(line.number, *spans[0], wrapped=wrapped)
    return None


class Finder:
    """The last search and where it stands: what `/`, `?`, `n` and `N` do."""

    __slots__ = ("_backwards", "_generation", "found", "search")

    def __init__(self) -> None:
        self.search: Search | None = None
        self.found: Found | None = None
        self._backwards = False
        self._generation = -1

    def begin(
        self, view: "ShellOutputView", search: Search, start: int, *, backwards: bool = False
    ) -> Found | None:
        """Look for something else, from number `start` on, or back."""
        self.search = search
        self._backwards = backwards
        self._generation = view.generation
        self.found = search.find(view, start, backwards=backwards)
        return self.found

    def again(self, view: "ShellOutputView", start: int, *, opposite: bool = False) -> Found | None:
        """Look for the next one; `start` is where to begin if none was found before."""
        if self.search is None:
            return None
        backwards = self._backwards != opposite
        if self.found is not None and self._generation == view.generation:
            start = self.found.number + (-1 if backwards else 1)
        self._generation = view.generation
        self.found = self.search.find(view, start, backwards=backwards)
        return self.found
