"""Which shell reads a command, and the words it is started with."""

import os
import sys

from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

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


class Shell(Value):
    """A shell: its kind (`bash`, `sh`, `zsh`, `powershell`, `cmd`) and the program."""

    __slots__ = ("kind", "path")

    def __init__(self, kind: str, path: str) -> None:
        self.kind = kind
        self.path = path


def passwd_shell() -> str | None:
    """Give the shell that the system has for the user; None if it has none."""
    if sys.platform != "win32":
        from pwd import getpwuid

        try:
            return getpwuid(os.getuid()).pw_shell or None
        except (KeyError, OSError):
            pass
    return None


def find(name: str) -> str | None:
    """Give the program of this name on the PATH; folders that depend on where we are do not count."""
    endings = (".exe",) if os.name == "nt" else ("",)
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for ending in endings:
            file = os.path.join(folder, name + ending)
            if os.path.isabs(folder) and os.path.isfile(file) and os.access(file, os.X_OK):
                return file
    return None


def user_shell(
    platform: str = sys.platform,
    passwd: "Callable[[], str | None]" = passwd_shell,
    exists: "Callable[[str], bool]" = os.path.isfile,
    which: "Callable[[str], str | None]" = find,
) -> Shell:
    """Give the shell for commands that name none.

    It is the user's own, if we know how to speak to it and it is there; else
    the usual ones of the platform, in their order. There is always one.
    """
    own = _own(platform, passwd, exists)
    if own is not None:
        return own
    for kind in _PREFERRED.get(platform, _PREFERRED_ELSEWHERE):
        found = _found(kind, exists, which)
        if found is not None:
            return found
    return _last(platform)


def named_shell(
    word: str,
    platform: str = sys.platform,
    passwd: "Callable[[], str | None]" = passwd_shell,
    exists: "Callable[[str], bool]" = os.path.isfile,
    which: "Callable[[str], str | None]" = find,
) -> Shell:
    """Give the shell that a word means, by the last part of a path, without its ending.

    Only the kind is taken from the word: the program is the user's own shell
    if that is of this kind, else what is found on this machine. A path that
    a model writes is never executed.
    """
    kind = kind_of(word, platform)
    if kind is None:
        return _last(platform)
    own = _own(platform, passwd, exists)
    if own is not None and own.kind == kind:
        return own
    return _found(kind, exists, which) or _last(platform)


def kind_of(word: str, platform: str = sys.platform) -> str | None:
    """Give the kind of shell that a name or a path means; None for one that we cannot speak to."""
    if platform == "win32":
        word = word.replace("\\", "/").lower()
    kind = _KINDS.get(word.rstrip("/").rpartition("/")[2].partition(".")[0])
    return None if kind == "cmd" and platform != "win32" else kind


def argv(shell: Shell, cmd: str, login: bool) -> list[str]:
    """Give the words that make a shell run a command."""
    if shell.kind == "powershell":
        script = cmd if cmd.startswith(UTF8_PREFIX) else UTF8_PREFIX + cmd
        return [shell.path, *(() if login else ("-NoProfile",)), "-Command", script]
    if shell.kind == "cmd":
        return [shell.path, "/c", cmd]
    return [shell.path, "-lc" if login else "-c", cmd]


def _own(platform: str, passwd: "Callable[[], str | None]", exists: "Callable[[str], bool]") -> Shell | None:
    path = None if platform == "win32" else passwd()
    kind = kind_of(path, platform) if path else None
    return Shell(kind, path) if path and kind and os.path.isabs(path) and exists(path) else None


def _found(kind: str, exists: "Callable[[str], bool]", which: "Callable[[str], str | None]") -> Shell | None:
    for name in _PROGRAMS.get(kind, (kind,)):
        path = which(name)
        if path:
            return Shell(kind, path)
    return next((Shell(kind, path) for path in _USUAL.get(kind, ()) if exists(path)), None)


def _last(platform: str) -> Shell:
    return Shell("cmd", "cmd.exe") if platform == "win32" else Shell("sh", "/bin/sh")
