"""Files that commands write without a redirection, and commands that run files of the folder or variables."""

from collections.abc import Callable, Sequence

from agent_exec.policy.programs.effects import Effects, arguments, name_of, unversioned
from agent_exec.policy.programs.program_table import INTERPRETERS
from agent_exec.policy.programs.wrappers import SHELLS
from agent_exec.policy.shell.word import Word, base

_BUILDERS = frozenset(
    """
    make gmake bmake ninja samu meson scons cmake ctest rake just ant invoke gradle gradlew mvn mvnw
    mvnd bazel bazelisk tox nox npm pnpm yarn yarnpkg bun cargo pre-commit bundle autoreconf automake
    autoconf configure
    """.split()
)
"""Programs that run what is written in files of the folder, and in variables."""
_TESTERS = frozenset(
    """
    pytest py.test go jest mocha vitest ava karma eslint stylelint webpack vite rollup mypy coverage
    rspec phpunit composer dotnet swift terraform tofu pip uv poetry hatch pdm deno node unittest nose
    nose2 sphinx-build
    """.split()
)
"""Programs that run what is written in files of the folder."""
_COMPRESSED = ("z", "bz", "xz", "lz", "zstd")
_READERS = frozenset("grep egrep fgrep diff cmp less more".split())
"""Programs with a script for compressed files, which runs what variables name."""
_INERT = (
    ".log .txt .out .err .md .rst .csv .tsv .diff .patch .html .svg .png .jpg .pdf .bak .orig .old .gz .tgz "
    ".zip .xz .bz2 .tmp .lst"
).split()
"""Endings of files that no builder runs."""
_NOT_INERT = frozenset(["cmakelists.txt"])
_ANYTHING = Word(None, source="…")


def reads_variables(words: Sequence[Word]) -> bool:
    """True if a command runs what variables of any name say."""
    name = name_of(words)
    if name in _BUILDERS:
        return True
    return any(name.startswith(one) and name[len(one) :] in _READERS for one in _COMPRESSED)


def runs_folder(words: Sequence[Word]) -> bool:
    """True if a command runs files of the folder that its words do not name."""
    name = unversioned(name_of(words))
    if name in _BUILDERS or name in _TESTERS:
        return True
    return name.startswith("py") and any(word.text == "-m" for word in words[1:])


def runs_written(words: Sequence[Word], effects: Effects, names: "set[str]", loose: bool) -> bool:
    """True if what a command runs has been written before, as a file of one of these names.

    `loose` means that files of unknown names have been written.
    """
    name = words[0].text or ""
    if "/" in name and base(name) in names:
        return True
    deciding = [word.text for word in words[1 : min(effects.need, len(words) - 1) + 1]]
    if any(text and base(text) in names for text in deciding):
        return True
    program = unversioned(name_of(words))
    code = program in (".", "source") or program in SHELLS or program in INTERPRETERS
    return loose and (("/" in name and not name.startswith("/")) or (code and bool(deciding)))


def inert(word: Word) -> bool:
    """True if no builder runs a file of this name."""
    text = (word.text or "").casefold()
    return text.startswith("/dev/") or (text.endswith(tuple(_INERT)) and base(text) not in _NOT_INERT)


def of_git(word: Word) -> bool:
    """True if a file may be one that git runs."""
    return word.text is None or ".git" in word.text.split("/") or "hooks" in word.text.split("/")


def written(words: Sequence[Word]) -> list[Word]:
    """Return the files that a command writes, as far as its words say; one without a text for any."""
    find = _WRITERS.get(name_of(words))
    return [] if find is None else find(words)


def _operands(words: Sequence[Word], valued: str = "") -> list[Word]:
    return arguments(words, valued.split())[0]


def _last(words: Sequence[Word]) -> list[Word]:
    """Return the last word, and the names that the others have if it is a folder."""
    if any((word.text or "").startswith(("-t", "--target")) for word in words):
        return [_ANYTHING]
    operands = _operands(words, "-m -o -g -S --mode --owner --group --suffix")
    if not operands or any(not word.single for word in operands):
        return [_ANYTHING]
    target = operands[-1].text
    if len(operands) == 2 and target is not None and "." in base(target).strip("."):
        return operands[-1:]
    return operands


def _dd(words: Sequence[Word]) -> list[Word]:
    return [
        _ANYTHING if word.text is None else Word(word.text[3:])
        for word in words[1:]
        if word.text is None or word.text.startswith("of=")
    ]


def _git(words: Sequence[Word]) -> list[Word]:
    command = next((word.text for word in words[1:] if word.text in ("apply", "am", "mv")), None)
    return [] if command is None else [_ANYTHING] if command != "mv" else _last(words[1:])


def _tar(words: Sequence[Word]) -> list[Word]:
    first = words[1].text or "" if len(words) > 1 else ""
    packs = first.startswith("--") or any(mark in first for mark in "ctrud")
    taken = any(word.text in ("--extract", "--get", "-x") for word in words)
    return [_ANYTHING] if taken or not packs else []


def _output(words: Sequence[Word]) -> list[Word]:
    """Return the word after -o or -O, or joined to it."""
    found = []
    for at, word in enumerate(words[1:], 1):
        text = word.text or ""
        if text in ("-o", "-O", "--output", "--output-document") and at + 1 < len(words):
            found.append(words[at + 1])
        elif text.startswith(("--output=", "--output-document=")):
            found.append(Word(text.partition("=")[2]))
        elif text.startswith(("-o", "-O")) and len(text) > 2:
            found.append(Word(text[2:]))
        elif text in ("--remote-name", "-OJ", "-LO", "-sO", "-sLO", "-fsSLO"):
            found.append(_ANYTHING)
    return found


def _in_place(words: Sequence[Word]) -> list[Word]:
    changes = any((word.text or "").startswith(("-i", "--in-place", "-ni", "-Ei")) for word in words)
    return _operands(words)[1:] or [_ANYTHING] if changes else []


_WRITERS: dict[str, Callable[[Sequence[Word]], list[Word]]] = {
    **dict.fromkeys(["tee", "sponge", "gtee"], _operands),
    **dict.fromkeys("cp gcp mv gmv install ginstall ln gln link xxd".split(), _last),
    **dict.fromkeys(
        "patch gpatch unzip cpio pax rsync scp 7z 7za rename prename mmv unrar".split(),
        lambda _words: [_ANYTHING],
    ),
    **dict.fromkeys(["tar", "gtar", "bsdtar"], _tar),
    **dict.fromkeys("sort gsort curl wget shuf iconv gcc cc objcopy".split(), _output),
    **dict.fromkeys(["sed", "gsed"], _in_place),
    "uniq": lambda words: _operands(words, "-f -s -w --skip-fields --skip-chars --check-chars")[1:],
    "dd": _dd,
    "git": _git,
}
