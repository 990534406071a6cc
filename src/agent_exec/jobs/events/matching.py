"""Looks for patterns in the lines of output as it comes, in bounded time and memory."""

from agent_exec.model.patterns import compiled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from agent_exec.model.choices import Stream

    Rule = dict[str, Any]
    Found = Callable[[int, str, Stream], object]

_LONGEST_LINE = 1 << 16
"""A longer line is looked at in pieces, which overlap."""
_OVERLAP = 1 << 12
_MOST = 1000
"""How often a rule is reported; then it is looked for no more."""
_PATIENCE = 0.1
"""How many seconds a search in one line may take."""
_MOST_SLOW = 3
"""How many searches of a rule may take longer; then it is looked for no more."""


class _Watched:
    """One rule, and how often it was found."""

    __slots__ = ("count", "expression", "literal", "slow", "stream")

    def __init__(self, rule: "Rule") -> None:
        self.stream = rule["stream"]
        self.count = 0
        self.slow = 0
        self.expression = compiled(rule["pattern"]) if rule["match_type"] == "regex" else None
        self.literal = rule["pattern"].encode("utf-8", "surrogateescape")

    @property
    def over(self) -> bool:
        """True if it is looked for no more."""
        return self.count >= _MOST or self.slow >= _MOST_SLOW

    def finds(self, line: bytes) -> bool:
        """True if it is in a line; False as well if that cannot be said in time."""
        if self.expression is None:
            return self.literal in line
        try:
            found = self.expression.search(line.decode("utf-8", "replace"), timeout=_PATIENCE)
        except TimeoutError:
            self.slow += 1
            return False
        return found is not None


class Matcher:
    """The rules of one job; `found(rule, line, stream)` is called for each line in which one is found."""

    __slots__ = ("_found", "_rests", "_rules")

    def __init__(self, rules: "Sequence[Rule]", found: "Found") -> None:
        self._rules = [_Watched(rule) for rule in rules]
        self._found = found
        self._rests: dict[Stream, bytes] = {}

    @property
    def slow(self) -> list[int]:
        """The rules that took too long, and are looked for no more."""
        return [number for number, rule in enumerate(self._rules) if rule.slow >= _MOST_SLOW]

    def feed(self, stream: "Stream", chunk: bytes) -> None:
        """Look at what has come of a stream; an unfinished line is kept for the next time."""
        wanted = [
            (number, rule)
            for number, rule in enumerate(self._rules)
            if rule.stream in (stream, "either") and not rule.over
        ]
        data = self._rests.get(stream, b"") + chunk
        end = data.rfind(b"\n") + 1
        rest = data[end:]
        for number, rule in wanted:
            # Without an expression, one look at all of it says whether any line need be looked at.
            if rule.expression is None and rule.literal not in data[:end]:
                continue
            for line in data[:end].split(b"\n")[:-1]:
                self._look(number, rule, line, stream)
        if len(rest) > _LONGEST_LINE:
            for number, rule in wanted:
                self._look(number, rule, rest, stream)
            rest = rest[-_OVERLAP:]
        self._rests[stream] = rest

    def finish(self) -> None:
        """Look at lines that have no end: no more will come."""
        for stream in tuple(self._rests):
            if self._rests[stream]:
                self.feed(stream, b"\n")

    def _look(self, number: int, rule: _Watched, line: bytes, stream: "Stream") -> None:
        if not rule.over and rule.finds(line):
            rule.count += 1
            self._found(number, line.removesuffix(b"\r").decode("utf-8", "replace"), stream)
