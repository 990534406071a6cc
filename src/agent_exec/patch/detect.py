"""Finds a patch in a command that is about to be run: only where the shell would do just this one thing.

Anything that is not exactly one call with one here-document or one quoted
word, alone or after one plain `cd`, is left to the shell.
"""

import os

from agent_exec.model.value import Value
from agent_exec.patch.errors import ImplicitPatch
from agent_exec.patch.grammar import BEGIN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = ("apply_patch", "applypatch")

_POSIX = ("bash", "sh", "zsh")
_POWERSHELL = ("powershell", "pwsh")
_QUIET = ("-nologo", "-noprofile")
_BLANKS = " \t"
_IN_WORD = "_-./+,@%:"
_IN_WORD_WINDOWS = "_-./+,@:\\"
_IN_TAG = "_-."
_NOT_IN_DOUBLE = '$`!"'


class Intercepted(Value):
    """A patch that was to be applied by a command; `workdir` is the directory it enters first, as written."""

    workdir: str | None
    patch: str

    def directory(self, cwd: str) -> str:
        """Give where the patch's paths begin for a command run in `cwd`: `..` undoes a name, as for `cd`."""
        return cwd if self.workdir is None else os.path.normpath(os.path.join(cwd, self.workdir))


def intercept(argv: "Sequence[str]") -> Intercepted | None:
    """Return the patch that a command would apply; None if it is to be run like any other.

    Raises ImplicitPatch for a patch without a call, whose lines no shell should see.
    """
    if not argv or (argv[0] not in NAMES and not _speaks_of_it(argv[-1])):
        return None
    if len(argv) == 2 and argv[0] in NAMES:
        return Intercepted(None, argv[1])
    script = argv[0] if len(argv) == 1 else _script(argv)
    if script is None:
        return None
    if script.lstrip().partition("\n")[0].strip() == BEGIN:
        raise ImplicitPatch(
            'patch detected without explicit call to apply_patch. Rerun as ["apply_patch", "<patch>"]'
        )
    return None if len(argv) == 1 else _read(script, _base(argv[0]) not in _POSIX)


def _speaks_of_it(script: str) -> bool:
    return NAMES[0] in script or NAMES[1] in script or BEGIN in script


def _base(program: str) -> str:
    name = program.replace("\\", "/").rpartition("/")[2]
    return name[:-4].lower() if name.lower().endswith(".exe") else name


def _script(argv: "Sequence[str]") -> str | None:
    """Return the text that a shell is to run; None if this is no such command."""
    shell, *options, script = argv
    name = _base(shell)
    if name in _POSIX:
        return script if options in (["-c"], ["-lc"]) else None
    lowered = [option.lower() for option in options]
    if name.lower() in _POWERSHELL:
        while lowered and lowered[0] in _QUIET:
            del lowered[0]
        return script if lowered == ["-command"] else None
    return script if name.lower() == "cmd" and lowered == ["/c"] else None


def _read(script: str, windows: bool) -> Intercepted | None:
    if "\r" in script:
        script = _without_returns(script)
    head, newline, rest = script.lstrip(" \t\n").partition("\n")
    workdir: str | None = None
    if head.startswith("cd") and head[2:3] in (" ", "\t"):
        word = _word(head[2:].lstrip(_BLANKS), windows)
        if word is None:
            return None
        workdir, head = word
        head = head.lstrip(_BLANKS)
        if not head.startswith("&&"):
            return None
        head = head[2:].lstrip(_BLANKS)
        if not head:  # the call may stand on a line below
            head, newline, rest = rest.lstrip(" \t\n").partition("\n")
    if "\0" in script:
        return None
    word_given = None if windows else _quoted(head + newline + rest)
    if word_given is not None:
        return Intercepted(workdir, word_given)
    tag = _tag(head)
    if tag is None or not newline:
        return None
    body = _body(rest, tag)
    return None if body is None else Intercepted(workdir, body)


def _without_returns(script: str) -> str:
    """Return a script whose every line ends with CR LF as one whose lines end with LF."""
    plain = script.replace("\r\n", "\n")
    return plain if "\r" not in plain and script.count("\n") == script.count("\r\n") else script


def _word(text: str, windows: bool) -> tuple[str, str] | None:
    """Return the directory that is the first word, and what follows; None if it is not literal and plain."""
    quote = text[:1]
    if quote in ("'", '"'):
        word, end, rest = text[1:].partition(quote)
        if not end or (quote == '"' and any(mark in word for mark in _NOT_IN_DOUBLE)):
            return None
        if quote == '"' and "\\" in word and not windows:
            return None
    else:
        at = 0
        while at < len(text) and _plain(text[at], windows):
            at += 1
        word, rest = text[:at], text[at:]
    if not word or word[0] in "-+" or rest[:1] not in (" ", "\t", "&"):
        return None
    return word, rest


def _plain(character: str, windows: bool) -> bool:
    return character.isalnum() or character in (_IN_WORD_WINDOWS if windows else _IN_WORD)


def _quoted(script: str) -> str | None:
    r"""Return the patch of a call that has it as its one word, in quotes; None if the shell would do more.

    In single quotes everything stands for itself, and `'\''` for a quote; in
    double quotes so does all that is neither a dollar, a backquote nor a backslash.
    """
    name = next((name for name in NAMES if script.startswith(name)), None)
    if name is None or script[len(name) : len(name) + 1] not in (" ", "\t"):
        return None
    text, found = script[len(name) :].lstrip(_BLANKS), ""
    while text[:1] in ("'", '"') or text.startswith("\\'"):
        if text[0] == "\\":
            inner, text = "'", text[2:]
        else:
            quote = text[0]
            inner, end, text = text[1:].partition(quote)
            if not end or (quote == '"' and any(mark in inner for mark in (*_NOT_IN_DOUBLE, "\\"))):
                return None
        found += inner
    return found if BEGIN in found and not text.strip(" \t\n") else None


def _tag(head: str) -> str | None:
    """Give the word that ends the here-document of a call that is the whole line; None for any other line."""
    name = next((name for name in NAMES if head.startswith(name)), None)
    if name is None:
        return None
    rest = head[len(name) :].strip(_BLANKS)
    if not rest.startswith("<<"):
        return None
    word = rest[2:].lstrip(_BLANKS)
    if word[:1] in ("'", '"') and len(word) > 2 and word[-1] == word[0]:
        word = word[1:-1]
    if not word or word[0] == "-" or not word.isascii():
        return None
    return word if all(mark.isalnum() or mark in _IN_TAG for mark in word) else None


def _body(rest: str, tag: str) -> str | None:
    """Return the lines above the tag's; None if there is no such, or anything but blanks below it."""
    lines = rest.split("\n")
    if tag not in lines:
        return None
    at = lines.index(tag)
    if any(line.strip(_BLANKS) for line in lines[at + 1 :]):
        return None
    return "".join(f"{line}\n" for line in lines[:at])
