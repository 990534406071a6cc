"""Reads a shell line: every simple command in it, what it writes to, and what cannot be understood.

The syntax tree is tree-sitter's. It is not trusted: only kinds of nodes known
here are accepted, every word is held against the text it was made from, and
between words there may be nothing but blanks. What does not fit is a doubt,
and a line with a doubt is never allowed by a rule. What is found is kept
nevertheless, so that a rule can deny it.
"""

import re

from agent_exec.policy.shell.assignments import Assignments
from agent_exec.policy.shell.conditions import condition
from agent_exec.policy.shell.parsed_line import BUSIEST, DEEPEST, LONGEST, Reading, Simple
from agent_exec.policy.shell.redirections import KINDS as REDIRECTIONS
from agent_exec.policy.shell.redirections import Redirections, cuts
from agent_exec.policy.shell.source import Source, hole
from agent_exec.policy.shell.word import Word
from agent_exec.policy.shell.words import Words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Language, Node

_MARKS = re.compile(r"[|&;()<>{}\[\]$`=]")
_META = re.compile(r"[|&;()<>`$\\'\"\n]")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=", re.ASCII)
_RESERVED = frozenset(
    """
    if then else elif fi do done case esac while until for select function in { } ! [[ ]] coproc
    """.split()
)
_CONTAINERS = frozenset(
    """
    program list pipeline negated_command subshell compound_statement if_statement elif_clause
    else_clause while_statement do_group
    """.split()
)
_TOKENS = frozenset(
    "; & && || | |& ;; ;& ;;& ( ) { } ! if then elif else fi while until do done $( <( >( \n".split(" ")
)
_OPENING = frozenset("if then elif else while until do !".split())
"""Reserved words after which a subshell may begin without a blank."""
_MOVING = frozenset("cd pushd popd command builtin eval . source".split())
_FILLING = frozenset("mapfile readarray command builtin eval . source".split())

_language: "Language | None" = None


def read(line: str) -> Reading:
    """Read a line."""
    reading = Reading()
    try:
        data = line.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        reading.doubt("it is not text", ascii(line))
        return reading
    if len(data) > LONGEST:
        reading.doubt(f"it is longer than {LONGEST} bytes")
        return reading
    if len(_MARKS.findall(line)) > BUSIEST:
        reading.doubt("there is too much in it to be read")
        return reading
    if not line.replace("\n", "").replace("\t", "").isprintable():  # only the plain blank is printable
        reading.doubt("it holds a character that is not visible", ascii(line))
    root = _parse(data)
    if root.has_error:
        reading.doubt("it is not complete, or not understood", line)
    _Line(Source(data), reading).all(root)
    _look_back(reading)
    if not reading.simples and not reading.writes and not reading.doubts and not line.strip():
        reading.doubt("there is no command in it")
    return reading


def _parse(data: bytes) -> "Node":
    global _language  # noqa: PLW0603 - made once, when a line is first read
    from tree_sitter import Parser

    if _language is None:
        import tree_sitter_bash
        from tree_sitter import Language

        _language = Language(tree_sitter_bash.language())
    return Parser(_language).parse(data).root_node


def _look_back(reading: Reading) -> None:
    """Doubt what only the whole line shows."""
    for simple in reading.simples:
        if reading.arrays and _declares_unknown(simple):
            reading.doubt("the value may be read again as a list", simple.text)
    if reading.repeats and reading.moved:
        reading.mark(moved=True)


def _declares_unknown(simple: Simple) -> bool:
    """True if variables are declared with values that may turn out to be lists, which may hold code."""
    if not any(word.text in ("declare", "typeset", "local") for word in simple.words):
        return False
    return any(word.text is None and word.head[-1:] in ("", "=") for word in simple.words)


def _fills(words: list[Word]) -> bool:
    """True if `read` may fill a list."""
    return any(word.text is None or (word.text.startswith("-") and "a" in word.text) for word in words)


