"""The lists of commands, as one policy, and whether they allow a command."""

from agent_exec.faces.executor.argv_semantics import removes_root, runs_shell_line
from agent_exec.faces.executor.errors import COMMAND_BLACKLISTED, COMMAND_NOT_WHITELISTED
from agent_exec.faces.executor.result import CommandValidationResult
from agent_exec.model.errors import InvalidArgument
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from agent_exec.policy.shell.word import known
from agent_exec.policy.verdict import Finding, strictest
from agent_exec.requests.here import facts_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent_exec.model.choices import VerdictKind
    from agent_exec.policy.facts import Facts
    from agent_exec.policy.verdict import Verdict

WHITELIST = (
    *("ls", "find", "dir"),
    *("cat", "head", "tail", "less", "more"),
    *("mkdir", "touch", "rm", "rmdir", "cp", "mv"),
    "git",
    *("npm", "yarn", "pnpm"),
    *("node", "python", "python3"),
    *("grep", "sed", "awk", "sort", "uniq", "wc"),
    *("pwd", "whoami", "echo", "date"),
)

BLACKLIST = (
    *("sudo", "su"),
    "rm -rf /",
    *("curl", "wget", "nc", "telnet"),
    *("eval", "exec", "bash -c"),
    *("dd", "mkfs"),
    *("kill", "killall"),
    *("shutdown", "reboot"),
)

_BLANKS = " \t\r\n"
_NOT_WHITELISTED = "Command not in whitelist"
_VALID = CommandValidationResult(True)


class CommandLists(Policy):
    """A whitelist and a blacklist; the blacklist is stronger.

    An entry is a name, or a name and the words that must follow it; upper
    and lower case are the same. A whitelisted name is not a path: whoever may
    write a file could call it `ls`. A blacklisted name is one under any path.

    An entry of the blacklist also stands for what means the same. With
    "rm -rf /" nobody may remove the root recursively, however that is
    written; with "bash -c" no shell may be given a line to run.

    This is a guard rail and no sandbox: whoever may start an interpreter, or
    anything that starts others, can do all that this user can.
    """

    __slots__ = ("_root", "_shells")

    def __init__(
        self, whitelist: "Iterable[str]" = WHITELIST, blacklist: "Iterable[str]" = BLACKLIST
    ) -> None:
        allowed = _entries("whitelist", whitelist)
        denied = _entries("blacklist", blacklist)
        super().__init__([*_rules(denied, "deny"), *_rules(allowed, "allow")])
        self._root = next((words for words in denied if removes_root(words, "/")), None)
        self._shells = next((words for words in denied if runs_shell_line(words)), None)

    def with_rules(self, rules: "Sequence[Rule]") -> "CommandLists":
        """Return lists with further rules after these."""
        more = CommandLists((), ())
        Policy.__init__(more, (*self.rules, *rules))
        more._root, more._shells = self._root, self._shells
        return more

    def judge(self, command: "Sequence[str] | str", facts: "Facts | None" = None) -> "Verdict":
        """Judge an argument vector, or a shell line, by what the lists say and what they mean."""
        verdict = super().judge(command, facts)
        cwd = None if facts is None else facts.cwd
        meant = [
            Finding("command", one.text, "deny", reason, words=one.words, basis="rule")
            for one in verdict.findings
            if one.kind != "deny" and (reason := self._meaning(one.words, cwd))
        ]
        return strictest((*verdict.findings, *meant)) if meant else verdict

    def _meaning(self, words: "Sequence[str | None]", cwd: str | None) -> str:
        """Return which entry of the blacklist this command means; nothing if none."""
        if self._root is not None and removes_root(words, cwd):
            return f"it removes the root folder, and {' '.join(self._root)} is blacklisted"
        if self._shells is not None and runs_shell_line(words):
            return f"it gives a shell a line to run, and {' '.join(self._shells)} is blacklisted"
        return ""


