"""Inspectors of programs that run another command in ways that no row of the table can describe."""

from agent_exec.policy.programs.effects import NEVER, Effects, Options
from agent_exec.policy.programs.option_table import UNSURE
from agent_exec.policy.shell.word import Word

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.policy.programs.effects import Inspector


def _assignments(effects: Effects, words: "Sequence[Word]", at: int) -> int:
    """Note the NAME=VALUE words from here on; return the place after them."""
    while at < len(words):
        name, equals, value = words[at].head.partition("=")
        if not equals:
            break
        effects.set(name, value if words[at].text is not None else None, exported=True)
        at += 1
    return at


def env(words: "Sequence[Word]") -> Effects:
    """Inspect env."""
    effects = Effects()
    effects.transparent = True
    options = Options(
        words,
        "-u --unset -C --chdir -S --split-string -a --argv0",
        "-i --ignore-environment -0 --null -v --debug - --block-signal --default-signal --ignore-signal "
        "--list-signal-handling",
    )
    at = options.at
    while at < len(words) and words[at].text == "-":
        at += 1
    if options.strange is not None or options.has("-S", "--split-string"):
        effects.transparent = False
        return effects.require(NEVER, UNSURE.format("env"))
    effects.moved = options.has("-C", "--chdir")
    at = _assignments(effects, words, at)
    if at < len(words) and words[at].text is None and (not words[at].single or "=" not in words[at].head):
        effects.require(NEVER, UNSURE.format("env"))
    return effects.run(words[at:])


def sudo(words: "Sequence[Word]") -> Effects:
    """Inspect sudo, which needs a rule of its own."""
    effects = Effects()
    options = Options(
        words,
        "-u --user -g --group -h --host -p --prompt -C --close-from -r --role -t --type -T --command-timeout "
        "-U --other-user -D --chdir -R --chroot -a --auth-type -c --login-class",
        "-A --askpass -b --background -B --bell -E --preserve-env -e --edit -H --set-home -i --login -k "
        "--reset-timestamp -K --remove-timestamp -l --list -n --non-interactive -N --no-update -P "
        "--preserve-groups -s --shell -S --stdin -v --validate -V --version --help",
    )
    if options.strange is not None:
        return effects.require(NEVER, UNSURE.format("sudo"))
    effects.moved = options.has("-D", "--chdir", "-R", "--chroot", "-i", "--login")
    at = _assignments(effects, words, options.at)
    if options.has("-e", "--edit"):
        return effects.require(NEVER, "it opens an editor")
    if options.has("-s", "--shell", "-i", "--login") and (
        at >= len(words) or any("$" in (word.text or "$") for word in words[at:])
    ):
        # The shell that it opens expands variables in the words of the command.
        effects.require(NEVER, "it opens a shell")
    return effects.run(words[at:])


def xargs(words: "Sequence[Word]") -> Effects:
    """Inspect xargs: what it reads becomes further words."""
    effects = Effects()
    effects.transparent = True
    options = Options(
        words,
        "-a --arg-file -d --delimiter -E -I -J -R -L -n --max-args -P --max-procs -s --max-chars -S "
        "--process-slot-var",
        "-0 --null -r --no-run-if-empty -t --verbose -x --exit -p --interactive -o --open-tty --eof "
        "--replace --max-lines",
        attached="-e -i -l",
    )
    if options.strange is not None:
        effects.transparent = False
        return effects.require(NEVER, UNSURE.format("xargs"))
    # Which of several marks counts, and whether one does beside -n or -L, differs: all are taken to.
    marks = [value or "{}" for name, value in options.seen if name in ("-I", "-J", "-i", "--replace")]
    rest = [_filled(word, marks) for word in words[options.at :]]
    if not rest:
        effects.transparent = False
        return effects
    if not marks or options.has("-n", "--max-args", "-L", "-l", "--max-lines"):
        rest.append(Word(None, source="…", single=False))
    return effects.run(rest)


def _filled(word: Word, marks: "Sequence[str]") -> Word:
    """Return a word, unknown if one of these marks in it is replaced."""
    if word.text is not None and any(mark in word.text for mark in marks):
        return Word(None, source=word.source)
    return word


def find(words: "Sequence[Word]") -> Effects:
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


def _plus(words: "Sequence[Word]", at: int) -> bool:
    return words[at].text == "+" and words[at - 1].text == "{}"


def watch(words: "Sequence[Word]") -> Effects:
    """Inspect watch, which gives its words to a shell."""
    effects = Effects()
    options = Options(
        words,
        "-n --interval -q --equexit -s --shotsdir",
        "-b --beep -c --color -C --no-color -d --differences -e --errexit -g --chgexit -p --precise -r -t "
        "--no-title -w --no-wrap -x --exec",
    )
    rest = words[options.at :]
    if options.strange is not None or any(word.text is None for word in rest):
        return effects.require(NEVER, UNSURE.format("watch"))
    if options.has("-x", "--exec"):
        return effects.run(rest)
    effects.lines.append(" ".join(word.text or "" for word in rest))
    return effects


def flock(words: "Sequence[Word]") -> Effects:
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
    if (
        options.strange is not None
        or options.has("-c", "--command")
        or (line and following[1:] in ([], [None]))
    ):
        return effects.require(NEVER, UNSURE.format("flock"))
    if line:
        effects.lines.append(following[1] or "")
    elif following:  # without a command, it locks a descriptor
        effects.inner.append(tuple(words[at:]))
    return effects


SPECIAL: "dict[str, Inspector]" = {
    "env": env,
    "sudo": sudo,
    "xargs": xargs,
    "find": find,
    "watch": watch,
    "flock": flock,
}
