"""Reads assignments: a variable's name, which may hold code in brackets, and its value, which may as well."""

import re
from itertools import pairwise

from agent_exec.policy.shell.word import Word
from agent_exec.policy.variables import DECLARING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tree_sitter import Node

    from agent_exec.policy.shell.parsed_line import Reading
    from agent_exec.policy.shell.source import Source
    from agent_exec.policy.shell.words import Words

_PLACE = re.compile(r"\[[0-9]+\]\+?=", re.ASCII)

_ZSH_TABLES = frozenset("aliases galiases saliases functions commands options".split())
"""Lists that are tables of the shell in zsh."""


class Assignments:
    """Reads assignments, alone, before a command, or after a word that declares variables."""

    def __init__(self, source: "Source", reading: "Reading", words: "Words") -> None:
        self._source = source
        self._reading = reading
        self._words = words

    def read(self, node: "Node", *, harmless: bool = False, exported: bool = False) -> Word:
        """Read an assignment; return it as one word. The name of a harmless one does not matter."""
        text = self._source.text(node)
        if len(node.children) < 2 or node.type != "variable_assignment":
            return self._unclear(node)
        first, operator, *rest = node.children
        name = self._source.text(first)
        if first.type == "subscript":
            name, _, index = name.partition("[")
            self._reading.arrays = True
            if not index[:-1].isdecimal():
                self._reading.doubt("a subscript may run code", text)
                self._words.look(first)
        if not harmless:
            self._reading.assign(name, text, exported=exported)
        if not self._touch(node) or len(rest) > 1:
            self._unclear(node)
        begin = name + self._source.text(operator)
        value = Word("")
        for one in rest:
            if one.type == "array":
                if name in _ZSH_TABLES:
                    self._reading.doubt(f"zsh runs what is in {name}", text)
                self._array(one)
                return Word(name, source=text)
            value = self._words.read(one)
        if value.text is not None:
            return Word(begin + value.text, source=text)
        return Word(None, source=text, head=begin + value.head)

    def _touch(self, node: "Node") -> bool:
        """True if the parts of an assignment are one word."""
        return all(one.end_byte == following.start_byte for one, following in pairwise(node.children))

    def _unclear(self, node: "Node") -> Word:
        self._reading.doubt("the assignment is not understood", self._source.text(node))
        self._words.look(node)
        return Word(None, source=self._source.text(node), single=False)

    def _array(self, node: "Node") -> None:
        self._reading.arrays = True
        at = node.start_byte
        for item in node.children:
            if not self._source.blank(at, item.start_byte, lines=True):
                self._reading.doubt("the list is not understood", self._source.text(node))
            at = item.end_byte
            text = self._source.text(item)
            if not item.is_named and text in "()":
                continue
            if text.startswith("[") and _PLACE.match(text) is None:
                self._reading.doubt("a subscript may run code", text)
            if item.type == "variable_assignment":
                self.read(item)
            else:
                self._words.read(item)

    def declaration(self, node: "Node") -> list[Word]:
        """Read a command that declares variables; return its words."""
        text = self._source.text(node)
        words = [Word(self._source.text(node.children[0]))]
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                words.append(self.read(child))
                continue
            word = self._words.read(child)
            if child.type == "variable_name":
                self._reading.assign(self._source.text(child), text)
            elif child.type != "word" or DECLARING.fullmatch(word.text or "") is None:
                self._reading.doubt("what is declared is not understood", text)
            elif "a" in (word.text or "") or "A" in (word.text or ""):
                self._reading.arrays = True
            words.append(word)
        return words
