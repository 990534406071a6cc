"""The gate before every run: judges a command, asks the approver if needed, and refuses with a reason."""

from agent_exec.model.errors import ApprovalRequired, CommandDenied, InvalidArgument
from agent_exec.model.value import Value
from agent_exec.requests.opening import dangerous_to_us, facts_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_exec.policy.facts import Facts
    from agent_exec.policy.policy import Policy
    from agent_exec.policy.rule import Rule
    from agent_exec.policy.verdict import Verdict
    from agent_exec.requests.arguments import Approver

ANSWERS = ("once", "session", "always", "no")
APPROVAL_POLICIES = ("never", "on-request", "untrusted")
UNMATCHED = ("run", "ask")
_MOST_VERDICTS = 64
"""How many verdicts a gate remembers: agents repeat their commands, and a policy judges them alike."""


class Request(Value):
    """A request to an approver: the command, its folder, the reason, and the rules that "always" would add.

    `rules` is empty if no rule could allow it: "always" is then for this
    session. `env_names` are the names of the variables set for the command,
    `stdin` is its input: with either, an approval is for this `once`, since
    they may differ the next time. `escalated` means that the command would
    leave the sandbox; the verdict's reason is then the caller's text.
    """

    command: "tuple[str, ...] | str"
    cwd: str | None
    verdict: "Verdict"
    rules: "tuple[Rule, ...]"
    env_names: "tuple[str, ...]" = ()
    stdin: bytes = b""
    escalated: bool = False
    once: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "once", self.once or bool(self.env_names or self.stdin))


