"""What a command means, however it is written: removing the root folder, giving a shell a line to run."""

import os

from agent_exec.policy.shell.word import plain
from agent_exec.requests.shells import POWERSHELLS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Words = Sequence[str | None]

SHELLS = frozenset(
    (
        *("sh", "bash", "rbash", "dash", "ash", "posh", "yash", "zsh", "rzsh"),
        *("ksh", "ksh93", "rksh", "mksh", "lksh", "oksh", "pdksh"),
        *("csh", "tcsh", "fish", "elvish", "nu", "xonsh"),
    )
)
_MANY_IN_ONE = frozenset(("busybox", "toybox"))
_PATTERN = frozenset("*?[].!^{},")


def removes_root(words: "Words", cwd: str | None) -> bool:
    """True if this is `rm`, recursive, aimed at the root folder or at all that is in it.

    Options count in any spelling and place. A target is followed as the
    system would, from `cwd`; `--no-preserve-root` is enough by itself. That
    it need not be forced is no mistake: nobody is there to be asked.
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
