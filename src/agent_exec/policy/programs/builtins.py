"""Inspectors of the shell's own commands that read their words again, as code or as names of variables."""

import re
from collections.abc import Sequence
from functools import partial

from agent_exec.policy.programs.effects import NEVER, Effects, Inspector, Options, may_be_option, name_of
from agent_exec.policy.programs.program_table import PROGRAMS
from agent_exec.policy.shell.word import Word
from agent_exec.policy.variables import DECLARING, dangerous, identifier

_SET = re.compile(r"[-+][abefhmnuvxBCEHPT]*o?|--")
_PROCESS = ("$!", '"$!"', "${!}", '"${!}"')
_OPTIONS = frozenset(
    """
    errexit nounset pipefail xtrace noglob noclobber errtrace functrace verbose noexec
    notify physical braceexpand hashall monitor
    """.split()
)


def _never(words: Sequence[Word]) -> Effects:
    return Effects().require(NEVER, f"{name_of(words)}: the shell reads its words again")


def _only(pattern: str, words: Sequence[Word]) -> Effects:
    """Inspect a command that is harmless if all of its words match a pattern."""
    fine = all(word.text is not None and re.fullmatch(pattern, word.text, re.DOTALL) for word in words[1:])
    return Effects() if fine else _never(words)


def _names(valued: str, flags: str, words: Sequence[Word]) -> Effects:
    """Inspect a command whose operands are names of variables."""
    options = Options(words, valued, flags)
    names = [value for name, value in options.seen if name == "-a"]
    names += [word.text for word in words[options.at :]]
    return _never(words) if options.unclear else _set(words, names)


def _set(words: Sequence[Word], names: Sequence[str | None]) -> Effects:
    """Return the effects of a command that sets these variables."""
    effects = Effects()
    for name in names:
        if name is None or not identifier(name):
            return _never(words)
        effects.set(name, None)
    return effects


def _evaluate(words: Sequence[Word]) -> Effects:
    texts = [word.text for word in words[1:]]
    if texts[:1] == ["--"]:
        del texts[0]
    known = [text for text in texts if text is not None]
    if len(known) < len(texts):
        return _never(words)
    effects = Effects()
    effects.transparent = bool(texts)
    effects.lines.append(" ".join(known))
    return effects


def _source(words: Sequence[Word]) -> Effects:
    if len(words) < 2 or words[1].text is None:
        return _never(words)
    return Effects().require(1, f"{words[1].text} is code that was not seen")


def _trap(words: Sequence[Word]) -> Effects:
    effects = Effects()
    rest = [word.text for word in words[1:]]
    if None in rest:
        return _never(words)
    if rest[:1] == ["--"]:
        del rest[0]
    if len(rest) > 1 and rest[0] not in ("-", "", "-p", "-l"):
        effects.lines.append(rest[0] or "")
    return effects


def _command(words: Sequence[Word]) -> Effects:
    if len(words) > 1 and words[1].text in ("-v", "-V", "-pv", "-pV"):
        return Effects()
    return PROGRAMS["command"](words)


def _printf(words: Sequence[Word]) -> Effects:
    if len(words) < 2:
        return Effects()
    first = words[1]
    if may_be_option(first):
        return _never(words)
    if not first.head.startswith("-v"):
        return Effects()
    following = words[2].text if len(words) > 2 else None
    return _set(words, [(first.text or "")[2:] or following])


def _test(words: Sequence[Word]) -> Effects:
    """Inspect a test: `-v name[…]` evaluates the brackets, and an unknown word may be `-v`."""
    for at, word in enumerate(words[1:], 1):
        if not word.single:
            return _never(words)
        following = words[at + 1] if at + 1 < len(words) else None
        asks = may_be_option(word) or word.text in ("-v", "-R")
        if asks and following is not None and (following.text is None or "[" in following.text):
            return _never(words)
    return Effects()


def _settings(words: Sequence[Word]) -> Effects:
    """Inspect `set`."""
    at = 1
    while at < len(words):
        text = words[at].text
        if text is None or _SET.fullmatch(text) is None:
            return _never(words) if text is None or text[:1] in ("-", "+") else Effects()
        if text in ("--", "-"):
            break
        if text[0] == "-" and "a" in text:
            return Effects().require(NEVER, "set -a gives programs every variable that is set")
        if text.endswith("o"):
            at += 1
            if at < len(words) and words[at].text not in _OPTIONS:
                return _never(words)
        at += 1
    return Effects()


def _declare(words: Sequence[Word]) -> Effects:
    """Inspect a declaration: names and flags; the shell reads a value in parentheses again for a list."""
    effects = Effects()
    lists = False
    declares, exports = name_of(words) != "unset", name_of(words) == "export"
    for word in words[1:]:
        if word.text is not None and DECLARING.fullmatch(word.text):
            exports = exports or (declares and "x" in word.text)
            lists = lists or (declares and "a" in word.text.casefold())
            continue
        name, equals, value = word.head.partition("=")
        name = name.removesuffix("+")
        if (not equals and word.text is None) or not identifier(name) or not word.single:
            return _never(words)
        if equals and (lists or value.startswith("(")):
            return _never(words)
        effects.set(name, value if word.text is not None and equals else None, exported=exports)
    return effects


def _getopts(words: Sequence[Word]) -> Effects:
    name = words[2].text if len(words) > 2 and words[1].text is not None else None
    return _never(words) if not identifier(name) or dangerous(name or "") else Effects()


def _wait(words: Sequence[Word]) -> Effects:
    """Inspect `wait`: `-p` takes the name of a variable; a process is usually known to the shell only."""
    return _only("-n|-f|--|[^-].*|", [word for word in words if word.source not in _PROCESS])


SPECIAL: dict[str, Inspector] = {
    "eval": _evaluate,
    "source": _source,
    ".": _source,
    "trap": _trap,
    "command": _command,
    "alias": partial(_only, "[^=]*"),
    "hash": partial(_only, "-r|[^-].*|"),
    "read": partial(_names, "-a -d -i -n -N -p -t -u", "-e -r -s -E"),
    "printf": _printf,
    "test": _test,
    "[": _test,
    "set": _settings,
    "shopt": partial(_only, "-[suqp]|globstar|nullglob|dotglob|failglob|inherit_errexit|lastpipe|nocaseglob"),
    **dict.fromkeys(("mapfile", "readarray"), partial(_names, "-d -n -O -s -u", "-t")),
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
