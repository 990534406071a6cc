"""The lists of commands, as one policy; what a command means by them, and whether it is allowed."""

import os

from agent_exec.faces.executor.errors import COMMAND_BLACKLISTED, COMMAND_NOT_WHITELISTED
from agent_exec.faces.executor.result import CommandValidationResult
from agent_exec.model.errors import InvalidArgument
from agent_exec.policy.policy import Policy
from agent_exec.policy.programs.wrappers import SHELLS
from agent_exec.policy.rule import Rule
from agent_exec.policy.shell.word import known, plain
from agent_exec.policy.verdict import Finding, strictest
from agent_exec.requests.opening import facts_here
from agent_exec.requests.shells import POWERSHELLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from agent_exec.faces.executor.config import CommandExecutorConfig
    from agent_exec.model.choices import VerdictKind
    from agent_exec.policy.facts import Facts
    from agent_exec.policy.verdict import Verdict

    Words = Sequence[str | None]

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
_MANY_IN_ONE = frozenset(("busybox", "toybox"))
_PATTERN = frozenset("*?[].!^{},")


def removes_root(words: "Words", cwd: str | None) -> bool:
    """True if this is `rm`, recursive, aimed at the root folder or at all that is in it.

    Options count in any spelling and place. A target is followed as the
    system would, from `cwd`; `--no-preserve-root` is enough by itself. It
    need not be forced: without a terminal, rm does not ask.
    """
    name, arguments = _program(words)
    if name != "rm":
        return False
    recursive = False
    targets: list[str | None] = []
    for index, word in enumerate(arguments):
        if word == "--":
            targets.extend(arguments[index + 1 :])
            break
        if word is None or not word.startswith("-") or word == "-":
            targets.append(word)
        elif not word.startswith("--"):
            recursive |= "r" in word.casefold()
        elif _short_for(word, "--no-preserve-root"):
            return True
        else:
            recursive |= _short_for(word, "--recursive")
    return recursive and any(_is_root(target, cwd) for target in targets)


def runs_shell_line(words: "Words") -> bool:
    """True if this is a shell with a `-c` among its options, alone or together with others."""
    name, arguments = _program(words)
    if name == "cmd":
        return any((word or "").casefold().startswith(("/c", "/k", "/r")) for word in arguments)
    if name in POWERSHELLS:
        return any(
            option == "-ec" or _short_for(option, "-commandwithargs") or _short_for(option, "-encodedcommand")
            for option in _options(arguments)
        )
    return name in SHELLS and any(
        _short_for(option, "--command") if option.startswith("--") else "c" in option
        for option in _options(arguments)
    )


def _options(arguments: "Words") -> "Iterator[str]":
    """Return a shell's own options, in lower case; not those of the script that it runs.

    A word after an option may be that option's value, so that more options
    may follow it; the first that cannot be one is the script.
    """
    values = 0
    for word in arguments:
        if word is None or not word.startswith(("-", "+")) or word == "-":
            if not values:
                return
            values -= 1
        elif word == "--":
            return
        else:
            option = word.casefold()
            values = 1 if option.startswith("--") else max(1, option.count("o"))
            yield option


def _program(words: "Words") -> "tuple[str, Words]":
    """Return the name of the program, without path and ending, in lower case, and its arguments."""
    for index, word in enumerate(words):
        name = plain(word or "").casefold()
        if name not in _MANY_IN_ONE:
            return name, words[index + 1 :]
    return "", ()


def _short_for(word: str, option: str) -> bool:
    """True if an option, which may be cut short and may have a value, is this one."""
    given = word.partition("=")[0]
    return given.strip("-") != "" and option.startswith(given)


def _is_root(target: str | None, cwd: str | None) -> bool:
    """True if a path leads to the root folder, or is a pattern for all that is in it."""
    if not target or "\0" in target or (cwd is None and not os.path.isabs(target)):
        return False
    folder, last = os.path.split(target)
    if last not in {"", ".", ".."} and _PATTERN.issuperset(last):
        target = folder
    try:
        real = os.path.realpath(os.path.join(cwd or os.sep, target))
    except OSError:
        return False  # a link that we may not read, and so may not follow either
    return real == os.path.dirname(real)


class CommandLists(Policy):
    """A whitelist and a blacklist; the blacklist is stronger.

    An entry is a name, or a name and the words that must follow it; upper
    and lower case are the same. A whitelisted name is not a path, since any
    file can be called `ls`; a blacklisted name is denied under any path.

    An entry of the blacklist also denies commands that mean the same: with
    "rm -rf /" every recursive removal of the root, however it is written, and
    with "bash -c" every shell that is given a line to run.

    This is a guard rail and no sandbox: an interpreter, or any program that
    starts others, can do all that this user can.
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


def allowed(policy: Policy) -> str:
    """Return the commands that the lists allow, in one line; a blank within one is a +."""
    rules = [rule.prefix for rule in policy.rules if rule.verdict == "allow" and rule.prefix]
    return " ".join(
        "+".join(word if isinstance(word, str) else "/".join(word) for word in (first, *rest))
        for one, *rest in rules
        for first in ([one] if isinstance(one, str) else one)
    )


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
    command: str, args: "tuple[str, ...]", config: "CommandExecutorConfig", cwd: str | None
) -> "tuple[CommandValidationResult, tuple[str, ...]]":
    """Return whether the configuration allows a command in this folder, and the words that run.

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
    verdict = config.policy.judge(words, facts_here(words, cwd))
    for one in verdict.findings:
        if one.kind == "deny":
            return _refusal("Command is blacklisted", one.reason or one.text, COMMAND_BLACKLISTED), words
    if not _listed(words, verdict, config.policy):
        return _refusal(_NOT_WHITELISTED, f"{words[0]} is not whitelisted"), words
    for one in verdict.findings if config.argument_guards else ():
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
    if first.kind == "ask" and first.basis == "rule":
        return False
    # What else asks says nothing about the lists, and stands where the rule would be named.
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