class Gate:
    """Lets a command pass, or raises CommandDenied or ApprovalRequired.

    `policy` None lets every command pass that does not end our own processes.
    `unmatched` decides about a command that no rule matches: "run" or "ask".
    `approval` is "never" (the approver is not asked), "on-request" (it is if
    the verdict is "ask") or "untrusted" (it is if no rule allows the command,
    whatever `unmatched` says). `remember` saves rules for an "always".
    """

    __slots__ = ("_approved", "_approver", "_policy", "_remember", "_verdicts", "approval", "unmatched")

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
        self._verdicts: dict[tuple[tuple[str, ...] | str, Facts], Verdict] = {}
        self.approval = approval
        self.unmatched = unmatched

    @property
    def can_ask(self) -> bool:
        """True if there is an approver that can answer."""
        return self._approver is not None and bool(getattr(self._approver, "reachable", True))

    def ask(
        self,
        command: "Sequence[str] | str",
        cwd: str | None,
        reason: str,
        grant: "tuple[str, ...] | None" = None,
    ) -> None:
        """Ask whether a command may leave the sandbox; raise ApprovalRequired if it is not approved.

        No rule allows that. An approval for longer than once is for exactly
        the words `grant` (from `leaving.standing`) in this folder, as long as
        this gate exists; without them it is for one time. A method `left` of
        the approver is called for every command that leaves.
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
        env_names: "Sequence[str]" = (),
        proposed: "Sequence[str] | None" = None,
        stdin: bytes = b"",
        writes: "Sequence[str]" = (),
    ) -> "Verdict | None":
        """Let a command pass, and return the verdict; None if it was not judged.

        `env_names` are the names of the variables set for it, `stdin` is its
        input, if known, `proposed` the prefix of a rule that would allow it,
        which the approver is offered. `writes` are files that it is known to
        write, to which rules about writing apply too.
        """
        asked = command if isinstance(command, str) else tuple(command)
        if self._policy is None and not dangerous_to_us(asked):
            return None
        facts = facts_here(asked, cwd, env_names, writes)
        verdict = self.judge(asked, facts)
        outcome = self.outcome(verdict)
        if outcome == "run":
            return verdict
        if verdict.kind == "deny":
            raise CommandDenied(
                f"the policy denies this command: {verdict.reason}; do without it, or have the rule changed",
                **_details(verdict),
            )
        from agent_exec.policy.proposal import propose

        rules = self._widening(asked, facts, proposed) or propose(verdict)
        request = Request(asked, cwd, verdict, rules, env_names=tuple(env_names), stdin=stdin)
        self._ask(request, ("inside", asked, cwd))
        return verdict

    def judge(self, asked: "tuple[str, ...] | str", facts: "Facts") -> "Verdict":
        """Return the verdict of the policy on a command, by no rules if there is no policy."""
        from agent_exec.policy.policy import Policy

        verdicts, policy = self._verdicts, self._policy or Policy()
        verdict = verdicts.get((asked, facts)) or policy.judge(asked, facts)
        if type(policy) is Policy:  # another may read files, which change
            if len(verdicts) >= _MOST_VERDICTS:
                verdicts.clear()
            verdicts[asked, facts] = verdict
        return verdict

    def outcome(self, verdict: "Verdict") -> str:
        """Return what a verdict comes to: "run", "refuse", or "ask", which needs an approver."""
        if verdict.kind == "deny":
            return "refuse"
        if verdict.kind == "allow" or self._policy is None:
            return "run"
        if verdict.unmatched and self.unmatched == "run" and self.approval != "untrusted":
            return "run"
        return "refuse" if self.approval == "never" else "ask"

    def _widening(
        self, asked: "tuple[str, ...] | str", facts: "Facts", proposed: "Sequence[str] | None"
    ) -> "tuple[Rule, ...]":
        """Return the proposed rule, if it is not too broad and would allow the whole command."""
        from agent_exec.policy.policy import Policy
        from agent_exec.policy.proposal import broad
        from agent_exec.policy.rule import Rule

        if not proposed or broad(tuple(proposed)):
            return ()
        rule = Rule(proposed, "allow")
        widened = (self._policy or Policy()).with_rules([rule]).judge(asked, facts)
        return (rule,) if widened.kind == "allow" else ()

    def _ask(self, request: Request, known: "tuple[str, object, str | None]") -> None:
        """Ask the approver; raise if the answer is no. An approval is remembered by the key `known`."""
        verdict, rules = request.verdict, request.rules
        if known in self._approved and not request.once:
            return
        what = "running it outside of the sandbox" if request.escalated else "this command"
        why = f"{what} needs approval: {sentence(verdict.reason)}"
        try:
            answer = self._answer(request)
        except ApprovalRequired as error:  # no answer came
            raise ApprovalRequired(f"{why} {error.message}; {_way(request)}", **_details(verdict)) from None
        if answer not in ANSWERS:
            raise InvalidArgument(f"an approver must answer one of {', '.join(ANSWERS)}; got {answer!r}")
        if answer == "no":
            details = {**_details(verdict), "answer": answer}
            raise ApprovalRequired(f"{why} It was asked for, and the answer was no", **details)
        if answer == "always" and rules and self._remember is not None:
            policy = self._remember(rules)  # read again, and as strict as before
            strict = [one for one in (self._policy or policy).rules if one.verdict != "allow"]
            self._policy = policy.with_rules([one for one in strict if one not in policy.rules])
            self._verdicts = {}
        if answer in ("session", "always") and not request.once:
            self._approved.add(known)

    def _answer(self, request: Request) -> str:
        """Return the answer of the approver; raise ApprovalRequired with the reason if there is none."""
        if self.approval == "never":
            raise ApprovalRequired("The approval policy is never, so no approver was asked")
        if self._approver is None or not self.can_ask:
            raise ApprovalRequired(getattr(self._approver, "unreachable", "There is no approver to ask here"))
        return self._approver(request)


def sentence(text: str) -> str:
    """Return a text with a full stop, unless it ends as a sentence does."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _way(request: Request) -> str:
    """Return the next step: how the operator could allow the command."""
    if request.escalated:
        return "work within the sandbox, or have the operator allow more by --sandbox or --workspace"
    rule = request.verdict.rule
    if not request.rules and rule is not None and rule.source:
        return f"allow it by a rule: the one that asks is at {rule.source}"
    if not request.rules:
        return "allow it by a rule"
    from agent_exec.policy.rulebook import write

    return "allow it by a rule, such as\n" + "\n".join(map(write, request.rules)).rstrip()


def _details(verdict: "Verdict") -> "dict[str, object]":
    details: dict[str, object] = {"verdict": verdict.kind, "reason": verdict.reason}
    if verdict.rule is not None:
        details["rule"] = verdict.rule.source or list(verdict.rule.prefix)
    return details
