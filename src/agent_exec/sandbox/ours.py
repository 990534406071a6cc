"""What is ours on this machine: files that no confined command may change, folders that none may see."""

import os
import sys

from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CONFIG = ("XDG_CONFIG_HOME", (".config",), "Roaming")
STATE = ("XDG_STATE_HOME", (".local", "state"), "Local")
DATA = ("XDG_DATA_HOME", (".local", "share"), "Local")
"""A variable that names a folder, where that folder is below the home without it, and its kind on Windows."""

_VARIABLES = (
    "HOME",
    "AGENT_EXEC_ROOT",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_DATA_HOME",
    "TMPDIR",
    "TEMP",
    "TMP",
)
_last: "tuple[tuple[str | None, ...], tuple[str, ...]] | None" = None


class Ours(Value):
    """The `files` that stay as they are where they lie in a root, and the `folders` that are hidden."""

    __slots__ = ("files", "folders")

    def __init__(self, files: tuple[str, ...], folders: tuple[str, ...]) -> None:
        self.files = files
        self.folders = folders


def ours(files: "Sequence[str]" = (), folders: "Sequence[str]" = ()) -> Ours:
    """Return our interpreter, our code and `files`; our own folders and `folders`.

    Our own folders hold the configuration, the state with its tokens and
    history, the jobs and the output of sessions.
    """
    return Ours(
        (*own_paths(), *map(os.path.abspath, files)), (*own_folders(), *map(os.path.abspath, folders))
    )


def own_paths() -> tuple[str, ...]:
    """Return where our interpreter, its packages and our own code are."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return (sys.prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable)), package)


def own_folders() -> tuple[str, ...]:
    """Return the folders that we keep, whether they exist or not."""
    global _last  # noqa: PLW0603 - the variables are the same for one command after the other
    asked = tuple(map(os.environ.get, _VARIABLES))
    if _last is None or _last[0] != asked:
        found = [place("", *kind) for kind in (CONFIG, STATE, DATA)]
        found += [os.path.abspath(root) for root in (os.environ.get("AGENT_EXEC_ROOT"),) if root]
        _last = asked, tuple(path.rstrip(os.sep) for path in (*found, sessions_folder()))
    return _last[1]


def sessions_folder() -> str:
    """Return where servers keep the output of their sessions: in the folder for temporary files."""
    user = str(os.getuid()) if hasattr(os, "getuid") else "me"
    named = filter(None, map(os.environ.get, ("TMPDIR", "TEMP", "TMP")))
    above = next(filter(os.path.isdir, (*named, "/tmp", "/var/tmp")), os.getcwd())
    return os.path.join(os.path.abspath(above), f"agent-exec-sessions-{user}")


def place(
    name: str,
    variable: str,
    below_home: tuple[str, ...],
    kind: str,
    environ: "Mapping[str, str] | None" = None,
    platform: str = sys.platform,
    home: str | None = None,
) -> str:
    """Return where something of ours is: below what a variable says, or in the system's own place."""
    found = os.environ if environ is None else environ
    where = os.path.expanduser("~") if home is None else home
    if base := found.get(variable):
        pass
    elif platform == "win32":
        variable = "APPDATA" if kind == "Roaming" else "LOCALAPPDATA"
        base = found.get(variable) or os.path.join(where, "AppData", kind)
    else:
        base = os.path.join(where, *below_home)
    return os.path.join(base, "agent-exec", name)
