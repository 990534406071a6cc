"""The judge: reads a command, finds all that it would do, and says the strictest of what is said to each."""

from agent_exec.model.errors import InvalidArgument
from agent_exec.policy.facts import Facts
from agent_exec.policy.kin import harms
from agent_exec.policy.matching import Index
from agent_exec.policy.names import dangerous
from agent_exec.policy.programs import alternatives, look
from agent_exec.policy.reading import Simple
from agent_exec.policy.rule import Rule
from agent_exec.policy.sight import NEVER
from agent_exec.policy.verdict import KINDS, Finding, strictest
from agent_exec.policy.word import Word
from agent_exec.policy.wrappers import sets_dangerous

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.policy.reading import Write
    from agent_exec.policy.sight import Sight
    from agent_exec.policy.verdict import Basis, Kind, Verdict

NESTING = 8
"""A command in a command in a command …: deeper than this nobody looks."""
MOST = 2000
"""A line with more commands than this is not judged one by one."""
_NOWHERE = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2")


class Policy:
    """Rules, and the judgement by them: deny before ask before allow, and what no rule knows asks.

    A policy never changes; `with_rules` gives a new one.
    """

    __slots__ = ("_index", "rules")

    def __init__(self, rules: "Sequence[Rule]" = ()) -> None:
        self.rules = tuple(rules)
        for rule in self.rules:
            if not isinstance(rule, Rule):
                raise InvalidArgument(f"rules must be a list of Rule(prefix, verdict); got {rule!r}")
        self._index = Index(self.rules)

    def with_rules(self, rules: "Sequence[Rule]") -> "Policy":
        """Give a policy with further rules after these."""
        return Policy((*self.rules, *rules))

    def judge(self, command: "Sequence[str] | str", facts: Facts | None = None) -> "Verdict":
        """Judge an argument vector, or a shell line if it is one text.

        The verdict is about exactly these words or this line: run nothing else on it.
        """
        told = Facts() if facts is None else facts
        findings: list[Finding] = []
        if isinstance(command, str):
            self._line(command, told, findings, 0)
        else:
            texts = tuple(command)
            for text in texts:
                if not isinstance(text, str):
                    raise InvalidArgument(
                        f"a command is a list of texts, or one shell line; got {text!r} in it"
                    )
            simple = Simple(tuple(Word(text) for text in texts), " ".join(texts))
            if texts:
                self._simple(simple, told, findings, 0)
        for name in told.sets:
            if dangerous(name):
                reason = f"it is given {name}, which changes what commands do"
                findings.append(Finding("line", name, "ask", reason, basis="guard"))
        return strictest(findings)

    def _line(
        self, line: str, facts: Facts, findings: list[Finding], depth: int, *, moved: bool = False
    ) -> None:
        from agent_exec.policy.line import read  # it loads a grammar

        reading = read(line)
        for simple in reading.simples:
            simple.moved = simple.moved or moved
            self._simple(simple, facts, findings, depth)
        for write in reading.writes:
            write.moved = write.moved or moved
            self._write(write, facts, findings)
        for reason, text in reading.doubts:
            findings.append(Finding("line", text or line[:200], "ask", reason, basis="guard"))
        if not reading.simples and not reading.writes and not reading.doubts:
            findings.append(Finding("line", line[:200], "allow", "it runs nothing", basis="guard"))

    def _simple(self, simple: Simple, facts: Facts, findings: list[Finding], depth: int) -> None:
        """Judge one simple command, and then what it runs in turn."""
        if len(findings) > MOST or depth > NESTING:
            findings.append(
                Finding("line", simple.text[:200], "ask", "it is too much to look at", basis="guard")
            )
            return
        sight = look(simple.words)
        findings.append(self._decide(simple, sight, facts))
        if name := sets_dangerous(sight):
            reason = f"it sets {name}, which changes what commands do"
            findings.append(Finding("line", simple.text, "ask", reason, basis="guard"))
        moved = simple.moved or sight.moved
        for words in filter(None, sight.named):
            found = self._decide(Simple(words, " ".join(word.source for word in words)), look(words), facts)
            if found.kind == "deny" or (found.kind == "ask" and found.basis == "rule"):
                findings.append(found)
        for words in sight.inner:
            text = " ".join(word.source for word in words)
            self._simple(Simple(words, text, moved=moved), facts, findings, depth + 1)
        for line in sight.lines:
            if depth < NESTING:
                self._line(line, facts, findings, depth + 1, moved=moved)
            else:
                findings.append(Finding("line", line[:200], "ask", "it is nested too deep", basis="guard"))

    def _decide(self, simple: Simple, sight: "Sight", facts: Facts) -> Finding:
        """Say what the rules and the guards say to one simple command itself."""
        words = simple.words

        def say(kind: "Kind", reason: str, rule: Rule | None = None, basis: "Basis" = "guard") -> Finding:
            texts = tuple(word.text for word in words)
            return Finding("command", simple.text, kind, reason, words=texts, rule=rule, basis=basis)

        if harm := harms(words, facts.kin):
            return say("deny", f"it would end {harm}")
        found = self._index.find(words, (words, *alternatives(words)), plainly=sight.need < 0)
        strict, perhaps, allowing = found.strict, found.perhaps, found.allowing
        if strict is not None and (strict.verdict == "deny" or perhaps is None or perhaps.verdict == "ask"):
            return say(strict.verdict, strict.reason or f"a rule says {strict.verdict}", strict, "rule")
        if perhaps is not None:
            return say(
                "ask", f"only the shell will know whether a rule says {perhaps.verdict} to it", perhaps
            )
        if words[0].text is None:
            return say("ask", "only the shell will know which program it is")
        elsewhere = simple.moved and _relative(words[0].text)
        for rule in allowing:
            reach = NEVER - 1 if rule.exact else len(rule.prefix) - 1
            if reach >= sight.need and not elsewhere:
                return say("allow", rule.reason or "a rule allows it", rule, "rule")
        if allowing:
            moved = "it may be another program: the directory has been changed"
            return say("ask", moved if elsewhere else sight.reason, allowing[0])
        if (sight.transparent or simple.neutral) and sight.need < 0:
            return say("allow", "it only sets the stage for other commands, which are judged")
        if sight.need >= 0 and sight.guard:
            return say("ask", sight.reason)
        return say("ask", "no rule matches", basis="none")

    def _write(self, write: "Write", facts: Facts, findings: list[Finding]) -> None:
        """Judge the target of a redirection; where it is not known, only a rule for all paths allows it."""
        word = write.word
        if word.text in _NOWHERE:
            return
        path = None if word.text is None else _absolute(word.text, None if write.moved else facts.cwd)
        # Where a link is on the way, two dots lead elsewhere than they say.
        known = path is not None and ".." not in (word.text or "").split("/")
        text = word.source if path is None else path
        covering = [rule for rule in self.rules if rule.write and rule.covers(path or "/")]
        for kind in reversed(KINDS):
            for rule in covering:
                if rule.verdict == kind and (kind != "allow" or known or "/" in rule.write):
                    reason = rule.reason or f"a rule says {kind} to writing there"
                    findings.append(Finding("write", text, rule.verdict, reason, rule=rule, basis="rule"))
                    return
            if (
                kind != "allow"
                and not known
                and any(rule.write and rule.verdict == kind for rule in self.rules)
            ):
                reason = "only the shell will know where it writes to"
                findings.append(Finding("write", text, "ask", reason, basis="guard"))
                return
        findings.append(Finding("write", text, "ask", "it writes to a file, and no rule allows that"))


def _relative(program: str) -> bool:
    return "/" in program and not program.startswith("/")


def _absolute(path: str, cwd: str | None) -> str | None:
    """Give a path absolute and without dots, as it is written; None if that cannot be known."""
    if not path.startswith("/"):
        if cwd is None:
            return None
        path = f"{cwd}/{path}"
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)
