"""Reads a shell line: every simple command in it, what it writes to, and what cannot be understood.

The syntax tree is tree-sitter's. It is not trusted: only kinds of nodes known
here are accepted, every word is held against the text it was made from, and
between words there may be nothing but blanks. What does not fit is a doubt,
and a line with a doubt is never allowed by a rule. What is found is kept
nevertheless, so that a rule can deny it.
"""

import re

from agent_exec.policy.shell.parsed_line import DEEPEST, Reading, Simple, hole
from agent_exec.policy.shell.redirections import KINDS as REDIRECTIONS
from agent_exec.policy.shell.redirections import Redirections, cuts
from agent_exec.policy.shell.word import Word
from agent_exec.policy.shell.words import Words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tree_sitter import Language, Node

LONGEST = 65536
"""Longer lines are not parsed: a person could not review them either."""
BUSIEST = 5000
"""Lines with more marks that a shell reads are not parsed: the time it takes grows with their square."""
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
_PLAIN_WORDS = ("word", "number", "string", "raw_string")
_UNCLEAR = "the words are not understood"
_BROKEN = "it is not complete, or not understood"

_language: "Language | None" = None


def read(line: str) -> Reading:
    """Parse a line."""
    try:
        data = line.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return _refused("it is not text", ascii(line))
    if len(data) > LONGEST:
        return _refused(f"it is longer than {LONGEST} bytes")
    if len(_MARKS.findall(line)) > BUSIEST:
        return _refused("there is too much in it to be read")
    reading = Reading(data)
    if not line.replace("\n", "").replace("\t", "").isprintable():  # only the plain blank is printable
        reading.doubt("it holds a character that is not visible", ascii(line))
    root = _parse(data)
    if root.has_error:
        reading.doubt(_BROKEN, line)
    _Line(reading).all(root)
    for simple in reading.simples:
        if reading.arrays and _declares_unknown(simple):
            reading.doubt("the value may be read again as a list", simple.text)
    if reading.repeats and reading.moved:
        reading.mark(moved=True)
    if not reading.simples and not reading.writes and not reading.doubts and not line.strip():
        reading.doubt("there is no command in it")
    return reading


def _refused(reason: str, text: str = "") -> Reading:
    reading = Reading(b"")
    reading.doubt(reason, text)
    return reading


