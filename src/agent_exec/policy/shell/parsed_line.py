"""What reading a shell line gives: its simple commands, what it writes to, and what was not understood."""

from agent_exec.policy.variables import dangerous, reaches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.policy.shell.word import Word

LONGEST = 65536
"""Longer lines are not read: a person could not review them either."""
BUSIEST = 5000
"""Lines with more marks that a shell reads are not read here: the time it takes grows with their square."""
DEEPEST = 60
"""Deeper nesting is not read."""


class Simple:
    """One simple command: its words, the variables set for it, and whether the directory may have changed."""

    def __init__(
        self, words: "tuple[Word, ...]", text: str, *, moved: bool = False, neutral: bool = False
    ) -> None:
        self.words = words
        self.text = text
        self.moved = moved
        self.neutral = neutral


class Write:
    """The target of a redirection, read after so many simple commands."""

    def __init__(self, word: "Word", *, moved: bool, after: int = 0) -> None:
        self.word = word
        self.moved = moved
        self.after = after


class Reading:
    """Collects what is found while a line is read, in its order.

    `moved` says that the directory may have been changed, `repeats` that
    something may run more than once or later, `arrays` that a variable is one.
    `places` are the directories changed to, None for one that is not known.
    `sets` are the variables that programs may be given.
    """

    def __init__(self) -> None:
        self.simples: list[Simple] = []
        self.writes: list[Write] = []
        self.doubts: list[tuple[str, str]] = []
        self.moved = False
        self.repeats = False
        self.arrays = False
        self.places: list[str | None] = []
        self.sets: list[str] = []

    def mark(self, *, moved: bool) -> None:
        """Mark all commands and writes as in a changed directory, or not."""
        for simple in self.simples:
            simple.moved = moved
        for write in self.writes:
            write.moved = moved

    def doubt(self, reason: str, text: str = "") -> None:
        """Note something that was not understood."""
        if len(self.doubts) < 20:
            self.doubts.append((reason, text[:200]))

    def assign(self, name: str, text: str = "", *, exported: bool = False) -> None:
        """Note that a variable is set."""
        if reaches(name, text.partition("=")[2], exported=exported):
            self.sets.append(name)
        if dangerous(name):
            self.doubt(f"it sets {name}, which changes what commands do", text)
