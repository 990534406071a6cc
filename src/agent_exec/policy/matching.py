"""Finds the rules that speak of a command, fast in a book of any length."""

from agent_exec.policy.shell.word import base, plain
from agent_exec.policy.verdict import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.policy.rule import Rule
    from agent_exec.policy.shell.word import Word


class Matches:
    """The rules that speak of one command.

    `allowing` are those that allow it, in order. `strict` is the first of the
    strictest that ask or deny. `perhaps` is one that would be stricter, if
    what only the shell will know turns out so.
    """

    __slots__ = ("allowing", "perhaps", "strict")

    def __init__(self) -> None:
        self.allowing: list[Rule] = []
        self.strict: Rule | None = None
        self.perhaps: Rule | None = None

    def add(self, rule: "Rule", fits: bool | None) -> None:
        """Note a rule that asks or denies, and matches or may."""
        if fits:
            if self.strict is None or _stricter(rule, self.strict):
                self.strict = rule
        elif fits is None and (self.perhaps is None or _stricter(rule, self.perhaps)):
            self.perhaps = rule


class Index:
    """Rules about commands, by the names of their programs."""

    __slots__ = ("_all", "_general", "_named")

    def __init__(self, rules: "Sequence[Rule]") -> None:
        self._all = [rule for rule in rules if not rule.write]
        self._general = [rule for rule in self._all if not rule.prefix]
        self._named: dict[str, list[Rule]] = {}
        for name in {name for rule in self._all for name in _names(rule)}:
            self._named[name] = [rule for rule in self._all if not rule.prefix or name in _names(rule)]

    def find(self, words: "Sequence[Word]", forms: "Sequence[Sequence[Word]]", *, plainly: bool) -> Matches:
        """Give the rules that speak of a command, and of its other forms.

        What denies or asks is held against every form; what allows, against
        the command as it is, and against the last form if `plainly`.
        """
        found = Matches()
        for rule in self._about(words[0].text):
            if rule.verdict != "allow":
                fits = {rule.matches(form) for form in forms}
                found.add(rule, True if True in fits else None if None in fits else False)
            elif rule.matches(words) or (plainly and len(forms) > 1 and rule.matches(forms[-1])):
                found.allowing.append(rule)
        return found

    def _about(self, program: str | None) -> "Sequence[Rule]":
        """Give the rules that may be about a program; all of them if it is not known."""
        if program is None:
            return self._all
        keys = {program.casefold(), base(program).casefold(), plain(program).casefold()}
        named = [self._named[key] for key in keys if key in self._named]
        if len(named) > 1:
            return [rule for rule in self._all if any(rule in rules for rules in named)]
        return named[0] if named else self._general


def _names(rule: "Rule") -> "Sequence[str]":
    if not rule.prefix:
        return ()
    first = rule.prefix[0]
    return [name.casefold() for name in ((first,) if isinstance(first, str) else first)]


def _stricter(one: "Rule", other: "Rule") -> bool:
    return KINDS.index(one.verdict) > KINDS.index(other.verdict)
