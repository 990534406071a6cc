"""Commands of the shell itself that read their words again, as code or as the name of a variable."""

import re

from agent_exec.policy.programs.effects import NEVER, Options, Sight, may_be_option, name_of
from agent_exec.policy.programs.wrappers import LOOKERS as WRAPPERS
from agent_exec.policy.variables import dangerous, identifier

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.policy.programs.effects import Looker
    from agent_exec.policy.shell.word import Word

_AGAIN = "the shell reads its words again"
_SET = re.compile(r"[-+][abefhmnuvxBCEHPT]*o?|--")
_FLAGS = re.compile(r"[-+][aAgprxfFlutv]+|--", re.ASCII)
_PROCESS = ("$!", '"$!"', "${!}", '"${!}"')
_OPTIONS = frozenset(
    """
    errexit nounset pipefail xtrace noglob noclobber errtrace functrace verbose noexec
    notify physical braceexpand hashall monitor
    """.split()
)
_SHOPT = frozenset(
    """
    globstar nullglob dotglob failglob inherit_errexit lastpipe nocaseglob
    """.split()
)


def _never(words: "Sequence[Word]") -> Sight:
    return Sight().require(NEVER, f"{name_of(words)}: {_AGAIN}")


def _evaluate(words: "Sequence[Word]") -> Sight:
    texts = [word.text for word in words[1:]]
    if texts[:1] == ["--"]:
        del texts[0]
    if any(text is None for text in texts):
        return _never(words)
    sight = Sight()
    sight.transparent = bool(texts)
    sight.lines.append(" ".join(text or "" for text in texts))
    return sight


def _source(words: "Sequence[Word]") -> Sight:
    if len(words) < 2 or words[1].text is None:
        return _never(words)
    return Sight().require(1, f"{words[1].text} is code that was not seen")


def _trap(words: "Sequence[Word]") -> Sight:
    sight = Sight()
    rest = [word.text for word in words[1:]]
    if any(text is None for text in rest):
        return _never(words)
    if rest[:1] == ["--"]:
        del rest[0]
    if len(rest) > 1 and rest[0] not in ("-", "", "-p", "-l"):
        sight.lines.append(rest[0] or "")
    return sight


def _command(words: "Sequence[Word]") -> Sight:
    if len(words) > 1 and words[1].text in ("-v", "-V", "-pv", "-pV"):
        return Sight()
    return WRAPPERS["command"](words)


def _alias(words: "Sequence[Word]") -> Sight:
    if all(word.text is not None and "=" not in word.text for word in words[1:]):
        return Sight()
    return _never(words)


def _hash(words: "Sequence[Word]") -> Sight:
    if all(
        word.text is not None and (not word.text.startswith("-") or word.text == "-r") for word in words[1:]
    ):
        return Sight()
    return _never(words)


def _names(valued: str, flags: str) -> "Looker":
    """Make the look at a command whose operands are names of variables."""

    def look(words: "Sequence[Word]") -> Sight:
        options = Options(words, valued, flags)
        places = [value for name, value, _ in options.seen if name in ("-a", "-v", "-A")]
        names = [*places, *(word.text for word in words[options.at :])]
        if options.strange is not None or not all(identifier(name) for name in names):
            return _never(words)
        sight = Sight()
        for name in names:
            sight.set(name or "", None)
        return sight

    return look


def _printf(words: "Sequence[Word]") -> Sight:
    if len(words) < 2:
        return Sight()
    first = words[1]
    if first.text is None and (not first.single or not first.head or first.head.startswith("-")):
        return _never(words)
    if first.head.startswith("-v"):
        name = first.text[2:] if first.text and len(first.text) > 2 else None
        if name is None and len(words) > 2:
            name = words[2].text
        sight = Sight()
        if not identifier(name) or name is None:
            return _never(words)
        sight.set(name, None)
        return sight
    return Sight()


