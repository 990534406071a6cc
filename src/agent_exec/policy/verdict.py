"""What the judge says, of a whole and of its parts."""

from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_exec.model.choices import Basis, VerdictKind
    from agent_exec.policy.rule import Rule

KINDS = ("allow", "ask", "deny")
"""From the mildest to the strictest."""
_BASES = ("rule", "guard", "none")


class Finding(Value):
    """One thing that a command would do, and what is said to it.

    `what` is "command" (a simple command), "write" (the target of a
    redirection) or "line" (something of the line as a whole). `words` are its
    words, None for those that only the shell will know. `basis` says what
    decided: a "rule", a "guard" (what no rule may wave through), or "none"
    (no rule matches), in which case a face has its own default.
    """

    what: str
    text: str
    kind: "VerdictKind"
    reason: str
    words: "tuple[str | None, ...]" = ()
    rule: "Rule | None" = None
    basis: "Basis" = "none"


class Verdict(Value):
    """What is said to a command: the strictest of what is said to its parts.

    `kind`, `rule`, `reason` and `basis` are those of the finding that
    decided; `findings` are all of them, in the order of the line.
    """

    kind: "VerdictKind"
    rule: "Rule | None" = None
    reason: str = ""
    basis: "Basis" = "none"
    findings: tuple[Finding, ...] = ()

    @property
    def unmatched(self) -> bool:
        """True if it asks only because no rule says anything: a face has its own default for that."""
        return self.kind == "ask" and all(one.basis == "none" for one in self.findings if one.kind == "ask")


def strictest(findings: "Iterable[Finding]") -> Verdict:
    """Return the verdict on the whole; of equals the first that rests on a rule is named, or on a guard."""
    found = tuple(findings)
    kind: VerdictKind = max((one.kind for one in found), key=KINDS.index, default="ask")
    deciding = [one for one in found if one.kind == kind]
    if not deciding:
        return Verdict(kind, None, "there is no command in it")
    first = min(deciding, key=lambda one: _BASES.index(one.basis))
    return Verdict(kind, first.rule, first.reason, basis=first.basis, findings=found)
