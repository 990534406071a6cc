"""Which shell reads a command, how words are quoted for it, and a failure that its exit code hides."""

import os
import sys

from agent_exec.model.value import Value
from agent_exec.places import PIPELINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

UTF8_PREFIX = "[Console]::OutputEncoding=[System.Text.Encoding]::UTF8;\n"
"""Without it PowerShell prints in the code page of the machine."""

POSIX_KINDS = ("bash", "sh", "zsh")
_KINDS = {name: name for name in POSIX_KINDS} | {
    "pwsh": "powershell",
    "powershell": "powershell",
    "cmd": "cmd",
}
_PROGRAMS = {"powershell": ("pwsh", "powershell")}
_USUAL = {
    "bash": ("/bin/bash", "/usr/bin/bash"),
    "sh": ("/bin/sh",),
    "zsh": ("/bin/zsh", "/usr/bin/zsh"),
}
_PREFERRED = {"darwin": ("zsh", "bash"), "win32": ("powershell",)}
_PREFERRED_ELSEWHERE = ("bash", "zsh")

POSIX_SHELLS = ("bash", "dash", "ksh", "sh", "zsh")
POWERSHELLS = ("powershell", "pwsh")

LONGEST_WORD = 32_000
"""How many characters fit into one word of an argv: Linux takes 128 KiB, and a character up to 4 bytes."""

# PowerShell ends a quoted string at the typographic kinds too.
_SINGLE_QUOTES = "'\u2018\u2019\u201a\u201b"

# By itself it exits with 0 or 1, whatever the program's code was. A program that was not found, or a
# cmdlet that failed, leaves no code at all: that is 1, not the 0 that `exit $null` would be.
_PASS_EXIT_CODE = "; if ($?) { exit 0 } elseif ($LASTEXITCODE) { exit $LASTEXITCODE } exit 1"


class Shell(Value):
    """A shell: its kind (`bash`, `sh`, `zsh`, `powershell`, `cmd`) and the program."""

    kind: str
    path: str


def passwd_shell() -> str | None:
    """Return the shell that the system has for the user; None if it has none."""
    if sys.platform != "win32":
        from pwd import getpwuid

        try:
            return getpwuid(os.getuid()).pw_shell or None
        except (KeyError, OSError):
            pass
    return None


def find(name: str, path: str | None = None) -> str | None:
    """Return the program of this name in the absolute folders of a PATH, by default our own."""
    from agent_exec.host import on_path

    return on_path(name, os.environ.get("PATH", os.defpath) if path is None else path)


def find_shell(
    word: str | None = None,
    platform: str = sys.platform,
    passwd: "Callable[[], str | None]" = passwd_shell,
    exists: "Callable[[str], bool]" = os.path.isfile,
    which: "Callable[[str], str | None]" = find,
) -> Shell:
    """Return the shell that a word means, or the shell for commands that name none; there is always one.

    It is the user's own, if its kind is meant and known, and it is there;
    else what is found on this machine, for no word in the order of the
    platform. Only the kind is taken from the word: a path that a model writes
    is never executed.
    """
    kinds = _PREFERRED.get(platform, _PREFERRED_ELSEWHERE) if word is None else (kind_of(word, platform),)
    own = None if platform == "win32" else passwd()
    kind = kind_of(own, platform) if own and os.path.isabs(own) and exists(own) else None
    if own and kind and (word is None or kind in kinds):
        return Shell(kind, own)
    for kind in filter(None, kinds):
        found = [path for name in _PROGRAMS.get(kind, (kind,)) if (path := which(name))]
        found += filter(exists, _USUAL.get(kind, ()))
        if found:
            return Shell(kind, found[0])
    return Shell("cmd", "cmd.exe") if platform == "win32" else Shell("sh", "/bin/sh")


def kind_of(word: str, platform: str = sys.platform) -> str | None:
    """Return the kind of shell that a name or a path means; None for one that we cannot speak to."""
    if platform == "win32":
        word = word.replace("\\", "/").lower()
    kind = _KINDS.get(word.rstrip("/").rpartition("/")[2].partition(".")[0])
    return None if kind == "cmd" and platform != "win32" else kind


def argv(shell: Shell, cmd: str, login: bool) -> list[str]:
    """Return the words that make a shell run a command."""
    if shell.kind == "powershell":
        script = cmd if cmd.startswith(UTF8_PREFIX) else UTF8_PREFIX + cmd
        return [shell.path, *(() if login else ("-NoProfile",)), "-Command", script]
    if shell.kind == "cmd":
        return [shell.path, "/c", cmd]
    return [shell.path, "-lc" if login else "-c", cmd]


def shell_for(platform: str) -> tuple[str, ...]:
    """Return the shell of a platform, as `sys.platform` calls it, with its switches; a line follows them."""
    if platform == "win32":
        return ("pwsh.exe", "-NoLogo", "-NoProfile", "-Command")
    if platform == "darwin":
        return ("zsh", "-lc")
    return ("/bin/sh", "-c")


