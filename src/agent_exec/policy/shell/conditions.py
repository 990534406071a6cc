"""Reads `[ … ]`, which is a command like any other, and `[[ … ]]`, which some shells do not know."""

import re

from agent_exec.policy.shell.parsed_line import Reading
from agent_exec.policy.shell.source import hole, outermost
from agent_exec.policy.shell.word import Word
from agent_exec.policy.shell.words import Words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tree_sitter import Node

    from agent_exec.policy.shell.source import Source

_META = re.compile(r"[|&;()<>`\n#]|\\\n")
_INTEGERS = re.compile(r"\s-(?:eq|ne|lt|le|gt|ge|v|R)\s")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"|\\[^\n]", re.DOTALL)
# A shell without [[ would run what follows as a command; there is none of such a name.
_AND_TEST = re.compile(r"(?:&&|\|\|)[ \t]+(?:![ \t]+)?(?=-[a-zA-Z][ \t])")
_PARTS = frozenset("unary_expression binary_expression parenthesized_expression negation_expression".split())


def condition(node: "Node", source: "Source", reading: Reading, words: Words) -> list[Word]:
    """Read a condition; return its words if it is a command, none if it is the shell's own."""
    text = source.text(node)
    own = text.startswith("[[")
    plain = _QUOTED.sub("x", "x".join(source.around(node, list(outermost(node, hole)))))
    if own:
        plain = _AND_TEST.sub(" ", plain)
    if _META.search(plain) or (own and _INTEGERS.search(f" {plain} ")):
        reading.doubt("the test is not understood, or may run code", text)
    words.look(node)
    if own:
        return []
    aside = Words(source, Reading(), lambda _: None)
    return [
        aside.read(part) if part.is_named else Word(source.text(part))
        for part in outermost(node, lambda one: one.type not in _PARTS)
    ]
