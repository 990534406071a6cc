"""A shell line while it is parsed: its text under the syntax tree, and all that was found in it."""

import re

from agent_exec.policy.variables import dangerous, reaches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

    from agent_exec.policy.shell.word import Word

DEEPEST = 60
"""Deeper nesting is not parsed."""
HOLES = frozenset(
    """
    simple_expansion expansion command_substitution process_substitution arithmetic_expansion
    """.split()
)
"""What the shell replaces when the line is run."""
_BLANKS = re.compile(rb"(?:[ \t]|(?<=[ \t])\\\n)*")
_BLANKS_OR_LINES = re.compile(rb"(?:[ \t\n]|(?<=[ \t])\\\n)*")
_DESCRIPTOR = re.compile(rb"[0-9]+|\{.*\}", re.DOTALL)
_BEFORE_WORD = (b"", b" ", b"\t", b"\n", b";", b"&", b"|", b"(")
_AFTER_WORD = (b"", b" ", b"\t", b"\n", b";", b"&", b"|", b")", b"<", b">")


class Simple:
    """One simple command: its words, the variables set for it, and whether the directory may have changed."""

    def __init__(
        self, words: "tuple[Word, ...]", text: str = "", *, moved: bool = False, neutral: bool = False
    ) -> None:
        self.words = words
        self.text = text or " ".join(word.source for word in words)
        self.moved = moved
        self.neutral = neutral


class Write:
    """The target of a redirection, found after so many simple commands."""

    def __init__(self, word: "Word", *, moved: bool, after: int = 0) -> None:
        self.word = word
        self.moved = moved
        self.after = after


class Reading:
    """The bytes of a line, and what is found while it is parsed, in its order.

    `moved` says that the directory may have been changed, `repeats` that
    something may run more than once or later, `arrays` that a variable is one.
    `places` are the directories changed to, None for one that is not known.
    `sets` are the variables that programs may be given.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
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
        found: list[Simple | Write] = [*self.simples, *self.writes]
        for one in found:
            one.moved = moved

    def doubt(self, reason: str, about: "Node | str" = "") -> None:
        """Note a node or a text that was not understood."""
        if len(self.doubts) < 20:
            text = about if isinstance(about, str) else self.text(about)
            self.doubts.append((reason, text[:200]))

    def assign(self, name: str, text: str, *, exported: bool = False) -> None:
        """Note that a variable is set."""
        if reaches(name, text.partition("=")[2], exported=exported):
            self.sets.append(name)
        if dangerous(name):
            self.doubt(f"it sets {name}, which changes what commands do", text)

    def text(self, node: "Node") -> str:
        """Return the text of a node."""
        return self.slice(node.start_byte, node.end_byte)

    def slice(self, start: int, end: int) -> str:
        """Return the text between two places."""
        return self.data[start:end].decode("utf-8", "surrogateescape")

    def before(self, node: "Node") -> bytes:
        """Return the byte before a node."""
        return self.data[max(0, node.start_byte - 1) : node.start_byte]

    def after(self, node: "Node") -> bytes:
        """Return the byte after a node."""
        return self.data[node.end_byte : node.end_byte + 1]

    def blank(self, start: int, end: int, *, lines: bool) -> bool:
        """True if there are only blanks between two places; with `lines`, ends of lines as well.

        An end of line that is taken back counts as a blank only after one:
        elsewhere it joins what is before it to what is after it.
        """
        if start >= end:
            return True
        pattern = _BLANKS_OR_LINES if lines else _BLANKS
        before = max(0, start - 1)
        return pattern.fullmatch(self.data[before:end], start - before) is not None

    def strays(self, node: "Node", *, lines: bool) -> "Iterator[str]":
        """Return what stands between the parts of a node and is no blank."""
        at = node.start_byte
        for start, end in (*((one.start_byte, one.end_byte) for one in node.children), (node.end_byte, 0)):
            if not self.blank(at, start, lines=lines):
                yield self.slice(at, start)
            at = max(at, end)

    def begins(self, node: "Node") -> bool:
        """True if every shell begins a new word where a node begins.

        After a closing parenthesis it may be the middle of one, as in `x=()a`.
        """
        return self.before(node) in _BEFORE_WORD

    def ends(self, node: "Node") -> bool:
        """True if every shell ends a word where a node ends, and takes it for one.

        What touches a redirection may be the descriptor that is meant.
        """
        after = self.after(node)
        if after in (b"<", b">") and _DESCRIPTOR.fullmatch(self.data, node.start_byte, node.end_byte):
            return False
        return after in _AFTER_WORD

    def around(self, holes: "list[Node]", start: int, end: int) -> list[str]:
        """Return the pieces of the text between two places before, between and after its holes."""
        starts = [start, *(hole.end_byte for hole in holes)]
        ends = [*(hole.start_byte for hole in holes), end]
        return [self.slice(*piece) for piece in zip(starts, ends, strict=True)]


def outermost(node: "Node", wanted: "Callable[[Node], bool]") -> "Iterator[Node]":
    """Return the nodes below a node that are wanted, in order, and none below those."""
    waiting = list(reversed(node.children))
    while waiting:
        one = waiting.pop()
        if wanted(one):
            yield one
        else:
            waiting += reversed(one.children)


def hole(node: "Node") -> bool:
    """True if the shell replaces a node."""
    return node.type in HOLES
