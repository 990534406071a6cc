"""Parses words, assignments and conditions; the syntax tree is believed as far as the text bears it out."""

import re
from itertools import pairwise

from agent_exec.policy.shell.parsed_line import DEEPEST, Reading, hole, outermost
from agent_exec.policy.shell.word import Word
from agent_exec.policy.variables import DECLARING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

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
_PLACE = re.compile(r"\[[0-9]+\]\+?=", re.ASCII)
_ZSH_TABLES = frozenset("aliases galiases saliases functions commands options".split())
"""Lists that are tables of the shell in zsh."""
_META = re.compile(r"[|&;()<>`\n#]|\\\n")
_INTEGERS = re.compile(r"\s-(?:eq|ne|lt|le|gt|ge|v|R)\s")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\[^\n]", re.DOTALL)
# A shell without [[ would run what follows as a command; there is none of such a name.
_AND_TEST = re.compile(r"(?:&&|\|\|)[ \t]+(?:![ \t]+)?(?=-[a-zA-Z][ \t])")
_PARTS = frozenset("unary_expression binary_expression parenthesized_expression negation_expression".split())


class Words:
    """Parses words; `statements` parses what is inside of a substitution."""

    def __init__(self, reading: Reading, statements: "Callable[[Node], None]") -> None:
        self.reading = reading
        self._text = reading.text
        self._doubt = reading.doubt
        self._statements = statements
        self._depth = 0

    def read(self, node: "Node") -> Word:
        """Return a word, unknown where only the shell will know; parse what is inside of it."""
        read = getattr(self, f"_{node.type}", None) if node.is_named else None
        if read is not None and self._depth <= DEEPEST:
            self._depth += 1
            word: Word = read(node)
            self._depth -= 1
            return word
        text = self._text(node)
        # Before a quote, a dollar belongs to it.
        if not node.is_named and text in _MARKS and (text != "$" or self.reading.after(node) in _AFTER_WORD):
            return Word(text)
        if self._depth > DEEPEST:
            self._doubt("it is nested too deep")
            return Word(None, source=text, single=False)
        return self._unclear(node, f"{node.type!r} is not understood")

    def look(self, node: "Node") -> None:
        """Parse what is inside of a node whose own meaning does not matter."""
        for one in outermost(node, _of_interest):
            if hole(one) or one.type in _QUOTES:
                self.read(one)
            else:
                self._doubt("it is not complete", one)
                self.look(one)

    def _unclear(self, node: "Node", reason: str = "the word is not understood") -> Word:
        self._doubt(reason, node)
        if not hole(node):
            self.look(node)
        return Word(None, source=self._text(node), single=False)

    def _word(self, node: "Node") -> Word:
        text = self._text(node)
        if node.child_count:
            return self._unclear(node, "a word in a word is not understood")
        if not _UNQUOTED.fullmatch(text) or text.startswith("#"):
            return self._unclear(node)
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
        holes = [child for child in node.children if hole(child)]
        for child in node.children:
            if hole(child):
                self.read(child)
            elif child.is_error or child.is_missing:
                self._doubt("it is not complete", node)
        pieces = self.reading.around(holes, node.start_byte + 1, node.end_byte - 1)
        if any(map(_stray, pieces)):
            return self._unclear(node, "the quotes are not understood")
        head = re.sub(r"\\([$`\"\\])", r"\1", pieces[0])
        if not holes:
            return Word(head, source=text)
        return Word(None, source=text, head=head, single=not any(_many(self._text(one)) for one in holes))

    def _simple_expansion(self, node: "Node") -> Word:
        text = self._text(node)
        if not _PARAMETER.fullmatch(text):
            return self._unclear(node, "the expansion is not understood")
        return Word(None, source=text, single=text in ("$?", "$#", "$$"))

    def _expansion(self, node: "Node") -> Word:
        text = self._text(node)
        found = _EXPANSION.match(text)
        if found is None or (found["operator"] is None and found.end() != len(text)):
            self._doubt("the expansion is not understood, or may run code", text)
            self.look(node)
        elif found["operator"] is not None:
            if "=" in found["operator"]:
                self.reading.assign(found["name"], text)
            start = node.start_byte + len(text[: found.end()].encode("utf-8", "surrogateescape"))
            holes = [one for one in outermost(node, hole) if one.start_byte >= start]
            for one in holes:
                self.read(one)
            plain = "".join(self.reading.around(holes, start, node.end_byte))
            if not plain.endswith("}") or _HIDING.search(plain, 0, len(plain) - 1):
                self._doubt("the expansion is not understood", text)
        return Word(None, source=text, single=False)

    def _command_substitution(self, node: "Node") -> Word:
        text = self._text(node)
        if not (text.startswith("$(") and text.endswith(")")) or text.startswith("$(("):
            self._doubt("a substitution in backquotes is not understood", text)
        self._statements(node)
        return Word(None, source=text, single=False)

    def _process_substitution(self, node: "Node") -> Word:
        self._statements(node)
        return Word(None, source=self._text(node))

    def _arithmetic_expansion(self, node: "Node") -> Word:
        text = self._text(node)
        if not _NUMBERS.fullmatch(text):
            self._doubt("arithmetic may run code", text)
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
                return self._unclear(node)
            at = child.end_byte
            words.append(self.read(child))
            # Quotes in the middle end neither a pattern nor a list in braces.
            source = self._text(child)
            mask += "x" * len(source) if hole(child) or child.type in _QUOTES else _masked(source)
        if at != node.end_byte:
            return self._unclear(node)
        if _SPREAD.search(mask):
            return Word(None, source=text, single=False)
        head = ""
        for word in words:
            head += word.head
            if word.text is None:
                return Word(None, source=text, head=head, single=all(one.single for one in words))
        return Word(head, source=text)

    def assignment(self, node: "Node", *, harmless: bool = False, exported: bool = False) -> Word:
        """Parse an assignment; return it as one word. The name of a harmless one does not matter."""
        if len(node.children) < 2 or node.type != "variable_assignment":
            return self._unclear(node, "the assignment is not understood")
        text = self._text(node)
        first, operator, *rest = node.children
        name = self._text(first)
        if first.type == "subscript":
            name, _, index = name.partition("[")
            self.reading.arrays = True
            if not index[:-1].isdecimal():
                self._doubt("a subscript may run code", text)
                self.look(first)
        if not harmless:
            self.reading.assign(name, text, exported=exported)
        if len(rest) > 1 or any(one.end_byte != other.start_byte for one, other in pairwise(node.children)):
            self._unclear(node, "the assignment is not understood")
        value = Word("")
        for one in rest:
            if one.type == "array":
                if name in _ZSH_TABLES:
                    self._doubt(f"zsh runs what is in {name}", text)
                self._items(one)
                return Word(name, source=text)
            value = self.read(one)
        begin = name + self._text(operator)
        known = None if value.text is None else begin + value.text
        return Word(known, source=text, head=begin + value.head)

    def _items(self, node: "Node") -> None:
        """Parse the items of a list that is assigned."""
        self.reading.arrays = True
        for _ in self.reading.strays(node, lines=True):
            self._doubt("the list is not understood", node)
        for item in node.children:
            text = self._text(item)
            if not item.is_named and text in "()":
                continue
            if text.startswith("[") and _PLACE.match(text) is None:
                self._doubt("a subscript may run code", text)
            if item.type == "variable_assignment":
                self.assignment(item)
            else:
                self.read(item)

    def declaration(self, node: "Node") -> list[Word]:
        """Parse a command that declares variables; return its words."""
        words = [Word(self._text(node.children[0]))]
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                words.append(self.assignment(child))
                continue
            word = self.read(child)
            if child.type == "variable_name":
                self.reading.assign(self._text(child), self._text(node))
            elif child.type != "word" or DECLARING.fullmatch(word.text or "") is None:
                self._doubt("what is declared is not understood", node)
            elif "a" in (word.text or "").casefold():
                self.reading.arrays = True
            words.append(word)
        return words

    def condition(self, node: "Node") -> list[Word]:
        """Parse a test: the words of `[ … ]`, which is a command; none of `[[ … ]]`, which some lack."""
        own = self._text(node).startswith("[[")
        holes = list(outermost(node, hole))
        plain = _QUOTED.sub("x", "x".join(self.reading.around(holes, node.start_byte, node.end_byte)))
        if own:
            plain = _AND_TEST.sub(" ", plain)
        if _META.search(plain) or (own and _INTEGERS.search(f" {plain} ")):
            self._doubt("the test is not understood, or may run code", node)
        self.look(node)
        if own:
            return []
        aside = Words(Reading(self.reading.data), lambda _: None)
        return [
            aside.read(part) if part.is_named else Word(self._text(part))
            for part in outermost(node, lambda one: one.type not in _PARTS)
        ]


def _of_interest(node: "Node") -> bool:
    return hole(node) or node.type in _QUOTES or node.is_error or node.is_missing


def _masked(text: str) -> str:
    """Return text of the same length in which what is escaped means nothing."""
    return re.sub(r"\\.", "xx", text, flags=re.DOTALL)


def _many(text: str) -> bool:
    """True if an expansion in quotes may still become several words."""
    return "@" in text or text.startswith("${!")


def _stray(piece: str) -> bool:
    """True if text in double quotes holds something that the shell would not take literally."""
    rest = re.sub(r"\\[^\n]", "", piece, flags=re.DOTALL)
    return any(mark in rest for mark in '"`\\') or _DOLLAR.search(rest) is not None


def _unescape(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