def _rules(entries: "list[list[str]]", verdict: "VerdictKind") -> "Iterator[Rule]":
    """Return the rules of a list: one for all plain names, which matches faster, one for each other."""
    names = [words[0] for words in entries if len(words) == 1]
    reason = "it is blacklisted" if verdict == "deny" else ""
    if names:
        yield Rule([names], verdict, reason=reason, folded=True)
    for words in entries:
        if len(words) > 1:
            yield Rule(words, verdict, reason=reason, folded=True)


def _entries(name: str, entries: "Iterable[str]") -> "list[list[str]]":
    if isinstance(entries, str):
        raise InvalidArgument(f"{name} must be a list of commands; got the text {entries!r}")
    found = list(entries)
    for entry in found:
        if not isinstance(entry, str) or not entry.split():
            raise InvalidArgument(f"an entry of the {name} must name a command; got {entry!r}")
    return [entry.split() for entry in found]


DEFAULT_LISTS = CommandLists()
"""The lists of the contract."""


def checked(command: object, args: "Iterable[str] | None") -> "tuple[str, tuple[str, ...]]":
    """Return the command and its arguments; raise InvalidArgument unless all are text."""
    if not isinstance(command, str):
        raise InvalidArgument(f"command must be text, the name of a program; got {command!r}")
    listed = args is None or (hasattr(args, "__iter__") and not isinstance(args, str | bytes))
    words = tuple(args or ()) if listed else ()
    if not listed or any(not isinstance(word, str) for word in words):
        raise InvalidArgument(f"args must be a list of text, such as ['-l', 'src']; got {args!r}")
    return command, words


def validate(
    command: str, args: "tuple[str, ...]", policy: "Policy", cwd: str | None, *, guards: bool
) -> "tuple[CommandValidationResult, tuple[str, ...]]":
    """Return whether the policy allows a command in this folder, and the words that run.

    A command with blanks is split as a shell would, and nothing in it is
    expanded. The words that run are the words that are judged.
    """
    words = (command, *args)
    if any(blank in command for blank in _BLANKS):
        import shlex

        try:
            words = (*shlex.split(command), *args)
        except ValueError as error:
            return _refusal(f"{_NOT_WHITELISTED}: it cannot be read, {error}", str(error)), ()
    if not words or not words[0]:
        return _refusal(_NOT_WHITELISTED, "there is no command in it"), words
    verdict = policy.judge(words, facts_here(words, cwd))
    for one in verdict.findings:
        if one.kind == "deny":
            return _refusal("Command is blacklisted", one.reason or one.text, COMMAND_BLACKLISTED), words
    if not _listed(words, verdict, policy):
        return _refusal(_NOT_WHITELISTED, f"{words[0]} is not whitelisted"), words
    for one in verdict.findings if guards else ():
        if one.kind != "allow":
            why = f"{one.text}: {one.reason}"
            return _refusal(f"{_NOT_WHITELISTED}: {why}", why), words
    return _VALID, words


def _refusal(error: str, reason: str, code: str = COMMAND_NOT_WHITELISTED) -> CommandValidationResult:
    return CommandValidationResult(False, error, code, reason)


def _listed(words: "tuple[str, ...]", verdict: "Verdict", policy: "Policy") -> bool:
    """True if a rule allows the command itself, which is the first finding."""
    first = verdict.findings[0]
    is_path = "/" in words[0] or "\\" in words[0]
    if first.kind == "allow" and first.rule is not None and not is_path:
        return True
    if first.kind == "ask" and first.basis != "guard":
        return False
    # A guard says nothing about the lists, and may stand where the rule would be named.
    asked = known(words)
    return any(
        rule.verdict == "allow" and (not is_path or _writes(rule, words[0])) and rule.matches(asked)
        for rule in policy.rules
    )


def _writes(rule: "Rule", path: str) -> bool:
    """True if a rule names this path, or matches every command."""
    if not rule.prefix:
        return True
    token = rule.prefix[0]
    return path in ((token,) if isinstance(token, str) else token)
