"""The lists of commands, as one policy: what is allowed by name, and what is never allowed."""

from agent_exec.faces.executor.argv_semantics import removes_root, runs_shell_line
from agent_exec.model.errors import InvalidArgument
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from agent_exec.policy.verdict import Finding, strictest

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
