"""The gate before every run: judges a command, asks who may approve it, and refuses with a reason."""

from agent_exec.model.errors import ApprovalRequired, CommandDenied, InvalidArgument
from agent_exec.requests.here import dangerous_to_us, facts_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Protocol

    from agent_exec.policy.facts import Facts
    from agent_exec.policy.policy import Policy
    from agent_exec.policy.rule import Rule
    from agent_exec.policy.verdict import Verdict

    class Approver(Protocol):
        """Someone who can be asked; one who may be away has a property `reachable` that says so."""

        def __call__(self, request: "Request", /) -> str:
            """Say yes ("once", "session", "always") or "no"."""


ANSWERS = ("once", "session", "always", "no")
APPROVAL_POLICIES = ("never", "on-request", "untrusted")
UNMATCHED = ("run", "ask")


class Request:
    """What an approver is asked: the command, where, why, and which rules "always" would write down.

    `rules` is empty when no rule could allow it: "always" is then for this
    session. `sets` are the names of the variables that are set for it, `fed`
    is what it is given to read: with either, a yes is for this `once`, for the
    next time they may be others. `escalated` is asked for what leaves the
    sandbox; the verdict's reason is then in the words of the caller.
    """

    __slots__ = ("command", "cwd", "escalated", "fed", "once", "rules", "sets", "verdict")

    def __init__(
        self,
        command: "tuple[str, ...] | str",
        cwd: str | None,
        verdict: "Verdict",
        rules: "tuple[Rule, ...]",
        *,
        sets: "tuple[str, ...]" = (),
        fed: bytes = b"",
        escalated: bool = False,
        once: bool = False,
    ) -> None:
        self.command = command
        self.cwd = cwd
        self.verdict = verdict
        self.rules = rules
        self.sets = sets
        self.fed = fed
        self.escalated = escalated
        self.once = once or bool(sets or fed)


