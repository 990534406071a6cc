"""Rules as they are written down: read, checked against their own examples, and written."""

import re

from agent_exec.model.errors import InvalidArgument, InvalidRules
from agent_exec.policy.rule import Rule
from agent_exec.policy.shell.word import Word
from agent_exec.policy.verdict import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_KEYS = ("exact", "match", "not_match", "prefix", "reason", "verdict", "write")
_HEADER = re.compile(r"\s*\[\[\s*(?:rule|\"rule\"|'rule')\s*\]\]\s*(?:#.*)?")


class Book:
    """A file of rules: the rules, and the approval policy if it names one."""

    __slots__ = ("approval", "rules")

    def __init__(self, rules: tuple[Rule, ...] = (), approval: str | None = None) -> None:
        self.rules = rules
        self.approval = approval


def parse(text: str, name: str = "rules") -> Book:
    """Read rules; raise InvalidRules, with file and line, for what makes no sense or fails its examples."""
    import tomllib

    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        place = int(line[1]) if line else text.count("\n") + 1
        raise _wrong(name, place, f"this is not TOML: {error}") from None
    approval = data.pop("approval_policy", None)
    if approval is not None and approval not in ("never", "on-request", "untrusted"):
        raise _wrong(
            name, _key(text, 0, "approval_policy"), "approval_policy must be never, on-request or untrusted"
        )
    tables = data.pop("rule", [])
    for key in data:
        raise _wrong(name, _key(text, 0, key), f"there is no key {key!r} here; rules are tables [[rule]]")
    if not isinstance(tables, list) or any(not isinstance(table, dict) for table in tables):
        raise _wrong(name, _key(text, 0, "rule"), "rules are tables [[rule]]")
    lines = _headers(text)
    if len(lines) != len(tables):
        lines = [_key(text, 0, "rule")] * len(tables)
    return Book(
        tuple(_rule(table, text, name, line) for table, line in zip(tables, lines, strict=True)), approval
    )


def write(rule: Rule) -> str:
    """Return a rule as it is written down."""
    lines = ["[[rule]]"]
    if rule.write:
        lines.append(f"write = {_value(rule.write)}")
    else:
        lines.append(f"prefix = {_value(rule.prefix)}")
    if rule.exact:
        lines.append("exact = true")
    lines.append(f"verdict = {_value(rule.verdict)}")
    if rule.reason:
        lines.append(f"reason = {_value(rule.reason)}")
    return "\n".join(lines) + "\n"


def _rule(table: "dict[str, Any]", text: str, name: str, line: int) -> Rule:
    for key in table:
        if key not in _KEYS:
            raise _wrong(name, _key(text, line, key), f"a rule has no {key!r}; it has {', '.join(_KEYS)}")
    verdict = table.get("verdict")
    if verdict not in KINDS:
        raise _wrong(
            name, _key(text, line, "verdict"), f"verdict must be one of {', '.join(KINDS)}; got {verdict!r}"
        )
    if ("prefix" in table) == ("write" in table):
        raise _wrong(name, line, "a rule needs a prefix (of commands) or write (paths), and not both")
    for key, kind, wanted in (("reason", str, "a text"), ("exact", bool, "true or false")):
        if not isinstance(table.get(key, kind()), kind):
            raise _wrong(name, _key(text, line, key), f"{key} must be {wanted}; got {table[key]!r}")
    for key in ("prefix", "write", "match", "not_match"):
        if not isinstance(table.get(key, []), list):
            raise _wrong(name, _key(text, line, key), f"{key} must be a list; got {table[key]!r}")
    for path in table.get("write", []):
        if not isinstance(path, str) or not path.startswith("/"):
            raise _wrong(name, _key(text, line, "write"), f"write takes absolute paths; got {path!r}")
    try:
        rule = Rule(
            table.get("prefix", ()),
            verdict,
            reason=table.get("reason", ""),
            exact=table.get("exact", False),
            write=table.get("write", ()),
            source=f"{name}:{line}",
        )
    except InvalidArgument as error:
        raise _wrong(name, _key(text, line, "prefix"), error.message) from None
    for key, expected in (("not_match", False), ("match", True)):
        for example in table.get(key, ()):
            _check(rule, example, expected, name, lambda e=example, k=key: _example(text, line, k, e))
    return rule


def _check(rule: Rule, example: object, expected: bool, name: str, place: "Any") -> None:
    if rule.write:
        fits: bool | None = isinstance(example, str) and rule.covers(example)
    else:
        words = _split(example)
        if words is None:
            raise _wrong(name, place(), f"an example is one simple command; got {example!r}")
        fits = rule.matches(words)
    if fits is not expected:
        says = "does not match" if expected else "matches"
        wanted = "match" if expected else "not_match"
        raise _wrong(name, place(), f"the rule {says} its {wanted} example {example!r}")


def _split(example: object) -> "Sequence[Word] | None":
    """Return the words of an example: a list of words, or a line that is one simple command."""
    if isinstance(example, list) and example and all(isinstance(word, str) for word in example):
        return tuple(Word(word) for word in example)
    if not isinstance(example, str):
        return None
    from agent_exec.policy.shell.line import read

    reading = read(example)
    return reading.simples[0].words if len(reading.simples) == 1 else None


def _wrong(name: str, line: int, message: str) -> InvalidRules:
    return InvalidRules(f"{name}:{line}: {message}", file=name, line=line)


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


def _key(text: str, line: int, key: str) -> int:
    """Return the line of a key in the table that begins on a line; that line if it is not found."""
    for number, content in enumerate(text.splitlines(), 1):
        if number > line and _HEADER.fullmatch(content) and line:
            break
        if number >= line and re.match(
            rf"\s*[\"']?{re.escape(key)}[\"']?\s*(?:=|\.|\])|\s*\[+\s*{re.escape(key)}", content
        ):
            return number
    return max(line, 1)


def _example(text: str, line: int, key: str, example: object) -> int:
    """Return the line of an example."""
    start = _key(text, line, key)
    if isinstance(example, str):
        for number, content in enumerate(text.splitlines(), 1):
            if number >= start and example in content:
                return number
            if number > start and _HEADER.fullmatch(content):
                break
    return start


def _value(value: object) -> str:
    """Return a text, or a list of texts, as TOML, which is as JSON has it but for one character."""
    import json

    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
