"""Rules as they are written down: parsed, checked against their own examples, and written."""

import re

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
_HEADER = re.compile(r"\s*\[\[\s*(?:rule|\"rule\"|'rule')\s*\]\]\s*(?:#.*)?")


class Book(Value):
    """A file of rules: the rules, and the approval policy if it names one."""

    rules: tuple[Rule, ...] = ()
    approval: str | None = None


class _Place(Value):
    """A table that begins on a line of a file, or the whole file if that is 0."""

    text: str
    name: str
    line: int

    def wrong(self, key: str, message: str, example: object = None) -> InvalidRules:
        """Return the error about a key of the table, or about an example after it."""
        line = self.find(key, example)
        return InvalidRules(f"{self.name}:{line}: {message}", file=self.name, line=line)

    def find(self, key: str, example: object = None) -> int:
        """Return the line of a key, or of an example after it; that of the table if it is not found."""
        own: list[tuple[int, str]] = []
        for number, content in enumerate(self.text.splitlines(), 1):
            if self.line and number > self.line and _HEADER.fullmatch(content):
                break
            if number >= self.line:
                own.append((number, content))
        name = re.escape(key)
        wanted = re.compile(rf"\s*[\"']?{name}[\"']?\s*(?:=|\.|\])|\s*\[+\s*{name}")
        start = next((number for number, content in own if wanted.match(content)), max(self.line, 1))
        if not isinstance(example, str):
            return start
        return next((number for number, content in own if number >= start and example in content), start)


def parse(text: str, name: str = "rules") -> Book:
    """Parse rules; raise InvalidRules, with file and line, for what makes no sense or fails its examples."""
    import tomllib

    file = _Place(text, name, 0)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        place = int(line[1]) if line else text.count("\n") + 1
        raise InvalidRules(f"{name}:{place}: this is not TOML: {error}", file=name, line=place) from None
    approval = data.pop("approval_policy", None)
    if approval is not None and approval not in ("never", "on-request", "untrusted"):
        raise file.wrong("approval_policy", "approval_policy must be never, on-request or untrusted")
    tables = data.pop("rule", [])
    for key in data:
        raise file.wrong(key, f"there is no key {key!r} here; rules are tables [[rule]]")
    if not isinstance(tables, list) or any(not isinstance(table, dict) for table in tables):
        raise file.wrong("rule", "rules are tables [[rule]]")
    lines = _headers(text)
    if len(lines) != len(tables):
        lines = [file.find("rule")] * len(tables)
    rules = [_rule(table, _Place(text, name, line)) for table, line in zip(tables, lines, strict=True)]
    return Book(tuple(rules), approval)


def write(rule: Rule) -> str:
    """Return a rule as it is written down."""
    import json

    subject = "write" if rule.write else "prefix"
    named = [subject, *(["exact"] if rule.exact else []), "verdict", *(["reason"] if rule.reason else [])]
    lines = [f"{name} = {json.dumps(getattr(rule, name), ensure_ascii=False)}\n" for name in named]
    # TOML has texts and lists as JSON has them but for one character.
    return "[[rule]]\n" + "".join(lines).replace("\x7f", "\\u007f")


def _rule(table: "dict[str, Any]", place: _Place) -> Rule:
    for key in table:
        if key not in _TYPES:
            raise place.wrong(key, f"a rule has no {key!r}; it has {', '.join(sorted(_TYPES))}")
    verdict = table.get("verdict")
    if verdict not in KINDS:
        raise place.wrong("verdict", f"verdict must be one of {', '.join(KINDS)}; got {verdict!r}")
    if ("prefix" in table) == ("write" in table):
        raise place.wrong("[[rule]]", "a rule needs a prefix (of commands) or write (paths), and not both")
    for key, value in table.items():
        kind, wanted = _TYPES[key]
        if not isinstance(value, kind):
            raise place.wrong(key, f"{key} must be {wanted}; got {value!r}")
    for path in table.get("write", []):
        if not isinstance(path, str) or not path.startswith("/"):
            raise place.wrong("write", f"write takes absolute paths; got {path!r}")
    fields = {key: value for key, value in table.items() if key not in ("match", "not_match")}
    try:
        rule = Rule(**fields, source=f"{place.name}:{place.line}")
    except InvalidArgument as error:
        raise place.wrong("prefix", error.message) from None
    for key, expected in (("not_match", False), ("match", True)):
        for example in table.get(key, ()):
            if _fits(rule, example, place, key) is not expected:
                says = "does not match" if expected else "matches"
                raise place.wrong(key, f"the rule {says} its {key} example {example!r}", example)
    return rule


def _fits(rule: Rule, example: object, place: _Place, key: str) -> bool | None:
    """True if a rule matches an example: a path, a list of words, or a line that is one simple command."""
    if rule.write:
        return isinstance(example, str) and rule.covers(example)
    words: Sequence[Word] | None = None
    if isinstance(example, list) and example and all(isinstance(word, str) for word in example):
        words = known(example)
    elif isinstance(example, str):
        from agent_exec.policy.shell.line import read

        simples = read(example).simples
        words = simples[0].words if len(simples) == 1 else None
    if words is None:
        raise place.wrong(key, f"an example is one simple command; got {example!r}", example)
    return rule.matches(words)


def _headers(text: str) -> list[int]:
    """Return the lines of the tables, without those in texts of several lines."""
    found, inside = [], ""
    for number, line in enumerate(text.splitlines(), 1):
        if not inside and _HEADER.fullmatch(line):
            found.append(number)
        for mark in re.findall(r'"""|\'\'\'', line):
            if not inside:
                inside = mark
            elif inside == mark:
                inside = ""
    return found
