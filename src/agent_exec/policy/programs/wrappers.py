"""Programs that run another command: each is looked through, and what it runs is judged."""

from agent_exec.policy.programs.effects import NEVER, Options, Sight, name_of
from agent_exec.policy.shell.word import Word
from agent_exec.policy.variables import dangerous

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.policy.programs.effects import Looker

_UNSURE = "it cannot be seen which command {} would run"


def _wrapper(
    valued: str = "", flags: str = "", *, skip: int = 0, own: bool = False, opens: bool = False
) -> "Looker":
    """Make the look through a program: its options, so many operands, then the command.

    `own` is for programs that add powers, and so need a rule of their own;
    `opens` for those that open a shell when no command is given.
    """

    def look(words: "Sequence[Word]") -> Sight:
        sight = Sight()
        sight.transparent = not own
        options = Options(words, valued, flags)
        start = options.at + skip
        if options.strange is not None or any(word.text is None for word in words[options.at : start]):
            sight.transparent = False
            return sight.require(NEVER, _UNSURE.format(name_of(words)))
        if opens and start >= len(words):
            return sight.require(NEVER, "it opens a shell")
        return _run(sight, words[start:])

    return look


def _run(sight: Sight, rest: "Sequence[Word]") -> Sight:
    """Note the command that is run; without one, the program is a command like others."""
    if rest:
        sight.inner.append(tuple(rest))
    else:
        sight.transparent = False
    return sight


def _assignments(sight: Sight, words: "Sequence[Word]", at: int) -> int:
    """Note the NAME=VALUE words from here on; give the place after them."""
    while at < len(words):
        name, equals, value = words[at].head.partition("=")
        if not equals:
            break
        sight.set(name, value if words[at].text is not None else None, exported=True)
        at += 1
    return at


def env(words: "Sequence[Word]") -> Sight:
    """Look through env."""
    sight = Sight()
    sight.transparent = True
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
        sight.transparent = False
        return sight.require(NEVER, _UNSURE.format("env"))
    sight.moved = options.has("-C", "--chdir")
    at = _assignments(sight, words, at)
    if at < len(words) and words[at].text is None and (not words[at].single or "=" not in words[at].head):
        sight.require(NEVER, _UNSURE.format("env"))
    return _run(sight, words[at:])


def sudo(words: "Sequence[Word]") -> Sight:
    """Look through sudo, which needs a rule of its own."""
    sight = Sight()
    options = Options(
        words,
        "-u --user -g --group -h --host -p --prompt -C --close-from -r --role -t --type -T --command-timeout "
        "-U --other-user -D --chdir -R --chroot -a --auth-type -c --login-class",
        "-A --askpass -b --background -B --bell -E --preserve-env -e --edit -H --set-home -i --login -k "
        "--reset-timestamp -K --remove-timestamp -l --list -n --non-interactive -N --no-update -P "
        "--preserve-groups -s --shell -S --stdin -v --validate -V --version --help",
    )
    if options.strange is not None:
        return sight.require(NEVER, _UNSURE.format("sudo"))
    sight.moved = options.has("-D", "--chdir", "-R", "--chroot", "-i", "--login")
    at = _assignments(sight, words, options.at)
    if options.has("-e", "--edit"):
        return sight.require(NEVER, "it opens an editor")
    if options.has("-s", "--shell", "-i", "--login") and (
        at >= len(words) or any("$" in (word.text or "$") for word in words[at:])
    ):
        # The shell that it opens expands variables in the words of the command.
        sight.require(NEVER, "it opens a shell")
    return _run(sight, words[at:])


def xargs(words: "Sequence[Word]") -> Sight:
    """Look through xargs: what it reads becomes further words."""
    sight = Sight()
    sight.transparent = True
    options = Options(
        words,
        "-a --arg-file -d --delimiter -E -I -J -R -L -n --max-args -P --max-procs -s --max-chars -S "
        "--process-slot-var",
        "-0 --null -r --no-run-if-empty -t --verbose -x --exit -p --interactive -o --open-tty --eof "
        "--replace --max-lines",
        attached="-e -i -l",
    )
    if options.strange is not None:
        sight.transparent = False
        return sight.require(NEVER, _UNSURE.format("xargs"))
    # Which of several marks counts, and whether one does beside -n or -L, differs: all are taken to.
    marks = [value or "{}" for name, value, _ in options.seen if name in ("-I", "-J", "-i", "--replace")]
    rest = [_filled(word, marks) for word in words[options.at :]]
    if not rest:
        sight.transparent = False
        return sight
    if not marks or options.has("-n", "--max-args", "-L", "-l", "--max-lines"):
        rest.append(Word(None, source="…", single=False))
    return _run(sight, rest)


