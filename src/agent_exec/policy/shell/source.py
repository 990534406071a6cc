"""The text of a shell line under its syntax tree: what a node stands for, and what lies between nodes."""

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tree_sitter import Node

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


class Source:
    """The bytes of a line, which the nodes of its tree point into."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def text(self, node: "Node") -> str:
        """Return the text of a node."""
        return self.slice(node.start_byte, node.end_byte)

    def slice(self, start: int, end: int) -> str:
        """Return the text between two places."""
        return self.data[start:end].decode("utf-8", "surrogateescape")

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

    def begins(self, node: "Node") -> bool:
        """True if every shell begins a new word where a node begins.

        After a closing parenthesis it may be the middle of one, as in `x=()a`.
        """
        return self.data[max(0, node.start_byte - 1) : node.start_byte] in _BEFORE_WORD

    def ends(self, node: "Node") -> bool:
        """True if every shell ends a word where a node ends, and takes it for one.

        What touches a redirection may be the descriptor that is meant.
        """
        after = self.data[node.end_byte : node.end_byte + 1]
        if after in (b"<", b">") and _DESCRIPTOR.fullmatch(self.data, node.start_byte, node.end_byte):
            return False
        return after in _AFTER_WORD

    def around(self, node: "Node", holes: "list[Node]", start: int | None = None) -> list[str]:
        """Return the pieces of a node's text before, between and after its holes."""
        at = node.start_byte if start is None else start
        pieces = []
        for hole in holes:
            pieces.append(self.slice(at, hole.start_byte))
            at = hole.end_byte
        pieces.append(self.slice(at, node.end_byte))
        return pieces


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
