"""Reads redirections: the files that are written to, and here-documents, which may hold commands."""

import re

from agent_exec.policy.shell import heredoc
from agent_exec.policy.shell.parsed_line import Write
from agent_exec.policy.shell.source import HOLES, hole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from agent_exec.policy.shell.parsed_line import Reading
    from agent_exec.policy.shell.source import Source
    from agent_exec.policy.shell.word import Word
    from agent_exec.policy.shell.words import Words

KINDS = frozenset("file_redirect herestring_redirect heredoc_redirect".split())
_DESCRIPTOR = re.compile(r"[0-9]+-?|-")
_PLAIN = re.compile(r"[\w./-]+")
_WRITES = (">", ">>", ">|", "&>", "&>>", ">&")
_WORDS = HOLES | frozenset("word string raw_string ansi_c_string concatenation number".split())


def cuts(node: "Node") -> bool:
    """True for a redirection that some shells do not know: to them a command ends at its &."""
    return bool(node.children) and node.children[0].type in ("&>", "&>>")


class Redirections:
    """Reads redirections; `statement` reads commands that stand among them."""

    def __init__(
        self, source: "Source", reading: "Reading", words: "Words", statement: "Callable[[Node], None]"
    ) -> None:
        self._source = source
        self._reading = reading
        self._words = words
        self._statement = statement
        self._lines: set[int] = set()

    def read(self, node: "Node") -> "list[Word]":
        """Read a redirection; return the words after its target, which belong to a command."""
        before = self._source.data[max(0, node.start_byte - 1) : node.start_byte]
        touched = before not in (b"", b" ", b"\t", b"\n", b";", b"&", b"|", b"(", b")")
        if touched and (before == b"}" or self._source.data[node.start_byte : node.start_byte + 1].isdigit()):
            self._reading.doubt("the redirection is not understood", self._source.text(node))
        if node.type == "heredoc_redirect":
            self._document(node)
            return []
        self._tight(node)
        return self._file(node) if node.type == "file_redirect" else self._text(node)

    def _tight(self, node: "Node") -> None:
        """Doubt a redirection that goes over an end of line."""
        at = node.start_byte
        for child in node.children:
            if not self._source.blank(at, child.start_byte, lines=False):
                self._reading.doubt("the redirection is not understood", self._source.text(node))
            at = child.end_byte

    def _file(self, node: "Node") -> "list[Word]":
        operator, targets = "", []
        for child in node.children:
            if child.type == "file_descriptor":
                continue
            if not child.is_named and not operator:
                operator = child.type
            else:
                targets.append(self._words.read(child))
                if not self._source.ends(child):
                    self._reading.doubt("the redirection is not understood", self._source.text(node))
        if operator in (">&-", "<&-"):
            return targets
        if not targets:
            self._reading.doubt("the redirection is not understood", self._source.text(node))
        for target in targets[:1]:
            self._target(operator, target, self._source.text(node))
        return targets[1:]

    def _target(self, operator: str, target: "Word", text: str) -> None:
        if target.head.startswith(("/dev/tcp", "/dev/udp")):
            self._reading.doubt("the redirection opens a connection", text)
        if operator in (">&", "<&"):
            if target.text is not None and _DESCRIPTOR.fullmatch(target.text):
                return
            # What is not a number here is a file to some shells, and expanded a second time; after a dash
            # that closes the descriptor, a word of the command begins.
            if target.text is None or target.text[:1] == "-" or _PLAIN.fullmatch(target.text) is None:
                self._reading.doubt("the redirection is not understood", text)
        if operator in _WRITES:
            write = Write(target, moved=self._reading.moved, after=len(self._reading.simples))
            self._reading.writes.append(write)
        elif operator not in ("<", "<&"):
            self._reading.doubt("the redirection is not understood", text)

    def _text(self, node: "Node") -> "list[Word]":
        for child in node.children:
            if child.is_named and child.type != "file_descriptor":
                self._words.read(child)
        return []

    def _document(self, node: "Node") -> None:
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        end = next((child for child in node.children if child.type == "heredoc_end"), None)
        if start is None or end is None:
            self._reading.doubt("the here-document is not complete", self._source.text(node))
            return
        self._check(node, start, end)
        at = node.start_byte
        for child in node.children:
            if child.type == "heredoc_body":
                self._body(child, expanded=not heredoc.quoted(self._source.text(start)))
            elif child.type != "heredoc_end":
                if not self._source.blank(at, child.start_byte, lines=False):
                    self._reading.doubt("the here-document is not understood", self._source.text(node))
                at = child.end_byte
            if child.type in _WORDS:
                self._reading.doubt("words after a here-document are not understood", self._source.text(node))
                self._words.read(child)
            elif child.is_named and child.type not in (
                "heredoc_start",
                "heredoc_body",
                "heredoc_end",
                "file_descriptor",
            ):
                self._statement(child)

    def _check(self, node: "Node", start: "Node", end: "Node") -> None:
        """Doubt a here-document that does not surely end where the tree says."""
        row = start.start_point.row
        word = heredoc.delimiter(self._source.text(start))
        found = None
        if word is not None and row not in self._lines:
            tabs = any(child.type == "<<-" for child in node.children)
            found = heredoc.ends_at(self._source.data, start.end_byte, word, tabs=tabs)
        self._lines.add(row)
        # More lines before the body belong to the command: shells and trees differ on where it begins.
        first = self._source.data.find(b"\n", start.end_byte) + 1
        if any(child.start_byte < first < child.end_byte for child in node.children if child != end):
            found = None
        if found is None or found != self._source.data.rfind(b"\n", 0, end.end_byte) + 1:
            self._reading.doubt("the here-document is not understood", self._source.text(node))

    def _body(self, node: "Node", *, expanded: bool) -> None:
        if not expanded:
            return
        holes = [child for child in node.children if hole(child)]
        for one in holes:
            self._words.read(one)
        if heredoc.overlooked(self._source.around(node, holes)):
            self._reading.doubt(
                "the here-document holds code that is not understood", self._source.text(node)
            )