class _Line:
    """Walks over the statements of a line."""

    def __init__(self, source: Source, reading: Reading) -> None:
        self._source = source
        self._text = source.text
        self._reading = reading
        self._words = Words(source, reading, self._inside)
        self._redirections = Redirections(source, reading, self._words, self.statement)
        self._assignments = Assignments(source, reading, self._words)
        self._commands: dict[int, Simple] = {}
        self._depth = 0

    def all(self, root: "Node") -> None:
        """Read the whole line."""
        self._gap(0, root.start_byte, lines=True)
        self._gap(root.end_byte, len(self._source.data), lines=True)
        self.statement(root)

    def statement(self, node: "Node") -> None:
        """Read a node that holds or is a statement."""
        self._deeper(self._statement, node)

    def _inside(self, node: "Node") -> None:
        """Read the statements in a substitution."""
        self._deeper(self._container, node)

    def _deeper(self, read: "Callable[[Node], None]", node: "Node") -> None:
        if self._depth > DEEPEST:
            self._reading.doubt("it is nested too deep")
            return
        self._depth += 1
        read(node)
        self._depth -= 1

    def _statement(self, node: "Node") -> None:
        if node.is_error or node.is_missing:
            self._broken(node)
        elif node.type in _CONTAINERS and node.is_named:
            self._container(node)
        elif hole(node):
            self._words.read(node)
        elif node.type in REDIRECTIONS:
            self._strays(self._redirections.read(node), node)
        elif node.is_named and (read := getattr(self, f"_{node.type}", None)) is not None:
            read(node)
        elif node.is_named or node.type not in _TOKENS:
            self._unclear(node, f"{node.type!r} is not understood")
        elif node.type in _RESERVED:
            self._whole(node)

    def _unclear(self, node: "Node", reason: str) -> None:
        self._reading.doubt(reason, self._text(node))
        for child in node.children:
            if child.is_named:
                self.statement(child)

    def _broken(self, node: "Node") -> None:
        """Look for commands even in what makes no sense."""
        self._reading.doubt("it is not complete, or not understood", self._text(node))
        for child in node.children:
            if child.is_named and child.type not in ("word", "number", "string", "raw_string"):
                self.statement(child)

    def _container(self, node: "Node") -> None:
        first = node.children[0] if node.children else None
        if first is not None and first.type == "((":
            self._reading.doubt("arithmetic may run code", self._text(node))
            self._words.look(node)
            return
        if first is not None and first.type == "{":
            after = self._source.data[first.end_byte : first.end_byte + 1]
            if after not in (b" ", b"\t", b"\n"):
                self._reading.doubt("the braces are not understood", self._text(node))
        if node.type == "while_statement":
            self._reading.repeats = True
        self._blanks(node)
        for child in node.children:
            if child.type == "`":
                continue  # its owner has said that it is not understood
            self.statement(child)

    def _blanks(self, node: "Node", *, lines: bool = True) -> None:
        """Doubt a node between whose parts there is more than blanks."""
        at = node.start_byte
        for child in node.children:
            self._gap(at, child.start_byte, lines=lines)
            at = max(at, child.end_byte)
        self._gap(at, node.end_byte, lines=lines)

    def _whole(self, node: "Node") -> None:
        """Doubt a word, an assignment or a reserved word that may go on to some shell, or begin earlier."""
        opens = self._source.data[node.end_byte : node.end_byte + 1] == b"(" and node.type in _OPENING
        if not self._source.begins(node) or not (opens or self._source.ends(node)):
            self._reading.doubt("the words are not understood", self._text(node))

    def _gap(self, start: int, end: int, *, lines: bool) -> None:
        if not self._source.blank(start, end, lines=lines):
            self._reading.doubt("the words are not understood", self._source.slice(start, end))

    def _comment(self, node: "Node") -> None:
        after = self._source.data[node.end_byte : node.end_byte + 1]
        if not self._source.begins(node) or after not in (b"", b"\n") or "\n" in self._text(node):
            self._reading.doubt("the comment may be none", self._text(node))

    def _redirected_statement(self, node: "Node") -> None:
        self._blanks(node)
        body = node.child_by_field_name("body")
        while body is not None and body.type == "negated_command" and body.named_child_count == 1:
            body = body.named_children[0]
        rest: list[Word] = []
        cut = False
        for child in node.children:
            if child.type not in REDIRECTIONS:
                self.statement(child)
                continue
            words = self._redirections.read(child)
            rest += words
            cut = cut or cuts(child)
            if cut:
                self._strays(words, node)
        owner = None if body is None else self._commands.get(body.id)
        if owner is not None:
            owner.words += tuple(rest)
        else:
            self._strays(rest, node)

    def _strays(self, words: list[Word], node: "Node") -> None:
        """Take words after a redirection for a command when there is none to which they belong."""
        if words:
            self._reading.doubt("the redirection is not understood", self._text(node))
            self._simple(words, node)

    def _command(self, node: "Node") -> None:
        words: list[Word] = []
        sets: list[Node] = []
        at, last = node.start_byte, ""
        for child in node.children:
            if child.start_byte == at and last and child.type not in REDIRECTIONS:
                self._reading.doubt("the words are not understood", self._text(node))
            self._gap(at, child.start_byte, lines=False)
            at, last = child.end_byte, child.type
            if child.type in REDIRECTIONS:
                if words and cuts(child):
                    self._reading.doubt("the redirection is not understood", self._text(node))
                words += self._redirections.read(child)
                continue
            self._whole(child)
            if child.type == "variable_assignment":
                sets.append(child)
            elif child.type == "command_name":
                words.append(self._name(child))
            else:
                words.append(self._words.read(child))
        for child in sets:
            # To read, and to nothing else, it is given how to split only what it reads.
            splits = bool(words) and words[0].text == "read" and self._text(child).startswith("IFS=")
            self._assignments.read(child, harmless=splits, exported=bool(words))
        self._simple(words, node)
        if words:
            self._commands[node.id] = self._reading.simples[-1]
        if words and words[0].source in _RESERVED:
            self._simple(words[1:], node)  # it is doubtful already, but what a rule denies stays denied

    def _name(self, node: "Node") -> Word:
        if node.child_count != 1:
            self._reading.doubt("the name of the program is not understood", self._text(node))
            return Word(None, source=self._text(node), single=False)
        word = self._words.read(node.children[0])
        # To zsh, a dash and the mark after & are no names: the program comes after them.
        if word.source in _RESERVED or word.source == "-" or word.source[:1] == "!":
            self._reading.doubt(f"{word.source!r} is not understood here", self._text(node))
        return word

    def _simple(self, words: list[Word], node: "Node", *, neutral: bool = False) -> None:
        if words:
            reading = self._reading
            words = self._timed(words)
            text = self._text(node)
            reading.simples.append(Simple(tuple(words), text, moved=reading.moved, neutral=neutral))
            if words[0].text in _MOVING:
                reading.moved = True
                stays = words[0].text == "cd" and len(words) == 2
                reading.places.append(words[1].text if stays else None)
            if words[0].text in _FILLING or (words[0].text == "read" and _fills(words)):
                reading.arrays = True

    def _timed(self, words: list[Word]) -> list[Word]:
        """Leave out what may stand between `time`, which is a word of the shell's grammar, and a command."""
        if words[0].source != "time":
            return words
        at = 1
        while at < len(words) and words[at].source in ("-p", "--"):
            at += 1
        start = at
        while at < len(words):
            found = _ASSIGNMENT.match(words[at].source)
            if found is not None:
                self._reading.assign(found[1], words[at].source, exported=True)
            elif words[at].source != "!":
                break
            at += 1
        if at < len(words) and (words[at].source in _RESERVED or words[at].source == "time"):
            self._reading.doubt(f"{words[at].source!r} is not understood here")
        return words[:start] + words[at:]

    def _variable_assignment(self, node: "Node") -> None:
        self._whole(node)
        self._assignments.read(node)

    def _variable_assignments(self, node: "Node") -> None:
        self._blanks(node, lines=False)
        for child in node.children:
            self._variable_assignment(child)

    def _declaration_command(self, node: "Node") -> None:
        self._blanks(node, lines=False)
        for child in node.children:
            self._whole(child)
        self._simple(self._assignments.declaration(node), node, neutral=True)

    _unset_command = _declaration_command

    def _for_statement(self, node: "Node") -> None:
        self._reading.repeats = True
        self._blanks(node)
        at = node.start_byte
        for child in node.children:
            if child.type == "variable_name":
                self._reading.assign(self._text(child), self._text(node))
            elif child.type in ("do_group", "compound_statement", "comment"):
                self.statement(child)
            elif child.is_named:
                self._gap(at, child.start_byte, lines=False)
                self._words.read(child)
            elif child.type not in ("for", "select", "in", ";", "\n"):
                self._unclear(child, f"{child.type!r} is not understood")
            at = child.end_byte

    def _case_statement(self, node: "Node") -> None:
        self._blanks(node)
        for child in node.children:
            if child.type in ("case_item", "comment"):
                self.statement(child)
            elif child.is_named:
                self._words.read(child)

    def _case_item(self, node: "Node") -> None:
        self._blanks(node)
        pattern = True
        for child in node.children:
            if pattern and child.type == ")":
                pattern = False
            elif not pattern:
                self.statement(child)
            elif child.type == "extglob_pattern":
                if _META.search(self._text(child)):
                    self._reading.doubt("the pattern is not understood", self._text(child))
            elif child.is_named:
                self._words.read(child)

    def _function_definition(self, node: "Node") -> None:
        self._reading.repeats = True
        self._blanks(node)
        for child in node.children:
            if child.type == "word":
                if self._words.read(child).text is None:
                    self._reading.doubt("the name of the function is not understood", self._text(node))
            elif child.is_named:
                self.statement(child)

    def _test_command(self, node: "Node") -> None:
        self._simple(condition(node, self._source, self._reading, self._words), node)
