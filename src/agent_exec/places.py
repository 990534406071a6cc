"""Where our own files are on this machine: configuration, state, data, and the output of sessions."""

import os
import stat
import sys

PACKAGE = os.path.dirname(os.path.abspath(__file__))
"""Where our own code is."""
PIPELINE = os.path.join(PACKAGE, "requests", "pipeline.bash")
"""What bash reads so that it reports a failure which a pipeline masks."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

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


def history_place(
    environ: "Mapping[str, str] | None" = None, platform: str = sys.platform, home: str | None = None
) -> str:
    """Return the file of what was typed."""
    return place("history", *STATE, environ, platform, home)


def token_place(
    environ: "Mapping[str, str] | None" = None, platform: str = sys.platform, home: str | None = None
) -> str:
    """Return the file of the HTTP server's token, unless another is named."""
    return place("token", *STATE, environ, platform, home)


def inbox_place() -> str:
    """Return the folder of the approval inbox; no confined command sees it."""
    return place("approvals", *STATE)


def groups_folder() -> str:
    """Return the folder of groups, which all folders of jobs of a user share."""
    return place("groups", *DATA)


def servers_folder() -> str:
    """Return the folder of the private sockets through which the sessions of servers are watched."""
    return place("servers", *DATA)


def jobs_root(
    option: str | None = None,
    environ: "Mapping[str, str] | None" = None,
    platform: str = sys.platform,
    home: str | None = None,
) -> str:
    """Return the folder of jobs: the option, AGENT_EXEC_ROOT, $XDG_DATA_HOME, or the system's own place.

    What is empty counts as not given.
    """
    found = os.environ if environ is None else environ
    if option:
        return option
    if root := found.get("AGENT_EXEC_ROOT"):
        return root
    return place("jobs", *DATA, environ, platform, home)


_config: str | None = None  # the file that was chosen for this process; empty if there is none


def name_config(option: str | None) -> None:
    """Choose the configuration file of this process: the one that is named, or with None the usual one."""
    global _config  # noqa: PLW0603  # a program has one command line
    _config = option or None


def settle_config() -> str | None:
    """Return the configuration file, None if there is none; from now on no look at the disk is needed."""
    global _config  # noqa: PLW0603
    _config = config_file() or ""
    return _config or None


def config_file() -> str | None:
    """Return the user's configuration file: the chosen one, $AGENT_EXEC_CONFIG, or that in the usual place.

    One that is named may be missing; None if there is none in the usual place.
    """
    if _config is not None:
        return _config or None
    usual = config_place()
    return os.environ.get("AGENT_EXEC_CONFIG") or (usual if os.path.lexists(usual) else None)


def config_place() -> str:
    """Return where the system keeps the user's own configuration."""
    return place("config.toml", *CONFIG)


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
        if above == path or os.path.islink(above):
            raise  # there is nothing more to make, or a link leads nowhere
        make_folder(above)  # which another process may have made meanwhile
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            make_folder(path)  # which another process made meanwhile, as a folder or as something else


def is_private(folder: str) -> bool:
    """True if a path is a folder, not a link to one, that only this user can enter."""
    found = os.lstat(folder)
    if sys.platform == "win32":
        return os.path.isdir(folder)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def write_file(
    path: str,
    data: bytes,
    *,
    like: os.stat_result | None = None,
    new: bool = False,
    sync: bool = True,
    ready: "Callable[[], object] | None" = None,
) -> None:
    """Write a file whole: a reader, and a machine that crashes, finds the old content or the new.

    The file has the owner and the mode of `like`, or is private to the user.
    With `new`, raise FileExistsError if the path exists. Without `sync`, a
    machine that crashes may lose it: that is much faster. `ready` is called
    right before the content appears, and may raise to leave all as it was.
    """
    fresh = f"{path}.{os.urandom(4).hex()}.new"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(fresh, flags, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if like is not None and sys.platform != "win32":
                if (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
                    os.fchown(descriptor, like.st_uid, like.st_gid)
                os.fchmod(descriptor, like.st_mode & 0o7777)
            if sync:
                os.fsync(descriptor)
        if ready is not None:
            ready()
        if new:
            _link(fresh, path)
        else:
            os.replace(fresh, path)
    finally:
        try:
            os.unlink(fresh)
        except FileNotFoundError:
            pass
    if sync:
        _sync_folder(os.path.dirname(path) or ".")


def _link(source: str, target: str) -> None:
    """Give a file a second name; raise FileExistsError if that is taken."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:  # no hard links here
        if os.path.lexists(target):
            raise FileExistsError from None
        os.replace(source, target)


def _sync_folder(folder: str) -> None:
    """Flush a folder to the disk, where the system can."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
