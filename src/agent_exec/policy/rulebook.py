"""Rules as they are written down: parsed, checked against their own examples, and written."""

from agent_exec.model.document import Document
from agent_exec.model.errors import InvalidArgument, InvalidRules
from agent_exec.model.value import Value
from agent_exec.policy.rule import Rule
from agent_exec.policy.shell.word import Word, known
from agent_exec.policy.verdict import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_TYPES = {
    **dict.fromkeys(("reason", "verdict"), (str, "a text")),
    **dict.fromkeys(("match", "not_match", "prefix", "write"), (list, "a list")),
    "exact": (bool, "true or false"),
}


class Book(Value):
    """A file of rules: the rules, and the approval policy if it names one."""

    rules: tuple[Rule, ...] = ()
    approval: str | None = None


def parse(text: str, name: str = "rules") -> Book:
    """Parse rules; raise InvalidRules, with file and line, for what makes no sense or fails its examples."""
    document = Document(text, name, InvalidRules)
    data = dict(document.data)
    approval = data.pop("approval_policy", None)
    if approval is not None and approval not in ("never", "on-request", "untrusted"):
        document.wrong(("approval_policy",), "approval_policy must be never, on-request or untrusted")
    tables = data.pop("rule", [])
    for key in data:
        document.wrong((key,), f"there is no key {key!r} here; rules are tables [[rule]]")
    if not isinstance(tables, list) or any(not isinstance(table, dict) for table in tables):
        document.wrong(("rule",), "rules are tables [[rule]]")
    return Book(tuple(_rule(document, place, table) for place, table in enumerate(tables)), approval)


def write(rule: Rule) -> str:
    """Return a rule as it is written down."""
    import json

    subject = "write" if rule.write else "prefix"
    named = [subject, *(["exact"] if rule.exact else []), "verdict", *(["reason"] if rule.reason else [])]
    lines = [f"{name} = {json.dumps(getattr(rule, name), ensure_ascii=False)}\n" for name in named]
    # TOML has texts and lists as JSON has them but for one character.
    return "[[rule]]\n" + "".join(lines).replace("\x7f", "\\u007f")


def _rule(document: Document, place: int, table: "dict[str, Any]") -> Rule:
    path = ("rule", place)
    for key in table:
        if key not in _TYPES:
            document.wrong((*path, key), f"a rule has no {key!r}; it has {', '.join(sorted(_TYPES))}")
    verdict = table.get("verdict")
    if verdict not in KINDS:
        document.wrong((*path, "verdict"), f"verdict must be one of {', '.join(KINDS)}; got {verdict!r}")
    if ("prefix" in table) == ("write" in table):
        document.wrong(path, "a rule needs a prefix (of commands) or write (paths), and not both")
    for key, value in table.items():
        kind, wanted = _TYPES[key]
        if not isinstance(value, kind):
            document.wrong((*path, key), f"{key} must be {wanted}; got {value!r}")
    for written in table.get("write", []):
        if not isinstance(written, str) or not written.startswith("/"):
            document.wrong((*path, "write"), f"write takes absolute paths; got {written!r}")
    fields = {key: value for key, value in table.items() if key not in ("match", "not_match")}
    try:
        rule = Rule(**fields, source=f"{document.name}:{document.line(path)}")
    except InvalidArgument as error:
        document.wrong((*path, "prefix"), error.message)
    for key, expected in (("not_match", False), ("match", True)):
        for number, example in enumerate(table.get(key, ())):
            if rule.write:
                fits: bool | None = isinstance(example, str) and rule.covers(example)
            elif (words := _words(example)) is not None:
                fits = rule.matches(words)
            else:
                document.wrong((*path, key, number), f"an example is one simple command; got {example!r}")
            if fits is not expected:
                says = "does not match" if expected else "matches"
                document.wrong((*path, key, number), f"the rule {says} its {key} example {example!r}")
    return rule


def _words(example: object) -> "Sequence[Word] | None":
    """Return the words of an example: a list, or a line that is one simple command; None for others."""
    if isinstance(example, list) and example and all(isinstance(word, str) for word in example):
        return known(example)
    if isinstance(example, str):
        from agent_exec.policy.shell.line import read

        simples = read(example).simples
        return simples[0].words if len(simples) == 1 else None
    return None
