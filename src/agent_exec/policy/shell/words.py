"""Reads the words of a shell line from its syntax tree, which is believed as far as the text bears it out."""

import re

from agent_exec.policy.shell.parsed_line import DEEPEST
from agent_exec.policy.shell.source import hole, outermost
from agent_exec.policy.shell.word import Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from agent_exec.policy.shell.parsed_line import Reading
    from agent_exec.policy.shell.source import Source

_UNQUOTED = re.compile(r"(?:\\[^\n]|[^\s\\'\"`$|&;()<>])+", re.ASCII)
_SPREAD = re.compile(r"[*?]|\[.*\]|\{.*(?:,|\.\.)", re.DOTALL)
_PARAMETER = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!_-])", re.ASCII)
_EXPANSION = re.compile(
    r"""\$\{
        (?: \#? (?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*\#?$!-]) (?:\[(?:[@*]|[0-9]+)\])? \}
          | (?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*]) (?:\[(?:[@*]|[0-9]+)\])?
            (?: :(?:[0-9]+|[ ]-[0-9]+)(?::-?[0-9]+)?\}
              | (?P<operator>:?[-+=?]|\#\#?|%%?|//?[\#%]?|\^\^?|,,?) )
        )""",
    re.VERBOSE | re.ASCII,
)
_HIDING = re.compile(r"['\"\\`{}\n$]|[<>]\(")
_MARKS = frozenset("== =~ = + ! % ^ - $".split())
_AFTER_WORD = b" \t\n;&|)"
_NUMBERS = re.compile(r"\$\(\([0-9+\-*/% \t]*\)\)", re.ASCII)
_DOLLAR = re.compile(r"\$(?=[A-Za-z0-9_{(@*#?$!\[-])", re.ASCII)
_QUOTES = ("string", "raw_string", "ansi_c_string")


