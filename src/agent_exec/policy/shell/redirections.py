"""Parses redirections: the files that are written to, and here-documents, which may hold commands."""

import re

from agent_exec.policy.shell.parsed_line import HOLES, Write, hole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from agent_exec.policy.shell.word import Word
    from agent_exec.policy.shell.words import Words

KINDS = frozenset("file_redirect herestring_redirect heredoc_redirect".split())
_DESCRIPTOR = re.compile(r"[0-9]+-?|-")
_PLAIN = re.compile(r"[\w./-]+")
_WRITES = (">", ">>", ">|", "&>", "&>>", ">&")
_WORDS = HOLES | frozenset("word string raw_string ansi_c_string concatenation number".split())
_OWN = ("heredoc_start", "heredoc_body", "heredoc_end", "file_descriptor")
_DELIMITER = re.compile(r"(?:'([\w.-]+)'|\"([\w.-]+)\"|\\?([\w.-]+))", re.ASCII)
_CODE = re.compile(r"`|\\\n|\$[({\[]")
_UNCLEAR = "the redirection is not understood"


def cuts(node: "Node") -> bool:
    """True for a redirection that some shells do not know: to them a command ends at its &."""
    return bool(node.children) and node.children[0].type in ("&>", "&>>")


class Redirections:
    """Parses redirections; `statement` parses commands that stand among them."""

    def __init__(self, words: "Words", statement: "Callable[[Node], None]") -> None:
        self._reading = words.reading
        self._words = words
        self._statement = statement
        self._lines: set[int] = set()

    def read(self, node: "Node") -> "list[Word]":
        """Parse a redirection; return the words after its target, which belong to a command."""
        reading = self._reading
        before = reading.before(node)
        touched = before not in (b"", b" ", b"\t", b"\n", b";", b"&", b"|", b"(", b")")
        if touched and (before == b"}" or reading.data[node.start_byte : node.start_byte + 1].isdigit()):
            reading.doubt(_UNCLEAR, node)
        if node.type == "heredoc_redirect":
            self._document(node)
            return []
        for _ in reading.strays(node, lines=False):  # it goes over an end of line
            reading.doubt(_UNCLEAR, node)
        if node.type == "file_redirect":
            return self._file(node)
        for child in node.children:
            if child.is_named and child.type != "file_descriptor":
                self._words.read(child)
        return []

    def _file(self, node: "Node") -> "list[Word]":
        operator, targets = "", []
        for child in node.children:
            if child.type == "file_descriptor":
                continue
            if not child.is_named and not operator:
                operator = child.type
            else:
                targets.append(self._words.read(child))
                if not self._reading.ends(child):
                    self._reading.doubt(_UNCLEAR, node)
        if operator in (">&-", "<&-"):
            return targets
        if targets:
            self._target(operator, targets[0], node)
        else:
            self._reading.doubt(_UNCLEAR, node)
        return targets[1:]

    def _target(self, operator: str, target: "Word", node: "Node") -> None:
        reading = self._reading
        if target.head.startswith(("/dev/tcp", "/dev/udp")):
            reading.doubt("the redirection opens a connection", node)
        if operator in (">&", "<&"):
            if target.text is not None and _DESCRIPTOR.fullmatch(target.text):
                return
            # What is not a number here is a file to some shells, and expanded a second time; after a dash
            # that closes the descriptor, a word of the command begins.
            if target.text is None or target.text[:1] == "-" or _PLAIN.fullmatch(target.text) is None:
                reading.doubt(_UNCLEAR, node)
        if operator in _WRITES:
            reading.writes.append(Write(target, moved=reading.moved, after=len(reading.simples)))
        elif operator not in ("<", "<&"):
            reading.doubt(_UNCLEAR, node)

    def _document(self, node: "Node") -> None:
        """Parse a here-document; doubt one that hides code, or words after it."""
        reading = self._reading
        parts = {child.type: child for child in reversed(node.children)}
        start, end = parts.get("heredoc_start"), parts.get("heredoc_end")
        if start is None or end is None:
            reading.doubt("the here-document is not complete", node)
            return
        if not self._ends(node, start, end):
            reading.doubt("the here-document is not understood", node)
        at = node.start_byte
        for child in node.children:
            if child.type == "heredoc_body":
                if reading.text(start)[:1] not in ("'", '"', "\\"):
                    self._body(child)
            elif child.type != "heredoc_end":
                if not reading.blank(at, child.start_byte, lines=False):
                    reading.doubt("the here-document is not understood", node)
                at = child.end_byte
            if child.type in _WORDS:
                reading.doubt("words after a here-document are not understood", node)
                self._words.read(child)
            elif child.is_named and child.type not in _OWN:
                self._statement(child)

    def _ends(self, node: "Node", start: "Node", end: "Node") -> bool:
        """True if a here-document surely ends where the tree says."""
        data, row = self._reading.data, start.start_point.row
        word = _DELIMITER.fullmatch(self._reading.text(start))
        begin = data.find(b"\n", start.end_byte) + 1
        # More lines before the body belong to the command: shells and trees differ on where it begins.
        split = any(child.start_byte < begin < child.end_byte for child in node.children if child != end)
        second = row in self._lines
        self._lines.add(row)
        if word is None or second or split or not begin:
            return False
        wanted = (word[1] or word[2] or word[3]).encode()
        tabs = any(child.type == "<<-" for child in node.children)
        for line in data[begin:].split(b"\n"):
            if (line.lstrip(b"\t") if tabs else line) == wanted:
                return begin == data.rfind(b"\n", 0, end.end_byte) + 1
            begin += len(line) + 1
        return False

    def _body(self, node: "Node") -> None:
        """Parse a body that is expanded."""
        holes = [child for child in node.children if hole(child)]
        for one in holes:
            self._words.read(one)
        pieces = self._reading.around(holes, node.start_byte, node.end_byte)
        if any(_CODE.search(re.sub(r"\\[\\$`]", "", piece)) for piece in pieces):
            self._reading.doubt("the here-document holds code that is not understood", node)
