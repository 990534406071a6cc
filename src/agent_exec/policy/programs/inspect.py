"""All programs that are known to do more than their name says, and the one look at a command."""

from agent_exec.policy.programs import builtins, interpreters, runners, wrappers
from agent_exec.policy.programs import program_table as knowledge
from agent_exec.policy.programs import sed_awk as streams
from agent_exec.policy.programs.effects import NEVER, Sight, name_of, unversioned
from agent_exec.policy.programs.git import git, plainly
from agent_exec.policy.programs.option_table import Guard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.policy.programs.effects import Looker
    from agent_exec.policy.shell.word import Word


def look(words: "Sequence[Word]") -> Sight:
    """Look at a command."""
    name = name_of(words)
    found = _LOOKERS.get(name) or _LOOKERS.get(unversioned(name))
    if found is not None:
        return found(words)
    if name.startswith(("ld-linux", "ld-musl")):
        return runners.opaque(words)
    if unversioned(name).endswith(_CROSS):
        return knowledge.LOOKERS["gcc"](words)
    return Sight()


_CROSS = ("-gcc", "-g++", "-c++", "-cpp", "-cc", "-clang", "-clang++", "-gfortran")
"""Compilers for other machines have the machine's name before their own."""

_TAR = Guard(
    runs="--to-command --use-compress-program --checkpoint-action --info-script --new-volume-script "
    "--rsh-command --rmt-command",
    letters="IF",
    valued="fCTXbgHKLNV",
    marks=":",
    fine="--to-stdout --checkpoint",
)


def tar(words: "Sequence[Word]") -> Sight:
    """Look at tar, whose first word may be options without a dash."""
    sight = _TAR(words)
    first = words[1].text if len(words) > 1 else None
    if first is not None and first[:1] != "-" and any(mark in first for mark in "IF"):
        sight.require(len(words) - 1, "tar I or F: it may run another program")
    return sight


_MAKE = Guard(
    hard="--eval",
    soft="--file --makefile --directory --include-dir",
    letters="E",
    soft_letters="fCI",
    valued="oW",
)


def make(words: "Sequence[Word]") -> Sight:
    """Look at make, to which a word with = is a variable, and one with $ is expanded."""
    sight = _MAKE(words)
    for at, word in enumerate(words[1:], 1):
        if word.text is None:
            sight.require(NEVER, "it cannot be seen whether make would be told what to run")
        text = word.text or ""
        if "$" in text or ("=" in text and not text.startswith("-")):
            sight.require(at, f"make {text} may change what is run")
    return sight


def python(words: "Sequence[Word]") -> Sight:
    """Look at Python, and at a module that it runs as at the program of that name."""
    sight = interpreters.LOOKERS["python"](words)
    at = next((at for at, word in enumerate(words) if word.text == "-m"), len(words)) + 1
    # A rule must reach the name after -m: if that is where the need ends, -m is an option of Python's own.
    if at < len(words) and sight.need == at and words[at].text is not None:
        module = look(words[at:])
        sight.lines += module.lines
        sight.named += module.named
        if module.need >= 0:
            place = NEVER if module.need >= NEVER else module.need + at
            sight.require(place, module.reason, guard=module.guard)
    return sight


_LOOKERS: "dict[str, Looker]" = {
    **knowledge.LOOKERS,
    **wrappers.LOOKERS,
    **runners.LOOKERS,
    **interpreters.LOOKERS,
    **streams.LOOKERS,
    **builtins.LOOKERS,
    "git": git,
    **dict.fromkeys(["python", "pypy", "py", "pythonw", "graalpy", "jython"], python),
    **dict.fromkeys(["tar", "gtar", "bsdtar"], tar),
    **dict.fromkeys(["make", "gmake", "bmake"], make),
}


def alternatives(words: "Sequence[Word]") -> "Sequence[Sequence[Word]]":
    """Give other ways to say the same, which a rule that denies or asks is held against as well."""
    if name_of(words) == "git":
        plain = plainly(words)
        return () if plain is None else (plain,)
    return ()