def _parse(data: bytes) -> "Node":
    global _language  # noqa: PLW0603 - made once, when a line is first parsed
    from tree_sitter import Parser

    if _language is None:
        import tree_sitter_bash
        from tree_sitter import Language

        _language = Language(tree_sitter_bash.language())
    return Parser(_language).parse(data).root_node


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

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._text = reading.text
        self._doubt = reading.doubt
        self._words = Words(reading, lambda node: self.statement(node, inside=True))
        self._redirections = Redirections(self._words, self.statement)
        self._commands: dict[int, Simple] = {}
        self._depth = 0

    def all(self, root: "Node") -> None:
        """Parse the whole line."""
        self._gap(0, root.start_byte)
        self._gap(root.end_byte, len(self._reading.data))
        self.statement(root)

    def statement(self, node: "Node", *, inside: bool = False) -> None:
        """Parse a node that holds or is a statement, or the statements `inside` of a substitution."""
        if self._depth > DEEPEST:
            self._doubt("it is nested too deep")
            return
        self._depth += 1
        (self._container if inside else self._statement)(node)
        self._depth -= 1

    def _statement(self, node: "Node") -> None:
        if node.is_error or node.is_missing:
            self._unclear(node, _BROKEN, skip=_PLAIN_WORDS)
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

    def _unclear(self, node: "Node", reason: str, skip: tuple[str, ...] = ()) -> None:
        """Doubt a node, and look for commands in it even if it makes no sense."""
        self._doubt(reason, node)
        for child in node.children:
            if child.is_named and child.type not in skip:
                self.statement(child)

    def _container(self, node: "Node") -> None:
        first = node.children[0] if node.children else None
        if first is not None and first.type == "((":
            self._doubt("arithmetic may run code", node)
            self._words.look(node)
            return
        if first is not None and first.type == "{" and self._reading.after(first) not in (b" ", b"\t", b"\n"):
            self._doubt("the braces are not understood", node)
        if node.type == "while_statement":
            self._reading.repeats = True
        self._blanks(node)
        for child in node.children:
            if child.type != "`":  # its owner has said that it is not understood
                self.statement(child)

    def _blanks(self, node: "Node", *, lines: bool = True) -> None:
        """Doubt a node between whose parts there is more than blanks."""
        for text in self._reading.strays(node, lines=lines):
            self._doubt(_UNCLEAR, text)

    def _whole(self, node: "Node") -> None:
        """Doubt a word, an assignment or a reserved word that may go on to some shell, or begin earlier."""
        opens = self._reading.after(node) == b"(" and node.type in _OPENING
        if not self._reading.begins(node) or not (opens or self._reading.ends(node)):
            self._doubt(_UNCLEAR, node)

    def _gap(self, start: int, end: int, *, lines: bool = True) -> None:
        if not self._reading.blank(start, end, lines=lines):
            self._doubt(_UNCLEAR, self._reading.slice(start, end))

    def _comment(self, node: "Node") -> None:
        after = self._reading.after(node)
        if not self._reading.begins(node) or after not in (b"", b"\n") or "\n" in self._text(node):
            self._doubt("the comment may be none", node)

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
            self._doubt("the redirection is not understood", node)
            self._simple(words, node)

    def _command(self, node: "Node") -> None:
        words: list[Word] = []
        sets: list[Node] = []
        at, last = node.start_byte, ""
        for child in node.children:
            if child.start_byte == at and last and child.type not in REDIRECTIONS:
                self._doubt(_UNCLEAR, node)
            self._gap(at, child.start_byte, lines=False)
            at, last = child.end_byte, child.type
            if child.type in REDIRECTIONS:
                if words and cuts(child):
                    self._doubt("the redirection is not understood", node)
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
            self._words.assignment(child, harmless=splits, exported=bool(words))
        self._simple(words, node)
        if words:
            self._commands[node.id] = self._reading.simples[-1]
        if words and words[0].source in _RESERVED:
            self._simple(words[1:], node)  # it is doubtful already, but what a rule denies stays denied

    def _name(self, node: "Node") -> Word:
        if node.child_count != 1:
            self._doubt("the name of the program is not understood", node)
            return Word(None, source=self._text(node), single=False)
        word = self._words.read(node.children[0])
        # To zsh, a dash and the mark after & are no names: the program comes after them.
        if word.source in _RESERVED or word.source == "-" or word.source[:1] == "!":
            self._doubt(f"{word.source!r} is not understood here", node)
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
            self._doubt(f"{words[at].source!r} is not understood here")
        return words[:start] + words[at:]

    def _variable_assignment(self, node: "Node") -> None:
        self._whole(node)
        self._words.assignment(node)

    def _variable_assignments(self, node: "Node") -> None:
        self._blanks(node, lines=False)
        for child in node.children:
            self._variable_assignment(child)

    def _declaration_command(self, node: "Node") -> None:
        self._blanks(node, lines=False)
        for child in node.children:
            self._whole(child)
        self._simple(self._words.declaration(node), node, neutral=True)

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
                    self._doubt("the pattern is not understood", child)
            elif child.is_named:
                self._words.read(child)

    def _function_definition(self, node: "Node") -> None:
        self._reading.repeats = True
        self._blanks(node)
        for child in node.children:
            if child.type == "word":
                if self._words.read(child).text is None:
                    self._doubt("the name of the function is not understood", node)
            elif child.is_named:
                self.statement(child)

    def _test_command(self, node: "Node") -> None:
        self._simple(self._words.condition(node), node)
