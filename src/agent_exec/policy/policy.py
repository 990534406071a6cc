"""The judge: finds all that a command would do, and returns the strictest of the verdicts on its parts."""

from collections.abc import Sequence

from agent_exec.model.errors import InvalidArgument
from agent_exec.policy.facts import Facts
from agent_exec.policy.programs import writes
from agent_exec.policy.programs.effects import EXACT, Effects, name_of
from agent_exec.policy.programs.inspect import alternatives, inspect
from agent_exec.policy.programs.self_approval import self_approval
from agent_exec.policy.programs.self_kill import self_kill
from agent_exec.policy.rule import Rule
from agent_exec.policy.shell.parsed_line import Reading, Simple, Write
from agent_exec.policy.shell.word import Word, base, known, plain
from agent_exec.policy.variables import dangerous, harmless
from agent_exec.policy.verdict import KINDS, Finding, Verdict, strictest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.choices import Basis, VerdictKind

NESTING = 8
"""A command that runs a command that runs a command …: deeper ones are not inspected."""
MOST = 2000
"""A line with more commands than this is not judged one by one."""
_NOWHERE = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2")


class _Course:
    """The findings while a command is judged, in the order in which they would happen.

    `files` are the files written so far, `names` their last parts, `given`
    the variables that programs may be given, `reads` a command that would run
    the value of any of those. `against` is a rule that asks about or denies
    what the text of the command names.
    """

    def __init__(self, facts: Facts, against: Rule | None) -> None:
        self.facts = facts
        self.against = against
        self.findings: list[Finding] = []
        self.files: list[Word] = []
        self.names: set[str] = set()
        self.given: list[str] = []
        self.reads: Simple | None = None

    def ask(self, text: str, reason: str) -> None:
        """Add a finding that no rule may allow."""
        self.findings.append(Finding("line", text[:200], "ask", reason, basis="guard"))

    def write(self, words: Sequence[Word]) -> None:
        """Note files that are written."""
        self.files += words
        self.names.update(base(word.text) for word in words if word.text is not None)


