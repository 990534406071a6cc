"""Finds the rules that apply to a command, fast in a book of any length."""

from agent_exec.policy.shell.word import base, plain
from agent_exec.policy.verdict import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.policy.rule import Rule
    from agent_exec.policy.shell.word import Word

    Matches = tuple[Rule | None, Rule | None, list[Rule]]


class Index:
    """Rules about commands, by the names of their programs."""

    __slots__ = ("_places", "_rules")

    def __init__(self, rules: "Sequence[Rule]") -> None:
        self._rules = [rule for rule in rules if not rule.write]
        self._places: dict[str, list[int]] = {}
        for place, rule in enumerate(self._rules):
            first = rule.prefix[0] if rule.prefix else ""
            for name in {first} if isinstance(first, str) else set(first):
                self._places.setdefault(name.casefold(), []).append(place)

    def find(self, words: "Sequence[Word]", forms: "Sequence[Sequence[Word]]", *, plainly: bool) -> "Matches":
        """Return the strictest rule against a command, one that may be stricter, and those that allow it.

        A rule that denies or asks may match any form of the command; a rule
        that allows must match the command as it is, or its last form if
        `plainly`. Whether the second rule matches, only the shell will know.
        """
        strict = perhaps = None
        allowing = []
        for rule in self._about(words[0].text):
            if rule.verdict == "allow":
                if rule.matches(words) or (plainly and len(forms) > 1 and rule.matches(forms[-1])):
                    allowing.append(rule)
                continue
            fits = {rule.matches(form) for form in forms}
            if True in fits:
                strict = _stricter(strict, rule)
            elif None in fits:
                perhaps = _stricter(perhaps, rule)
        return strict, perhaps, allowing

    def _about(self, program: str | None) -> "Sequence[Rule]":
        """Return the rules that may be about a program, in order; all if it is unknown."""
        if program is None:
            return self._rules
        names = {"", program.casefold(), base(program).casefold(), plain(program).casefold()}
        places = {place for name in names for place in self._places.get(name, ())}
        return [self._rules[place] for place in sorted(places)]


def _stricter(first: "Rule | None", second: "Rule") -> "Rule":
    """Return the stricter rule, the first of equals."""
    if first is not None and KINDS.index(first.verdict) >= KINDS.index(second.verdict):
        return first
    return second
