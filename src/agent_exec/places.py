"""Where our own files are on this machine: configuration, state, data, and the output of sessions."""

import os
import sys

PACKAGE = os.path.dirname(os.path.abspath(__file__))
"""Where our own code is."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIG = ("XDG_CONFIG_HOME", (".config",), "Roaming")
STATE = ("XDG_STATE_HOME", (".local", "state"), "Local")
DATA = ("XDG_DATA_HOME", (".local", "share"), "Local")
"""A variable that names a folder, where that folder is below the home without it, and its kind on Windows."""


def sessions_folder() -> str:
    """Return where servers keep the output of their sessions: in the folder for temporary files."""
    user = str(os.getuid()) if hasattr(os, "getuid") else "me"
    named = filter(None, map(os.environ.get, ("TMPDIR", "TEMP", "TMP")))
    above = next(filter(os.path.isdir, (*named, "/tmp", "/var/tmp")), ".")
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


def here() -> str:
    """Return the current working directory; raise WorkdirNotFound if it has been deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        from agent_exec.model.errors import WorkdirNotFound

        raise WorkdirNotFound(
            "the current working directory no longer exists; go to another, or name one"
        ) from None


def make_folder(path: str) -> None:
    """Make a folder, and those above it that are missing, for their owner alone; it may be there already."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        if not os.path.isdir(path):
            raise
    except FileNotFoundError:
        above = os.path.dirname(path)
        if above == path or os.path.lexists(above):
            raise  # there is nothing more to make: a link leads nowhere, or the system allows no folder here
        make_folder(above)
        make_folder(path)  # which another may have made meanwhile