def _filled(word: Word, marks: "Sequence[str]") -> Word:
    """Give a word as unknown if one of these marks in it is replaced by something."""
    if word.text is not None and any(mark in word.text for mark in marks):
        return Word(None, source=word.source)
    return word


def find(words: "Sequence[Word]") -> Sight:
    """Look at find: what it runs is judged, what it deletes or writes needs a rule that says so."""
    sight = Sight()
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
                sight.require(NEVER, _UNSURE.format("find"))
            if inner:
                sight.inner.append(tuple(inner))
            sight.moved = sight.moved or "dir" in word.text
        elif at <= inside:
            continue
        elif word.text is None:
            if not word.single or not word.head or word.head[0] in "-(!":
                sight.require(NEVER, "it cannot be seen what find would do")
        elif word.text == "-delete" or word.text.startswith(("-fprint", "-fls")):
            sight.require(at, f"find {word.text} changes files", guard=False)
    return sight


def _plus(words: "Sequence[Word]", at: int) -> bool:
    return words[at].text == "+" and words[at - 1].text == "{}"


def watch(words: "Sequence[Word]") -> Sight:
    """Look through watch, which gives its words to a shell."""
    sight = Sight()
    options = Options(
        words,
        "-n --interval -q --equexit -s --shotsdir",
        "-b --beep -c --color -C --no-color -d --differences -e --errexit -g --chgexit -p --precise -r -t "
        "--no-title -w --no-wrap -x --exec",
    )
    rest = words[options.at :]
    if options.strange is not None or any(word.text is None for word in rest):
        return sight.require(NEVER, _UNSURE.format("watch"))
    if options.has("-x", "--exec"):
        return _run(sight, rest)
    sight.lines.append(" ".join(word.text or "" for word in rest))
    return sight


def sets_dangerous(sight: Sight) -> str | None:
    """Give a variable that is set for the inner command and changes what it does."""
    return next((name for name in sight.sets if dangerous(name)), None)


LOOKERS: "dict[str, Looker]" = {
    "env": env,
    "sudo": sudo,
    "doas": _wrapper("-u -C -a", "-n -L", own=True),
    "xargs": xargs,
    "find": find,
    "watch": watch,
    "timeout": _wrapper(
        "-k --kill-after -s --signal", "--foreground --preserve-status -v --verbose -f -p", skip=1
    ),
    "gtimeout": _wrapper(
        "-k --kill-after -s --signal", "--foreground --preserve-status -v --verbose -f -p", skip=1
    ),
    "nice": _wrapper("-n --adjustment", " ".join(f"-{n}" for n in range(40))),
    "ionice": _wrapper("-c --class -n --classdata", "-t --ignore"),
    "nohup": _wrapper(),
    "setsid": _wrapper("", "-c --ctty -f --fork -w --wait"),
    "stdbuf": _wrapper("-i --input -o --output -e --error"),
    "chrt": _wrapper("-T -P -D", "-b -d -f -i -o -r -R -v", skip=1),
    "taskset": _wrapper("", "-a -c --cpu-list", skip=1),
    "time": _wrapper("-f --format", "-p --portability -v --verbose -q --quiet -l"),
    "coproc": _wrapper(own=True),
    "command": _wrapper("", "-p"),
    "-": _wrapper(),  # of zsh
    "builtin": _wrapper(),
    "exec": _wrapper("-a", "-c -l"),
    "busybox": _wrapper(),
    "toybox": _wrapper(),
    "caffeinate": _wrapper("-t -w", "-d -i -m -s -u"),
    "chroot": _wrapper("--groups --userspec", "--skip-chdir", skip=1, own=True, opens=True),
    "unshare": _wrapper(
        "--setuid --setgid -R --root -w --wd --propagation",
        "-m --mount -u --uts -i --ipc -n --net -p --pid -U --user -C --cgroup -T --time -f --fork -r "
        "--map-root-user -c --map-current-user --kill-child --mount-proc",
        own=True,
        opens=True,
    ),
    "ssh-agent": _wrapper("-a -E -O -P -t", "-c -D -d -k -s", own=True),
    **dict.fromkeys("ccache sccache distcc eatmydata nocache".split(), _wrapper(own=True)),
}
