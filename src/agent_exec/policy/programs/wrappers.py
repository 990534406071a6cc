"""Inspectors of shells, and of programs that run a command in ways that no row of the table can describe."""

from collections.abc import Sequence

from agent_exec.policy.programs.effects import NEVER, Effects, Inspector, Options, is_input, name_of
from agent_exec.policy.programs.option_table import UNSURE
from agent_exec.policy.shell.word import Word

_SETTINGS = frozenset(
    "errexit nounset pipefail xtrace verbose noglob noclobber errtrace functrace posix".split()
)
"""Options of a shell, as -o names them, that change nothing about which words are commands."""


def xargs(words: Sequence[Word]) -> Effects:
    """Inspect xargs: what it reads becomes further words."""
    effects = Effects()
    options = Options(
        words,
        "-a --arg-file -d --delimiter -E -I -J -R -L -n --max-args -P --max-procs -s --max-chars -S "
        "--process-slot-var",
        "-0 --null -r --no-run-if-empty -t --verbose -x --exit -p --interactive -o --open-tty --eof "
        "--replace --max-lines",
        attached="-e -i -l",
    )
    if options.unclear:
        return effects.require(NEVER, UNSURE.format("xargs"))
    # Which of several marks counts, and whether one does beside -n or -L, differs: all are taken to.
    marks = [value or "{}" for name, value in options.seen if name in ("-I", "-J", "-i", "--replace")]
    rest = [_filled(word, marks) for word in words[options.at :]]
    effects.transparent = bool(rest)
    if rest and (not marks or options.has("-n", "--max-args", "-L", "-l", "--max-lines")):
        rest.append(Word(None, source="…", single=False))
    return effects.run(rest)


def _filled(word: Word, marks: Sequence[str]) -> Word:
    """Return a word, unknown if one of these marks in it is replaced."""
    if word.text is not None and any(mark in word.text for mark in marks):
        return Word(None, source=word.source)
    return word


def find(words: Sequence[Word]) -> Effects:
    """Inspect find: what it runs is judged, what it deletes or writes needs a rule that says so."""
    effects = Effects()
    inside = 0
    for at, word in enumerate(words[1:], 1):
        if word.text in ("-exec", "-execdir", "-ok", "-okdir"):
            # Where a command ends differs: what looks like another one in it is judged as well.
            end = at + 1
            while end < len(words) and words[end].text != ";" and not _plus(words, end):
                end += 1
            inside = max(inside, end)
            inner = [_filled(one, ("{}",)) for one in words[at + 1 : end]]
            if not inner or any(not one.single for one in inner):
                effects.require(NEVER, UNSURE.format("find"))
            if inner:
                effects.inner.append(tuple(inner))
            effects.moved = effects.moved or "dir" in word.text
        elif at <= inside:
            continue
        elif word.text is None:
            if not word.single or not word.head or word.head[0] in "-(!":
                effects.require(NEVER, "it cannot be seen what find would do")
        elif word.text == "-delete" or word.text.startswith(("-fprint", "-fls")):
            effects.require(at, f"find {word.text} changes files", guard=False)
    return effects


def _plus(words: Sequence[Word], at: int) -> bool:
    return words[at].text == "+" and words[at - 1].text == "{}"


def flock(words: Sequence[Word]) -> Effects:
    """Inspect flock: options, a file, then a command, or a line after -c."""
    effects = Effects()
    options = Options(
        words,
        "-E --conflict-exit-code -w --wait --timeout -c --command",
        "-s --shared -x -e --exclusive -n --nb --nonblock -o --close -F --no-fork -u --unlock --verbose",
    )
    at = options.at + 1
    following = [word.text for word in words[at : at + 2]]
    line = following[:1] in (["-c"], ["--command"])
    if options.unclear or options.has("-c", "--command") or (line and following[1:] in ([], [None])):
        return effects.require(NEVER, UNSURE.format("flock"))
    if line:
        effects.lines.append(following[1] or "")
    elif following:  # without a command, it locks a descriptor
        effects.inner.append(tuple(words[at:]))
    return effects


def shell(words: Sequence[Word]) -> Effects:
    """Inspect a shell: the line after -c is read."""
    effects = Effects()
    options = Options(
        words,
        "-o +o -O +O",
        "-a -b -c -e -f -h -i -k -l -m -n -p -r -s -t -u -v -x -B -C -E -H -P -T --login --noprofile --norc "
        "--posix --restricted --verbose --version --help --noediting",
    )
    name = name_of(words)
    settings = [value for option, value in options.seen if option == "-o"]
    # To bash a long option may have one dash, and this one reads a file.
    single = any(word.text == "-rcfile" for word in words[: options.at])
    unclear = options.unclear or single or options.has("+o", "-O", "+O", "-k", "-s")
    if unclear or any(setting not in _SETTINGS for setting in settings):
        return effects.require(NEVER, f"it cannot be seen what {name} would run")
    if options.has("--version", "--help"):
        return effects
    at = options.at
    text = words[at].text if at < len(words) else None
    ended = words[at - 1].text == "--"
    if text is None or is_input(text) or (not ended and (text == "-" or text.startswith("+"))):
        return effects.require(NEVER, f"{name} reads code from its input")
    if options.has("-c"):
        effects.transparent = True
        effects.lines.append(text)
        return effects
    effects.named.append(tuple(words[at:]))  # a file that is not here is looked for where programs are
    return effects.require(at, f"{name} runs a file that was not seen", guard=False)


def strange_shell(words: Sequence[Word]) -> Effects:
    """Inspect a shell with another language; what reads as a line of ours in it can be denied."""
    effects = Effects().require(NEVER, f"the language of {name_of(words)} is not understood")
    for at, word in enumerate(words[:-1]):
        text = (word.text or "").casefold()
        following = words[at + 1].text
        if text in ("-c", "-lc", "-ic", "-command", "/c", "/k", "-e") and following is not None:
            effects.lines.append(following)
    return effects


SHELLS: dict[str, Inspector] = {
    **dict.fromkeys("sh bash dash ash rbash gbash".split(), shell),
    **dict.fromkeys(
        """
    zsh ksh mksh pdksh oksh yash posh fish csh tcsh rc es nu xonsh elvish pwsh powershell cmd
    ion oil osh ysh hush zsh5 ksh93 lksh rzsh rksh
    """.split(),
        strange_shell,
    ),
}
SPECIAL: dict[str, Inspector] = {**SHELLS, "xargs": xargs, "find": find, "flock": flock}
