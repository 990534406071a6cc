"""Inspects a command: looks its program up among all that are known to do more than their name says."""

from collections.abc import Sequence

from agent_exec.policy.programs import builtins, sed_awk, wrappers
from agent_exec.policy.programs.effects import NEVER, Effects, Inspector, name_of, unversioned
from agent_exec.policy.programs.git import git, without_globals
from agent_exec.policy.programs.program_table import PROGRAMS
from agent_exec.policy.shell.word import Word

_CROSS = ("-gcc", "-g++", "-c++", "-cpp", "-cc", "-clang", "-clang++", "-gfortran")
"""Compilers for other machines have the machine's name before their own."""


def inspect(words: Sequence[Word]) -> Effects:
    """Return the effects of a command."""
    name = name_of(words)
    found = _INSPECTORS.get(name) or _INSPECTORS.get(unversioned(name))
    if found is None and name.startswith(("ld-linux", "ld-musl")):
        found = PROGRAMS["ld.so"]
    if found is None and unversioned(name).endswith(_CROSS):
        found = PROGRAMS["gcc"]
    return Effects() if found is None else found(words)


def tar(words: Sequence[Word]) -> Effects:
    """Inspect tar, whose first word may be options without a dash."""
    effects = PROGRAMS["tar"](words)
    first = words[1].text if len(words) > 1 else None
    if first is not None and first[:1] != "-" and any(mark in first for mark in "IF"):
        effects.require(len(words) - 1, "tar I or F: it may run another program")
    return effects


def make(words: Sequence[Word]) -> Effects:
    """Inspect make, to which a word with = is a variable, and one with $ is expanded."""
    effects = PROGRAMS["make"](words)
    for at, word in enumerate(words[1:], 1):
        if word.text is None:
            effects.require(NEVER, "it cannot be seen whether make would run other commands")
        text = word.text or ""
        if "$" in text or ("=" in text and not text.startswith("-")):
            effects.require(at, f"make {text} may change what is run")
    return effects


def python(words: Sequence[Word]) -> Effects:
    """Inspect Python, and a module that it runs as the program of that name."""
    effects = PROGRAMS["python"](words)
    at = next((at for at, word in enumerate(words) if word.text == "-m"), len(words)) + 1
    # A rule must reach the name after -m: if that is where the need ends, -m is an option of Python's own.
    if at < len(words) and effects.need == at and words[at].text is not None:
        module = inspect(words[at:])
        effects.lines += module.lines
        effects.named += module.named
        if module.need >= 0:
            place = NEVER if module.need >= NEVER else module.need + at
            effects.require(place, module.reason, guard=module.guard)
            effects.code = effects.code or module.code
    return effects


_INSPECTORS: dict[str, Inspector] = {
    **PROGRAMS,
    **wrappers.SPECIAL,
    **sed_awk.SPECIAL,
    **builtins.SPECIAL,
    "git": git,
    **dict.fromkeys(["python", "pypy", "py", "pythonw", "graalpy", "jython"], python),
    **dict.fromkeys(["tar", "gtar", "bsdtar"], tar),
    **dict.fromkeys(["make", "gmake", "bmake"], make),
}


def alternatives(words: Sequence[Word]) -> Sequence[Sequence[Word]]:
    """Return other ways to say the same, to which rules that deny or ask are applied as well."""
    plain = without_globals(words) if name_of(words) == "git" else None
    return () if plain is None else (plain,)