class Words:
    """Reads words; `statements` reads what is inside of a substitution."""

    def __init__(self, source: "Source", reading: "Reading", statements: "Callable[[Node], None]") -> None:
        self._source = source
        self._text = source.text
        self._reading = reading
        self._statements = statements
        self._depth = 0

    def read(self, node: "Node") -> Word:
        """Return a word, unknown where only the shell will know; read what is inside of it."""
        read = getattr(self, f"_{node.type}", None) if node.is_named else None
        if read is not None and self._depth <= DEEPEST:
            self._depth += 1
            word: Word = read(node)
            self._depth -= 1
            return word
        text = self._text(node)
        after = self._source.data[node.end_byte : node.end_byte + 1]
        # Before a quote, a dollar belongs to it.
        if not node.is_named and text in _MARKS and (text != "$" or after in _AFTER_WORD):
            return Word(text)
        if self._depth > DEEPEST:
            self._reading.doubt("it is nested too deep")
            return Word(None, source=text, single=False)
        return self._unclear(node, f"{node.type!r} is not understood")

    def look(self, node: "Node") -> None:
        """Read what is inside of a node whose own meaning does not matter."""
        for one in outermost(node, _of_interest):
            if hole(one) or one.type in _QUOTES:
                self.read(one)
            else:
                self._reading.doubt("it is not complete", self._text(one))
                self.look(one)

    def _unclear(self, node: "Node", reason: str) -> Word:
        self._reading.doubt(reason, self._text(node))
        if node.child_count and not hole(node):
            self.look(node)
        return Word(None, source=self._text(node), single=False)

    def _word(self, node: "Node") -> Word:
        text = self._text(node)
        if node.child_count:
            return self._unclear(node, "a word in a word is not understood")
        if not _UNQUOTED.fullmatch(text) or text.startswith("#"):
            return self._unclear(node, "the word is not understood")
        if text.startswith("~") or (text[0] == "=" and text.strip("=")):  # zsh: =NAME is a program's path
            return Word(None, source=text)
        if found := _SPREAD.search(_masked(text)):
            return Word(None, source=text, head=_unescape(text[: found.start()]), single=False)
        return Word(_unescape(text), source=text)

    _number = _word
    _variable_name = _word
    _test_operator = _word
    _special_variable_name = _word

    def _raw_string(self, node: "Node") -> Word:
        text = self._text(node)
        if len(text) < 2 or text[0] + text[-1] != "''" or "'" in text[1:-1]:
            return self._unclear(node, "the quotes are not understood")
        return Word(text[1:-1], source=text)

    def _ansi_c_string(self, node: "Node") -> Word:
        text = self._text(node)
        # Shells without such strings end it at the first quote.
        if text[:2] != "$'" or text[-1:] != "'" or "'" in text[2:-1]:
            return self._unclear(node, "the quotes are not understood")
        return Word(None, source=text)

    def _string(self, node: "Node") -> Word:
        text = self._text(node)
        if len(text) < 2 or text[0] + text[-1] != '""':
            return self._unclear(node, "the quotes are not understood")
        pieces, parts = self._pieces(node, node.start_byte + 1, node.end_byte - 1)
        for piece in pieces:
            if _stray(piece, '"'):
                return self._unclear(node, "the quotes are not understood")
        single = not any(_many(self._text(part)) for part in parts)
        if parts:
            return Word(None, source=text, head=_unescape_quoted(pieces[0]), single=single)
        return Word(_unescape_quoted(pieces[0]), source=text)

    def _pieces(self, node: "Node", start: int, end: int) -> "tuple[list[str], list[Node]]":
        """Return the literal pieces between the expansions of a node, and read those."""
        pieces, parts = [], []
        for child in node.children:
            if hole(child):
                pieces.append(self._source.slice(start, child.start_byte))
                parts.append(child)
                start = child.end_byte
                self.read(child)
            elif child.is_error or child.is_missing:
                self._reading.doubt("it is not complete", self._text(node))
        pieces.append(self._source.slice(start, end))
        return pieces, parts

    def _simple_expansion(self, node: "Node") -> Word:
        text = self._text(node)
        if not _PARAMETER.fullmatch(text):
            return self._unclear(node, "the expansion is not understood")
        return Word(None, source=text, single=text in ("$?", "$#", "$$"))

    def _expansion(self, node: "Node") -> Word:
        text = self._text(node)
        found = _EXPANSION.match(text)
        if found is None or (found["operator"] is None and found.end() != len(text)):
            self._reading.doubt("the expansion is not understood, or may run code", text)
            self.look(node)
        if found is None or found["operator"] is None:
            return Word(None, source=text, single=False)
        if "=" in found["operator"]:
            self._reading.assign(found["name"], text)
        start = node.start_byte + len(text[: found.end()].encode("utf-8", "surrogateescape"))
        holes = [one for one in outermost(node, hole) if one.start_byte >= start]
        for one in holes:
            self.read(one)
        plain = "".join(self._source.around(node, holes, start))
        if not plain.endswith("}") or _HIDING.search(plain, 0, len(plain) - 1):
            self._reading.doubt("the expansion is not understood", text)
        return Word(None, source=text, single=False)

    def _command_substitution(self, node: "Node") -> Word:
        text = self._text(node)
        if not (text.startswith("$(") and text.endswith(")")) or text.startswith("$(("):
            self._reading.doubt("a substitution in backquotes is not understood", text)
        self._statements(node)
        return Word(None, source=text, single=False)

    def _process_substitution(self, node: "Node") -> Word:
        self._statements(node)
        return Word(None, source=self._text(node))

    def _arithmetic_expansion(self, node: "Node") -> Word:
        text = self._text(node)
        if not _NUMBERS.fullmatch(text):
            self._reading.doubt("arithmetic may run code", text)
            self.look(node)
        return Word(None, source=text)

    def _brace_expression(self, node: "Node") -> Word:
        return Word(None, source=self._text(node), single=False)

    def _concatenation(self, node: "Node") -> Word:
        text = self._text(node)
        at = node.start_byte
        words, mask = [], ""
        for child in node.children:
            if child.start_byte != at:
                return self._unclear(node, "the word is not understood")
            at = child.end_byte
            words.append(self.read(child))
            # Quotes in the middle end neither a pattern nor a list in braces.
            source = self._text(child)
            mask += "x" * len(source) if hole(child) or child.type in _QUOTES else _masked(source)
        if at != node.end_byte:
            return self._unclear(node, "the word is not understood")
        if _SPREAD.search(mask):
            return Word(None, source=text, single=False)
        head = ""
        for word in words:
            head += word.head
            if word.text is None:
                return Word(None, source=text, head=head, single=all(one.single for one in words))
        return Word(head, source=text)


def _of_interest(node: "Node") -> bool:
    return hole(node) or node.type in _QUOTES or node.is_error or node.is_missing


def _masked(text: str) -> str:
    """Return text of the same length in which what is escaped means nothing."""
    return re.sub(r"\\.", "xx", text, flags=re.DOTALL)


def _many(text: str) -> bool:
    """True if an expansion in quotes may still become several words."""
    return text == "$@" or "@" in text or text.startswith("${!")


def _stray(piece: str, quote: str) -> bool:
    """True if literal text holds something that the shell would not take literally."""
    rest = re.sub(r"\\[^\n]", "", piece, flags=re.DOTALL)
    return quote in rest or "`" in rest or "\\" in rest or _DOLLAR.search(rest) is not None


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)


def _unescape_quoted(text: str) -> str:
    return re.sub(r"\\([$`\"\\])", r"\1", text)