def resolve_command(command: "Sequence[str]", shell_mode: str, shell: "Sequence[str]") -> list[str]:
    """Return the argv for these tokens.

    In "direct" mode the tokens are the argv, and the program is looked up when
    it is spawned. In "default" mode the shell gets one line in which every
    token is quoted: nothing in a token means anything to the shell.
    """
    if shell_mode == "direct":
        return list(command)
    if shell_name(shell) in POWERSHELLS:
        return [*shell, powershell_line(command)]
    line = " ".join(map(quote_posix, command))
    if len(line) > LONGEST_WORD:
        # The same command; but only each token, not the sum of them, must fit into one word.
        return [*shell, '"$@"', shell[0], *command]
    return [*shell, line]


def shell_name(shell: "Sequence[str]") -> str:
    """Return the plain name of a shell's program; it says how words are quoted for it."""
    name = shell[0].replace("\\", "/").rpartition("/")[2]
    return name[:-4] if name.lower().endswith(".exe") else name


def quote_posix(token: str) -> str:
    """Quote a token for a POSIX shell: always, so that it is no keyword, alias, option or assignment."""
    return "'" + token.replace("'", "'\"'\"'") + "'"


def powershell_line(words: "Sequence[str]") -> str:
    """Return the line that has PowerShell run exactly these words, and exit as the program does."""
    return f"& {' '.join(map(quote_powershell, words))}{_PASS_EXIT_CODE}"


def quote_powershell(token: str) -> str:
    """Quote a token for PowerShell, where a quote of any kind is doubled."""
    for quote in _SINGLE_QUOTES:
        token = token.replace(quote, quote * 2)
    return f"'{token}'"


# `make | tail`, `make || true` and `make; echo done` succeed if make fails. Bash reads a small file of ours
# before such a line. At its end, if it has succeeded although a part of a pipeline or an earlier command has
# failed, it writes their statuses to its stderr as an escape sequence, which is taken out of the output here.
# Nothing of the command is changed. Other shells cannot report: dash and sh know only the last status, and
# zsh would have to read another profile than the user's.

_START, _END = b"\x1b]agent-exec;pipeline;", b"\x07"
_LONGEST_REPORT = 300
"""How many bytes the sequence may have."""
_BROKEN_PIPE = 141
"""The status of a program that wrote to `head`, which is not a failure."""


def may_mask(line: str) -> bool:
    """True if a line is one whose exit code may hide a failure."""
    return "|" in line or ";" in line or "\n" in line


def shell_line(argv: "Sequence[str]") -> str:
    """Return the line that bash is to run by these words; "" if they are of another form."""
    if argv[0].rpartition("/")[2] == "bash":
        for place, word in enumerate(argv[1:-1], 2):
            if not word.startswith("-") or "x" in word:  # which traces what is ours too
                break
            if word.endswith("c") and not word.startswith("--"):
                return argv[place]
    return ""


def asked_for(shell: str, line: str, environ: "Container[object]") -> "dict[bytes, bytes]":
    """Return the variables that have a shell report; none if its kind cannot, or the line hides nothing."""
    if shell != "bash" or not may_mask(line) or b"BASH_ENV" in environ:
        return {}
    return {b"BASH_ENV": os.fsencode(PIPELINE)}


class Pipeline:
    """The report of one shell, taken out of what it prints."""

    __slots__ = ("_held", "statuses")

    def __init__(self) -> None:
        self.statuses: tuple[int, ...] = ()
        self._held = b""

    def strip(self, chunk: bytes) -> bytes:
        """Return a chunk of stderr without the report; last bytes are held if they may begin one."""
        data = self._held + chunk
        self._held = b""
        at = data.find(_START)
        if at < 0:
            half = next(
                (n for n in range(min(len(_START) - 1, len(data)), 0, -1) if data.endswith(_START[:n])), 0
            )
            self._held = data[len(data) - half :]
            return data[: len(data) - half]
        end = data.find(_END, at)
        if end < 0 and len(data) - at < _LONGEST_REPORT:
            self._held = data[at:]
            return data[:at]
        words = data[at + len(_START) : end].split(b";")
        if end < 0 or not all(word.isdigit() for word in words):
            return data
        self.statuses = tuple(map(int, words))
        return data[:at] + data[end + 1 :]

    def rest(self) -> bytes:
        """Return what was held, since nothing follows."""
        held, self._held = self._held, b""
        return held

    def notes(self, exit_code: int | None) -> list[str]:
        """Return a note if a part has failed although the whole did not."""
        if exit_code != 0 or all(status in (0, _BROKEN_PIPE) for status in self.statuses):
            return []
        statuses = " | ".join(map(str, self.statuses))
        if len(self.statuses) == 1:
            return [f"the exit code is that of the last command, and an earlier one ended with {statuses}"]
        return [f"the exit code is that of the last command; in a pipeline, others failed: {statuses}"]