class Policy:
    """Rules, and verdicts by them: deny before ask before allow, and ask if no rule matches.

    A rule that allows makes no verdict stricter. Guards keep what a rule asks
    about or denies from being passed by: if all rules allow, what a guard asks
    about is like what no rule matches. A policy never changes; `with_rules`
    returns a new one.
    """

    __slots__ = ("_places", "_strict", "rules")

    def __init__(self, rules: Sequence[Rule] = ()) -> None:
        self.rules = tuple(rules)
        for rule in self.rules:
            if not isinstance(rule, Rule):
                raise InvalidArgument(f"rules must be a list of Rule(prefix, verdict); got {rule!r}")
        self._strict = tuple(rule for rule in self.rules if rule.verdict != "allow")
        self._places: dict[str, list[int]] = {}  # of rules, by the names of their programs
        for place, rule in enumerate(self.rules):
            first = rule.prefix[0] if rule.prefix else ""
            for name in {first} if isinstance(first, str) else set(first):
                self._places.setdefault(name.casefold(), []).append(place)

    def with_rules(self, rules: Sequence[Rule]) -> "Policy":
        """Return a policy with further rules after these."""
        return Policy((*self.rules, *rules))

    def judge(self, command: Sequence[str] | str, facts: Facts | None = None) -> Verdict:
        """Return the verdict on an argument vector, or on a shell line if it is one text.

        It holds for exactly these words or this line.
        """
        text = command if isinstance(command, str) else " ".join(map(str, command))
        against = next((rule for rule in self._strict if rule.named_in(text)), None)
        course = _Course(Facts() if facts is None else facts, against)
        if isinstance(command, str):
            self._line(command, course, 0)
        else:
            texts = tuple(command)
            strange = [text for text in texts if not isinstance(text, str)]
            if strange:
                raise InvalidArgument(
                    f"a command is a list of texts, or one shell line; got {strange[0]!r} in it"
                )
            if texts:
                self._simple(Simple(known(texts)), course, 0)
        for path in course.facts.writes:
            self._write(Write(Word(path), moved=False), course, named=True)
        for name in course.facts.env_names:
            if dangerous(name):
                course.ask(name, f"it is given {name}, which changes what commands do")
        given = [*course.given, *(name for name in course.facts.env_names if not harmless(name))]
        if course.reads is not None and given:
            name = name_of(course.reads.words)
            course.ask(course.reads.text, f"it is given {given[0]}, which {name} may run")
        if not self._strict:
            return strictest(
                one.replace(basis="none") if one.kind == "ask" else one for one in course.findings
            )
        return strictest(course.findings)

    def _line(self, line: str, course: _Course, depth: int, *, moved: bool = False) -> None:
        from agent_exec.policy.shell.line import read  # it loads a grammar

        reading = read(line)
        if reading.moved and _stays(reading, course.facts.cwd):
            reading.mark(moved=False)
        course.given += reading.sets
        course.names.update(base(write.word.text) for write in reading.writes if write.word.text is not None)
        if reading.repeats:
            for simple in reading.simples:
                course.write(writes.written(simple.words))
        pending = list(reading.writes)
        for at, simple in enumerate(reading.simples):
            while pending and (reading.repeats or pending[0].after <= at):
                course.write([pending.pop(0).word])
            simple.moved = simple.moved or moved
            self._simple(simple, course, depth)
        course.write([write.word for write in pending])
        for write in reading.writes:
            write.moved = write.moved or moved
            self._write(write, course)
        for reason, text in reading.doubts:
            course.ask(text or line, reason)
        if not reading.simples and not reading.writes and not reading.doubts:
            course.findings.append(Finding("line", line[:200], "allow", "it runs nothing", basis="guard"))

    def _simple(self, simple: Simple, course: _Course, depth: int) -> None:
        """Judge one simple command, and then what it runs in turn."""
        findings = course.findings
        if len(findings) > MOST or depth > NESTING:
            course.ask(simple.text, "it is too much to be judged")
            return
        effects = inspect(simple.words)
        findings.append(self._decide(simple, effects, course))
        self._effects(simple, effects, course)
        if name := next(filter(dangerous, effects.sets), None):
            course.ask(simple.text, f"it sets {name}, which changes what commands do")
        moved = simple.moved or effects.moved
        for words in filter(None, effects.named):
            found = self._decide(Simple(words), inspect(words), course)
            if found.kind == "deny" or (found.kind == "ask" and found.basis == "rule"):
                findings.append(found)
        for words in effects.inner:
            self._simple(Simple(words, moved=moved), course, depth + 1)
        for line in effects.lines:
            if depth < NESTING:
                self._line(line, course, depth + 1, moved=moved)
            else:
                course.ask(line, "it is nested too deep")

    def _effects(self, simple: Simple, effects: Effects, course: _Course) -> None:
        """Note what a command writes, and ask if it runs what was written or set before it."""
        words = simple.words
        course.given += effects.given
        if course.reads is None and writes.reads_variables(words):
            course.reads = simple
        loose = any(word.text is None for word in course.files)
        suspect = course.files and (
            (writes.runs_folder(words) and not all(map(writes.inert, course.files)))
            or (name_of(words) == "git" and any(map(writes.of_git, course.files)))
        )
        if suspect or writes.runs_written(words, effects, course.names, loose):
            course.ask(simple.text, "it runs what it has just written")
        for word in (files := writes.written(words)):
            self._write(Write(word, moved=simple.moved), course, named=True)
        course.write(files)

    def _decide(self, simple: Simple, effects: Effects, course: _Course) -> Finding:
        """Return the finding of the rules and the guards on one simple command itself."""
        words, facts = simple.words, course.facts

        def say(
            kind: "VerdictKind", reason: str, rule: Rule | None = None, basis: "Basis" = "guard"
        ) -> Finding:
            texts = tuple(word.text for word in words)
            return Finding("command", simple.text, kind, reason, words=texts, rule=rule, basis=basis)

        if harm := self_kill(words, facts.ancestors):
            return say("deny", f"it would end {harm}")
        if self_approval(words):
            return say("deny", "it would answer a question that is put to a person")
        forms = (words, *alternatives(words))
        against: list[Rule] = []
        doubtful: list[Rule] = []
        allowing: list[Rule] = []
        for rule in self._about(words[0].text):
            fits = {rule.matches(form) for form in forms}
            if rule.verdict == "allow":
                if rule.matches(words) or (effects.need < 0 and rule.matches(forms[-1])):
                    allowing.append(rule)
            elif True in fits:
                against.append(rule)
            elif None in fits:
                doubtful.append(rule)
        strict = max(against, key=_strictness, default=None)
        perhaps = max(doubtful, key=_strictness, default=None)
        if strict is not None and (strict.verdict == "deny" or perhaps is None or perhaps.verdict == "ask"):
            return say(strict.verdict, strict.reason or f"a rule says {strict.verdict}", strict, "rule")
        if perhaps is not None:
            return say(
                "ask", f"only the shell will know whether a rule says {perhaps.verdict} to it", perhaps
            )
        if words[0].text is None:
            return say("ask", "only the shell will know which program it is")
        repository = name_of(words) == "git" and (simple.moved or facts.disguised)
        elsewhere = repository or (simple.moved and _relative(words[0].text))
        for rule in allowing:
            reach = EXACT if rule.exact else len(rule.prefix) - 1
            if reach >= effects.need and not elsewhere:
                return say("allow", rule.reason or "a rule allows it", rule, "rule")
        if (effects.transparent or simple.neutral) and effects.need < 0:
            return say("allow", "it only sets the stage for other commands, which are judged")
        if effects.need >= 0 and effects.guard:
            return say("ask", effects.reason)
        if effects.need >= 0 and effects.code and course.against is not None:
            return say("ask", f"{effects.reason}, and it names what a rule says {course.against.verdict} to")
        if not allowing:
            return say("ask", "no rule matches", basis="none")
        reason = effects.reason
        if elsewhere:
            reason = "it may be another program: the directory has been changed"
            if repository:
                reason = "git may find another repository there, and run what that is set up to run"
        return say(
            "ask", f"{reason}; the rule that allows {name_of(words)} does not reach that far", basis="none"
        )

    def _about(self, program: str | None) -> Sequence[Rule]:
        """Return the rules that may be about a program, in order; all if it is unknown."""
        if program is None:
            return self.rules
        names = {"", program.casefold(), base(program).casefold(), plain(program).casefold()}
        places = {place for name in names for place in self._places.get(name, ())}
        return [self.rules[place] for place in sorted(places)]

    def _write(self, write: Write, course: _Course, *, named: bool = False) -> None:
        """Judge the target of a redirection; where it is not known, only a rule for all paths allows it.

        `named` is a file that a command writes by itself: only what rules say
        against writing there counts, for the command has its own rule.
        """
        word, findings = write.word, course.findings
        if word.text in _NOWHERE:
            return
        path = None if word.text is None else _absolute(word.text, None if write.moved else course.facts.cwd)
        # Where a link is on the way, two dots lead elsewhere than they say.
        certain = path is not None and ".." not in (word.text or "").split("/")
        text = word.source if path is None else path
        covering = [rule for rule in self.rules if rule.write and rule.covers(path or "/")]
        for kind in reversed(KINDS):
            for rule in covering:
                if rule.verdict == kind and (kind != "allow" or certain or "/" in rule.write):
                    reason = rule.reason or f"a rule says {kind} to writing there"
                    findings.append(Finding("write", text, rule.verdict, reason, rule=rule, basis="rule"))
                    return
            elsewhere = any(rule.write and rule.verdict == kind for rule in self.rules)
            if kind != "allow" and not certain and elsewhere:
                reason = "only the shell will know where it writes to"
                findings.append(Finding("write", text, "ask", reason, basis="guard"))
                return
        if not named:
            findings.append(Finding("write", text, "ask", "it writes to a file, and no rule allows that"))


def _strictness(rule: Rule) -> int:
    return KINDS.index(rule.verdict)


def _stays(reading: Reading, cwd: str | None) -> bool:
    """True if every change of the directory is one to where it is already."""
    return cwd is not None and all(place in (cwd, ".") for place in reading.places)


def _relative(program: str) -> bool:
    return "/" in program and not program.startswith("/")


def _absolute(path: str, cwd: str | None) -> str | None:
    """Return a path absolute and without dots, as it is written; None if that cannot be known."""
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
