"""Finds a patch in a command that is about to be run: only where the shell would do just this one thing.

Anything that is not exactly one call with one here-document or one quoted
word, alone or after one plain `cd`, is left to the shell.
"""

import os
import re

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
_CALL = rf"(?:{'|'.join(NAMES)})"
_HERE = re.compile(_CALL + r"""[ \t]*<<[ \t]*(['"]?)([A-Za-z0-9_.][A-Za-z0-9_.-]*)\1[ \t]*""")
# In single quotes everything stands for itself, and `'\''` for a quote; in double quotes so does all that is
# neither a dollar, a backquote nor a backslash. `!` is history in some shells.
_PIECE = r"""'([^']*)'|"([^"$`!\\]*)"|\\(')"""
_QUOTED = re.compile(rf"{_CALL}[ \t]+(?P<word>(?:{_PIECE})+)[ \t\n]*")
_DIRECTORY = r"""(?:'(?![-+])([^'\n]+)'|"(?![-+])([^"$`!\n{not_quoted}]+)"|(?![-+])([{plain}]+))"""
_CD = r"cd[ \t]+" + _DIRECTORY + r"[ \t]*&&[ \t\n]*"
_CD_POSIX = re.compile(_CD.format(not_quoted=r"\\", plain=r"\w./+,@%:-"))
_CD_WINDOWS = re.compile(_CD.format(not_quoted="", plain=r"\w./+,@:\\-"))


class Intercepted(Value):
    """A patch that was to be applied by a command; `workdir` is the directory it enters first, as written."""

    workdir: str | None
    patch: str

    def directory(self, cwd: str) -> str:
        """Return the base of the patch's paths for a command run in `cwd`; `..` works as for `cd`."""
        return cwd if self.workdir is None else os.path.normpath(os.path.join(cwd, self.workdir))


def intercept(argv: "Sequence[str]") -> Intercepted | None:
    """Return the patch that a command would apply; None if it is to be run like any other.

    Raise ImplicitPatch for a patch without a call, whose lines no shell should see.
    """
    if not argv or (argv[0] not in NAMES and not any(word in argv[-1] for word in (*NAMES, BEGIN))):
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
    return None if len(argv) == 1 else _parse(script, _base(argv[0]) not in _POSIX)


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


def _parse(script: str, windows: bool) -> Intercepted | None:
    if "\0" in script:
        return None
    plain = script.replace("\r\n", "\n")
    if "\r" not in plain and script.count("\n") == script.count("\r\n"):  # every line ends with CR LF
        script = plain
    script = script.lstrip(" \t\n")
    workdir: str | None = None
    if entered := (_CD_WINDOWS if windows else _CD_POSIX).match(script):
        workdir = "".join(filter(None, entered.groups()))
        script = script[entered.end() :]
    if not windows and (quoted := _QUOTED.fullmatch(script)):
        patch = "".join(map("".join, re.findall(_PIECE, quoted["word"])))
        return Intercepted(workdir, patch) if BEGIN in patch else None
    head, _, rest = script.partition("\n")
    call, lines = _HERE.fullmatch(head), rest.split("\n")
    if call is None or call[2] not in lines:
        return None
    end = lines.index(call[2])
    if any(line.strip(" \t") for line in lines[end + 1 :]):
        return None
    return Intercepted(workdir, "".join(f"{line}\n" for line in lines[:end]))
