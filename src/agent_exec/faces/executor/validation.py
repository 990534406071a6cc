"""Validates a command: its words, and the verdict of the policy."""

from agent_exec.faces.executor.errors import COMMAND_BLACKLISTED, COMMAND_NOT_WHITELISTED
from agent_exec.faces.executor.result import CommandValidationResult
from agent_exec.model.errors import InvalidArgument
from agent_exec.policy.shell.word import known
from agent_exec.requests.here import facts_here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_exec.policy.policy import Policy
    from agent_exec.policy.rule import Rule
    from agent_exec.policy.verdict import Verdict

_BLANKS = " \t\r\n"
_NOT_WHITELISTED = "Command not in whitelist"
_VALID = CommandValidationResult(True)


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