def _test(words: "Sequence[Word]") -> Sight:
    """`-v name[…]` evaluates what is in the brackets; an unknown word may be `-v`."""
    for at, word in enumerate(words[1:], 1):
        if not word.single:
            return _never(words)
        following = words[at + 1] if at + 1 < len(words) else None
        asks = may_be_option(word) or word.text in ("-v", "-R")
        if asks and following is not None and (following.text is None or "[" in following.text):
            return _never(words)
    return Sight()


def _set(words: "Sequence[Word]") -> Sight:
    at = 1
    while at < len(words):
        text = words[at].text
        if text is None or _SET.fullmatch(text) is None:
            return _never(words) if text is None or text[:1] in ("-", "+") else Sight()
        if text in ("--", "-"):
            return Sight()
        if text[0] == "-" and "a" in text:
            return Sight().require(NEVER, "set -a gives programs every variable that is set")
        if text.endswith("o"):
            at += 1
            if at < len(words) and words[at].text not in _OPTIONS:
                return _never(words)
        at += 1
    return Sight()


def _shopt(words: "Sequence[Word]") -> Sight:
    for word in words[1:]:
        if word.text is None or (word.text not in ("-s", "-u", "-q", "-p") and word.text not in _SHOPT):
            return _never(words)
    return Sight()


def _mapfile(words: "Sequence[Word]") -> Sight:
    options = Options(words, "-d -n -O -s -u", "-t")
    names = [word.text for word in words[options.at :]]
    if options.strange is not None or not all(identifier(name) for name in names):
        return _never(words)
    sight = Sight()
    for name in names:
        sight.set(name or "", None)
    return sight


def _declare(words: "Sequence[Word]") -> Sight:
    """Names and flags, plainly written; a value in parentheses is read again when the variable is a list."""
    sight = Sight()
    lists = False
    exports = name_of(words) == "export"
    for word in words[1:]:
        if word.text is not None and _FLAGS.fullmatch(word.text):
            exports = exports or (name_of(words) != "unset" and "x" in word.text)
            lists = lists or (name_of(words) != "unset" and ("a" in word.text or "A" in word.text))
            continue
        name, equals, value = word.head.partition("=")
        name = name.removesuffix("+")
        if (not equals and word.text is None) or not identifier(name) or not word.single:
            return _never(words)
        if equals and (lists or value.startswith("(")):
            return _never(words)
        sight.set(name, value if word.text is not None and equals else None, exported=exports)
    return sight


def _getopts(words: "Sequence[Word]") -> Sight:
    if (
        len(words) < 3
        or not identifier(words[2].text)
        or words[1].text is None
        or dangerous(words[2].text or "")
    ):
        return _never(words)
    return Sight()


def _wait(words: "Sequence[Word]") -> Sight:
    """`-p` takes the name of a variable; the number of a process is usually known to the shell only."""
    for word in words[1:]:
        plain = word.text in ("-n", "-f", "--") or (word.text is not None and word.text[:1] != "-")
        if not plain and word.source not in _PROCESS:
            return _never(words)
    return Sight()


LOOKERS: "dict[str, Looker]" = {
    "eval": _evaluate,
    "source": _source,
    ".": _source,
    "trap": _trap,
    "command": _command,
    "alias": _alias,
    "hash": _hash,
    "read": _names("-a -d -i -n -N -p -t -u", "-e -r -s -E"),
    "printf": _printf,
    "test": _test,
    "[": _test,
    "set": _set,
    "shopt": _shopt,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "getopts": _getopts,
    "wait": _wait,
    **dict.fromkeys(("declare", "typeset", "local", "export", "readonly", "unset"), _declare),
    **dict.fromkeys(
        """
    bind complete compgen compopt enable fc history let jobs (( [[ autoload zmodload functions
    emulate noglob nocorrect repeat sched print vared getln zparseopts zstyle zformat zcompile zpty zle
    sysread strftime bindkey setopt unsetopt integer float private
    """.split(),
        _never,
    ),
}