class Gate:
    """Lets a command pass, or raises CommandDenied or ApprovalRequired.

    `policy` None lets everything pass but harm to ourselves. `unmatched`
    says what becomes of a command that no rule knows: "run" or "ask".
    `approval` is "never" (nobody is asked), "on-request" (what asks is asked)
    or "untrusted" (what no rule allows is asked, whatever `unmatched` says).
    `remember` writes rules down for an "always".
    """

    __slots__ = ("_approved", "_approver", "_policy", "_remember", "approval", "unmatched")

    def __init__(
        self,
        policy: "Policy | None" = None,
        *,
        approver: "Approver | None" = None,
        approval: str = "on-request",
        unmatched: str = "run",
        remember: "Callable[[Sequence[Rule]], Policy] | None" = None,
    ) -> None:
        if approval not in APPROVAL_POLICIES:
            raise InvalidArgument(
                f"approval_policy must be one of {', '.join(APPROVAL_POLICIES)}; got {approval!r}"
            )
        if unmatched not in UNMATCHED:
            raise InvalidArgument(f"unmatched must be one of {', '.join(UNMATCHED)}; got {unmatched!r}")
        self._policy = policy
        self._approver = approver
        self._remember = remember
        self._approved: set[tuple[str, object, str | None]] = set()
        self.approval = approval
        self.unmatched = unmatched

    @property
    def can_ask(self) -> bool:
        """Whether there is somebody to be asked."""
        return self._approver is not None and bool(getattr(self._approver, "reachable", True))

    def ask(
        self,
        command: "Sequence[str] | str",
        cwd: str | None,
        reason: str,
        grant: "tuple[str, ...] | None" = None,
    ) -> None:
        """Ask whether a command may leave the sandbox; raise if nobody says yes.

        No rule allows that. A yes for longer than once is for the words
        `grant` in this folder, compared word for word (`leaving.standing`
        gives them), until this gate is gone; without them it is asked for
        each time. An approver with a method `left` hears of all that leaves.
        """
        from agent_exec.policy.verdict import Verdict

        asked = command if isinstance(command, str) else tuple(command)
        request = Request(asked, cwd, Verdict("ask", reason=reason), (), escalated=True, once=grant is None)
        self._ask(request, ("outside", grant, cwd))
        left = getattr(self._approver, "left", None)
        if left is not None:
            left(request)

    def admit(
        self,
        command: "Sequence[str] | str",
        cwd: str | None = None,
        sets: "Sequence[str]" = (),
        proposed: "Sequence[str] | None" = None,
        fed: bytes = b"",
        writes: "Sequence[str]" = (),
    ) -> "Verdict | None":
        """Let a command pass, and give the verdict; None if nothing was to be judged.

        `sets` are the names of the variables that are set for it, `fed` is
        its input, if that is known, `proposed` the words of a rule that would
        allow it, if the approver agrees. `writes` are files that it is
        known to write, which the rules about writing judge too.
        """
        asked = command if isinstance(command, str) else tuple(command)
        if self._policy is None and not dangerous_to_us(asked):
            return None
        from agent_exec.policy.policy import Policy

        facts = facts_here(asked, cwd, sets, writes)
        policy = self._policy or Policy()
        verdict = policy.judge(asked, facts)
        if verdict.kind == "deny":
            raise CommandDenied(
                f"the policy denies this command: {verdict.reason}; do without it, or have the rule changed",
                **_told(verdict),
            )
        if verdict.kind == "allow" or self._policy is None:
            return verdict
        if verdict.unmatched and self.unmatched == "run" and self.approval != "untrusted":
            return verdict
        from agent_exec.policy.proposal import propose

        rules = self._widening(asked, facts, proposed) or propose(verdict)
        request = Request(asked, cwd, verdict, rules, sets=tuple(sets), fed=fed)
        self._ask(request, ("inside", asked, cwd))
        return verdict

    def _widening(
        self, asked: "tuple[str, ...] | str", facts: "Facts", proposed: "Sequence[str] | None"
    ) -> "tuple[Rule, ...]":
        """Give the rule that was proposed, if it is not too broad and would allow all of the command."""
        from agent_exec.policy.policy import Policy
        from agent_exec.policy.proposal import broad

        if not proposed or broad(tuple(proposed)):
            return ()
        from agent_exec.policy.rule import Rule

        rule = Rule(proposed, "allow")
        widened = (self._policy or Policy()).with_rules([rule]).judge(asked, facts)
        return (rule,) if widened.kind == "allow" else ()

    def _ask(self, request: Request, known: "tuple[str, object, str | None]") -> None:
        """Ask the approver; raise if the answer is no. `known` is what a yes is remembered for."""
        verdict, rules = request.verdict, request.rules
        if known in self._approved and not request.once:
            return
        why = f"this command needs approval: {verdict.reason}"
        if self.approval == "never":
            raise ApprovalRequired(
                f"{why}. The approval policy is never, so nobody was asked; {_way(rules, verdict)}",
                **_told(verdict),
            )
        if self._approver is None or not self.can_ask:
            raise ApprovalRequired(
                f"{why}. Nobody can be asked here: there is no approver; {_way(rules, verdict)}",
                **_told(verdict),
            )
        answer = self._approver(request)
        if answer not in ANSWERS:
            raise InvalidArgument(f"an approver must answer one of {', '.join(ANSWERS)}; got {answer!r}")
        if answer == "no":
            raise ApprovalRequired(f"{why}. It was asked for, and the answer was no", **_told(verdict))
        if answer == "always" and rules and self._remember is not None:
            self._policy = _as_strict(self._remember(rules), self._policy)
        if answer in ("session", "always") and not request.once:
            self._approved.add(known)


def _as_strict(policy: "Policy", before: "Policy | None") -> "Policy":
    """Give a policy that was read again, with all that asked or denied before: a yes takes no no away."""
    if before is None:
        return policy
    known = policy.rules
    return policy.with_rules([one for one in before.rules if one.verdict != "allow" and one not in known])


def _way(rules: "tuple[Rule, ...]", verdict: "Verdict") -> str:
    """Say how what nobody can be asked for could be allowed."""
    if not rules and verdict.rule is not None and verdict.rule.source:
        return f"allow it by a rule: the one that asks is at {verdict.rule.source}"
    if not rules:
        return "allow it by a rule"
    from agent_exec.policy.rulebook import write

    return "allow it by a rule, such as\n" + "\n".join(map(write, rules)).rstrip()


def _told(verdict: "Verdict") -> "dict[str, object]":
    told: dict[str, object] = {"verdict": verdict.kind, "reason": verdict.reason}
    if verdict.rule is not None:
        told["rule"] = verdict.rule.source or list(verdict.rule.prefix)
    return told
