"""The one way to open a gate: which rules and approval policy hold, and which facts of this machine count."""

import os

from agent_exec.places import CONFIG, config_file, config_place, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.model.identity import Ancestor
    from agent_exec.policy.facts import Facts
    from agent_exec.policy.policy import Policy
    from agent_exec.requests.arguments import Approver, Rules
    from agent_exec.requests.gate import Gate


class InForce:
    """The type of IN_FORCE."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "IN_FORCE"


IN_FORCE = InForce()
"""A sentinel for the user's own rules: the file that $AGENT_EXEC_RULES or the configuration file names, or
rules.toml in its place."""


def open_gate(
    rules: "Rules" = IN_FORCE, *, approver: "Approver | None" = None, approval: str | None = None
) -> "Gate":
    """Return the gate that commands pass before they start.

    `rules` are a file or a Policy; by default those in force, if there are
    any. With None no rules judge, whatever the user's say. The approval policy
    is `approval`, else $AGENT_EXEC_APPROVAL_POLICY (not with None), else what
    the file says, else "on-request". An "always" is added to the file, or to
    the user's own if rules in force are meant and there are none yet.
    """
    from agent_exec.requests.gate import Gate

    file = rules_file(rules)
    policy: Policy | None = None
    if rules is not None:
        approval = approval or approval_policy()
    if file is not None:
        from agent_exec.policy.policy import Policy
        from agent_exec.requests.rulefile import load_book

        book = load_book(file)
        policy = Policy(book.rules)
        approval = approval or book.approval
    elif rules is not None and not isinstance(rules, str | os.PathLike | InForce):
        policy = rules
    elif approval == "untrusted":  # an empty policy allows nothing, while without a policy nothing is judged
        from agent_exec.policy.policy import Policy

        policy = Policy()
    approval = approval or "on-request"
    files = rule_files(rules)
    if policy is None or not files:
        return Gate(policy, approver=approver, approval=approval)
    from agent_exec.requests.rulefile import add_rules

    return Gate(policy, approver=approver, approval=approval, remember=lambda more: add_rules(files[0], more))


def gate_for(command: "Sequence[str]", rules: "Rules" = IN_FORCE) -> "Gate | None":
    """Return the gate of one command; None, and nothing is loaded, if there is nothing to judge it by."""
    if dangerous_to_us(tuple(command)) or rules_file(rules) is not None or approval_policy():
        return open_gate(rules)
    return None


def approval_policy() -> str | None:
    """Return $AGENT_EXEC_APPROVAL_POLICY, which goes before what a file of rules says; None if unset."""
    return os.environ.get("AGENT_EXEC_APPROVAL_POLICY") or None


def rules_file(rules: "Rules" = IN_FORCE) -> str | None:
    """Return the file of these rules, None if there is none; a file that is named may be missing."""
    if isinstance(rules, InForce) or rules == "":
        usual = rules_place()
        named = os.environ.get("AGENT_EXEC_RULES") or _configured()
        return named or (usual if os.path.lexists(usual) else None)
    if rules is None or hasattr(rules, "judge"):
        return None
    if isinstance(rules, str | os.PathLike):
        return os.fspath(rules)
    from agent_exec.model.errors import InvalidArgument

    raise InvalidArgument(f"rules must be the path of a file of rules, a Policy, or None; got {rules!r}")


def _configured() -> str | None:
    """Return the file of rules that the configuration file names; None if there is none."""
    if config_file() is None:
        return None
    from agent_exec.requests.settings import settings

    found = settings()
    return None if found is None else found.rules


def rule_files(rules: "Rules" = IN_FORCE) -> list[str]:
    """Return the files that no command may change, since these rules are in them, or would be.

    The first has the rules; where the user's own are in force, the second is
    the configuration file, which can name others.
    """
    if isinstance(rules, InForce) or rules == "":
        found = [rules_file(rules) or rules_place(), config_file() or config_place()]
    else:
        file = rules_file(rules)
        found = [] if file is None else [file]
    return [os.path.abspath(file) for file in found]


def rules_place() -> str:
    """Return where the system keeps the user's own rules."""
    return place("rules.toml", *CONFIG)


_ENDING = tuple(
    "kill killall killall5 shutdown poweroff reboot halt telinit systemctl loginctl fuser".split()
)
"""How the words end that name a program which ends processes; an option may be joined before it."""
_LEVELS = frozenset("016sS")
"""Run levels in which the processes of users do not go on."""
_APART = str.maketrans({**dict.fromkeys("!#$%&()*+,./:;<=>?@[]^`{|}~", " "), **dict.fromkeys("'\"\\", "")})


def facts_here(
    command: "tuple[str, ...] | str",
    cwd: str | None = None,
    env_names: "Sequence[str]" = (),
    writes: "Sequence[str]" = (),
) -> "Facts":
    """Return the facts about a command that can matter for it."""
    from agent_exec.policy.facts import Facts

    ancestors: tuple[Ancestor, ...] = ()
    if dangerous_to_us(command):
        from agent_exec.host import own_processes

        ancestors = own_processes()
    text = command if isinstance(command, str) else " ".join(command)
    disguised = cwd is not None and "git" in text and _disguised(cwd)
    return Facts(cwd, ancestors, tuple(env_names), writes=tuple(writes), disguised=disguised)


def dangerous_to_us(command: "tuple[str, ...] | str") -> bool:
    """True if a command may end processes, of which ours must be known, or answer a person's question."""
    text = command if isinstance(command, str) else " ".join(command)
    names = text.translate(_APART).split()
    if any(name.endswith(_ENDING) for name in names) or "approvals" in names:
        return True
    return "init" in names and not _LEVELS.isdisjoint(names)


def _disguised(folder: str) -> bool:
    """True if git, searching from a folder upwards, finds a repository that is no `.git` first."""
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return False
        if all(os.path.lexists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs")):
            return True
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above
