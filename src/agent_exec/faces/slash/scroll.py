"""Which part of the output is looked at, and how keys move it."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.slash.view import OutputSnapshot, ShellOutputView

SIDEWAYS = 4
"""How many columns a key moves sideways."""


class Scroll:
    """A window of `height` lines on a view.

    It stays on the lines it shows while others are dropped before them, as
    long as they are kept. With `follow` it shows the end, whatever comes;
    moving up ends that, reaching the end by a key begins it again.
    """

    __slots__ = ("_generation", "_top", "_view", "column", "follow", "height")

    def __init__(self, view: "ShellOutputView", height: int = 20) -> None:
        self._view = view
        self._generation = view.generation
        self._top = 0
        self.height = height
        self.column = 0
        self.follow = True

    @property
    def top(self) -> int:
        """The number of the first line that is shown."""
        if self._generation != self._view.generation:  # another command, another output
            self._generation = self._view.generation
            self._top = self.column = 0
            self.follow = True
        first, end = self._view.bounds
        deepest = max(first, end - self.height)
        self._top = deepest if self.follow else min(max(self._top, first), deepest)
        return self._top

    @property
    def scroll_offset(self) -> int:
        """How many of the lines that are kept are above the window."""
        top = self.top
        return max(0, top - self._view.bounds[0])

    def window(self) -> "OutputSnapshot":
        """Return the lines that are to be shown."""
        return self._view.snapshot(self.top, self.height)

    def move(self, lines: int) -> None:
        """Go down by so many lines, or up if they are negative."""
        top = self.top + lines
        first, end = self._view.bounds
        deepest = max(first, end - self.height)
        self.follow = lines > 0 and top >= deepest
        self._top = min(max(top, first), deepest)

    def page(self, pages: int) -> None:
        """Go down by so many windows, less a line that is seen in both."""
        self.move(pages * max(1, self.height - 1))

    def home(self) -> None:
        """Go to the first line, and to its beginning."""
        self.follow = False
        self._top = self._view.bounds[0]
        self.column = 0

    def end(self) -> None:
        """Go to the last line, and follow it."""
        self.follow = True

    def sideways(self, steps: int) -> None:
        """Go right by so many steps, or left if they are negative."""
        self.column = max(0, self.column + steps * SIDEWAYS)

    def show(self, number: int) -> None:
        """Go where a line can be seen; not at all if it can be seen now."""
        top = self.top
        if not top <= number < top + self.height:
            self.follow = False
            self._top = max(self._view.bounds[0], number - self.height // 2)
