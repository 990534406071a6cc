"""Shells and interpreters: their code is read where it can be, and otherwise needs a rule that names it."""

from agent_exec.policy.programs.effects import NEVER, Options, Sight, is_input, may_be_option, name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.policy.programs.effects import Looker
    from agent_exec.policy.shell.word import Word

_INPUT = "{} reads code from its input"
_INLINE = "{} runs code that a rule does not see"
_FILE = "{} runs a file that was not seen"
_ASKING = "--version --help"
_SETTINGS = frozenset(
    "errexit nounset pipefail xtrace verbose noglob noclobber errtrace functrace posix".split()
)
"""Options of a shell, as -o names them, that change nothing about which words are commands."""


def shell(words: "Sequence[Word]") -> Sight:
    """Look into a shell: the line after -c is read."""
    sight = Sight()
    options = Options(
        words,
        "-o +o -O +O",
        "-a -b -c -e -f -h -i -k -l -m -n -p -r -s -t -u -v -x -B -C -E -H -P -T --login --noprofile --norc "
        "--posix --restricted --verbose --version --help --noediting",
    )
    name = name_of(words)
    settings = [value for option, value, _ in options.seen if option == "-o"]
    # To bash a long option may have one dash, and this one reads a file.
    single = any(word.text == "-rcfile" for word in words[: options.at])
    if options.strange is not None or single or options.has("+o", "-O", "+O", "-k", "-s"):
        return sight.require(NEVER, f"it cannot be seen what {name} would run")
    if any(setting not in _SETTINGS for setting in settings):
        return sight.require(NEVER, f"it cannot be seen what {name} would run")
    if options.has("--version", "--help"):
        return sight
    at = options.at
    text = words[at].text if at < len(words) else None
    ended = words[at - 1].text == "--"
    if text is None or is_input(text) or (not ended and (text == "-" or text.startswith("+"))):
        return sight.require(NEVER, _INPUT.format(name))
    if options.has("-c"):
        sight.transparent = True
        sight.lines.append(text)
        return sight
    sight.named.append(tuple(words[at:]))  # a file that is not here is looked for where programs are
    return sight.require(at, _FILE.format(name), guard=False)


def strange_shell(words: "Sequence[Word]") -> Sight:
    """Look into a shell whose language is not read here; what looks like ours in it can be denied."""
    sight = Sight().require(NEVER, f"the language of {name_of(words)} is not understood")
    for at, word in enumerate(words[:-1]):
        text = (word.text or "").casefold()
        following = words[at + 1].text
        if text in ("-c", "-lc", "-ic", "-command", "/c", "/k", "-e") and following is not None:
            sight.lines.append(following)
    return sight


def _interpreter(
    code: str, flags: str = "", module: str = "", run: str = "", asking: str = _ASKING
) -> "Looker":
    """Make the look at an interpreter.

    `code` are the options that are followed by code, `module` those followed
    by the name of some, `flags` those that change nothing about what is run,
    `run` the words before the name of what is run, `asking` those that only
    have it tell about itself.
    """
    inline, named, harmless, verbs = code.split(), module.split(), flags.split(), run.split()
    questions = asking.split()

    def look(words: "Sequence[Word]") -> Sight:
        sight = Sight()
        name = name_of(words)
        for at, word in enumerate(words[1:], 1):
            text = word.text
            if text is None:
                place = NEVER if may_be_option(word) else at
                return sight.require(place, _FILE.format(name), guard=place == NEVER)
            if text in inline or any(text.startswith(f"{one}=") for one in inline):
                return sight.require(at + 1 if text in inline else at, _INLINE.format(name))
            if text in named:
                return sight.require(at + 1, _FILE.format(name), guard=False)
            if text in questions and len(words) == 2:
                return sight
            if text == "-" or is_input(text):
                return sight.require(NEVER, _INPUT.format(name))
            if text in harmless:
                continue
            if text.startswith("-"):
                guard = any(_inline(one.text or "", inline) for one in words[at:])
                return sight.require(len(words) - 1, _INLINE.format(name), guard=guard)
            if text in verbs:
                continue
            if verbs:
                sight.named.append(tuple(words[at:]))
            return sight.require(at, _FILE.format(name), guard=False)
        return sight.require(NEVER, _INPUT.format(name))

    return look


def _inline(text: str, inline: list[str]) -> bool:
    """Tell whether joined short options have code in them."""
    return text.startswith("--") or (
        text.startswith("-") and any(one[1:] in text for one in inline if len(one) == 2)
    )


_ABOUT = f"{_ASKING} -V -h"
_PYTHON = _interpreter(
    "-c", "-u -B -E -I -s -S -O -OO -q -P -d -b -bb -t", module="-m", asking=f"{_ABOUT} -VV"
)
_NODE = _interpreter(
    "-e -p -pe --eval --print -r --require --import --loader --experimental-loader",
    "--test --no-warnings --trace-warnings --enable-source-maps",
    asking=f"{_ABOUT} -v",
)

LOOKERS: "dict[str, Looker]" = {
    **dict.fromkeys("sh bash dash ash rbash gbash".split(), shell),
    **dict.fromkeys(
        """
    zsh ksh mksh pdksh oksh yash posh fish csh tcsh rc es nu xonsh elvish pwsh powershell cmd
    ion oil osh ysh hush zsh5 ksh93 lksh rzsh rksh
    """.split(),
        strange_shell,
    ),
    **dict.fromkeys("python pypy micropython ipython jython graalpy py pythonw".split(), _PYTHON),
    **dict.fromkeys("pydoc pdb bpython ptpython".split(), _interpreter("-c -m", "", module="-k -p -w -b")),
    **dict.fromkeys(["node", "nodejs", "tsx", "ts-node"], _NODE),
    **dict.fromkeys(["perl"], _interpreter("-e -E", "-w -W -X -T -t -l", asking=f"{_ABOUT} -v")),
    **dict.fromkeys(["ruby", "irb", "jruby"], _interpreter("-e -r", "-w -W", asking=f"{_ASKING} -v -h")),
    "erb": _interpreter("-r", "-x -n -v"),
    **dict.fromkeys(
        ["php", "php-cli", "phar"],
        _interpreter("-r -B -R -E -F --run", "-q -n", asking=f"{_ASKING} -v -h -m"),
    ),
    **dict.fromkeys(["lua", "luajit", "texlua"], _interpreter("-e -l", asking="-v")),
    **dict.fromkeys(["rscript", "r"], _interpreter("-e", "--vanilla --slave --no-save -q")),
    **dict.fromkeys(["julia"], _interpreter("-e -E -L --eval --print --load")),
    **dict.fromkeys(["java"], _interpreter("-jar", asking=f"{_ASKING} -version -help")),
    **dict.fromkeys(
        ["deno", "bun"], _interpreter("-e --eval -p --print -r --preload", run="run eval exec x test")
    ),
    **dict.fromkeys(
        "npx bunx pnpx uvx pipx".split(), _interpreter("-c --call", "-y --yes -q --quiet", run="run")
    ),
    **dict.fromkeys(
        """
    osascript guile racket scheme sbcl clisp ecl ghci runghc ocaml swift scala groovy
    kotlin iex elixir erl octave gnuplot maxima gp m4 dc ex qjs d8 jshell clojure bb janet
    raku crystal nim pike
    """.split(),
        _interpreter("-e -c -E -f --eval --exec -x"),
    ),
    # What begins with a dash is nothing to these: they read their input.
    **dict.fromkeys(["tclsh", "wish", "jimsh"], _interpreter("-e", asking="")),
}
