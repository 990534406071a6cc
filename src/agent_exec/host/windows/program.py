"""Finds the program and checks the directory before anything is spawned, and names what is wrong."""

import ntpath
import os
import stat

from agent_exec.host.windows import quoting
from agent_exec.model.command import Command, Launch
from agent_exec.model.errors import (
    AgentExecError,
    CommandNotExecutable,
    LaunchFailed,
    NotADirectory,
    WorkdirForbidden,
    WorkdirNotFound,
    no_program,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal

    Kind = Literal["file", "directory"]
    Look = Callable[[str], Kind | None]

# What the system starts by itself; a PATHEXT may name more, which only a desktop opens.
_STARTED = (".com", ".exe", ".bat", ".cmd")
_SYSTEM_ROOT = "C:\\Windows"

_FILE_NOT_FOUND = 2
_PATH_NOT_FOUND = 3
_ACCESS_DENIED = 5
_BAD_FORMATS = (193, 216)
_TOO_LONG = 206
_BAD_DIRECTORY = 267
_NEEDS_ELEVATION = 740
_STORE_LINK = 0x8000001B


def prepare(command: Command) -> Launch:
    """Turn what was asked into what will be spawned; raise what stands in its way.

    A batch file becomes a run of cmd.exe. SYSTEMROOT is added to an
    environment without it, because hardly a program starts otherwise.
    """
    cwd = _directory(command.cwd)
    root = os.environ.get("SYSTEMROOT", _SYSTEM_ROOT)
    env = environment(os.environ if command.env is None else command.env, root)
    argv = tuple(os.fsdecode(word) for word in command.argv)
    program, argv = resolve(argv, cwd, env, root, look)
    return Launch(
        program=program,
        argv=argv,
        cwd=cwd,
        env=env,
        tty=command.tty,
        size=command.size,
        input=command.interactive or command.stdin is not None,
    )


def resolve(
    argv: "Sequence[str]", cwd: str, env: "Mapping[str, str]", root: str, look: "Look"
) -> tuple[str, tuple[str, ...]]:
    """Return the file to execute and its words, with `root` as the system's folder."""
    program = find_program(argv[0], cwd, env, root, look)
    words: tuple[str, ...]
    if quoting.is_batch(program):
        words = quoting.batch_words(program, argv[1:])
        # The system's own, whatever COMSPEC says: it is trusted with the quoting.
        program = ntpath.join(root, "System32", "cmd.exe")
        argv, longest = (program, *words), quoting.LONGEST_SHELL_LINE
    else:
        longest = quoting.LONGEST_LINE
        words = quoting.shell_words(program, argv[1:]) or tuple(argv[1:])
        argv = (argv[0], *words)
    if quoting.length(quoting.command_line(argv)) > longest:
        raise program_error(_TOO_LONG, program, cwd)
    return program, argv


def find_program(name: str, cwd: str, env: "Mapping[str, str]", root: str, look: "Look") -> str:
    """Return the full path of the file to execute.

    A plain name is looked up in the command's own PATH, any other seen from
    `cwd`; the ending may be left out where PATHEXT has it. The current
    directory is searched only where PATH names it.
    """
    endings = _endings(env)
    if _is_path(name):
        return _choose([ntpath.join(cwd, name)], name, cwd, endings, look, None)
    path = variable(env, "PATH")
    if path is None:
        path = f"{root}\\System32;{root}"
    folders = [folder.strip().strip('"') for folder in path.split(";")]
    places = [ntpath.join(cwd, folder, name) for folder in folders if folder]
    return _choose(places, name, cwd, endings, look, path)


def on_path(name: str, path: str) -> str | None:
    """Return the program of this name in the absolute folders of a PATH; None if there is none."""
    env = {**os.environ, "PATH": ";".join(folder for folder in path.split(";") if ntpath.isabs(folder))}
    try:
        return find_program(name, _SYSTEM_ROOT, env, _SYSTEM_ROOT, look) if env["PATH"] else None
    except AgentExecError:
        return None


def environment(env: "Mapping[str, str] | Mapping[str | bytes, str | bytes]", root: str) -> dict[str, str]:
    """Return an environment in the system's form: sorted, and of names that differ in case alone the last."""
    found: dict[str, tuple[str, str]] = {}
    for name, value in env.items():
        text = os.fsdecode(name)
        found[text.upper()] = text, os.fsdecode(value)
    found.setdefault("SYSTEMROOT", ("SYSTEMROOT", root))
    return dict(found[key] for key in sorted(found))


def variable(env: "Mapping[str, str]", name: str) -> str | None:
    """Return the value of a variable, however its name is written; None if there is none."""
    if name in env:
        return env[name]
    return next((value for key, value in env.items() if key.upper() == name), None)


def look(path: str) -> "Kind | None":
    """Return what is at this path; None if there is nothing that we could use."""
    try:
        mode = os.stat(path).st_mode
    except ValueError:
        return None
    except OSError:
        return "file" if _is_alias(path) else None
    return "directory" if stat.S_ISDIR(mode) else "file"


def program_error(error: int, name: str, cwd: str) -> AgentExecError:
    """Return the typed error for a program that the system would not start, by the system's number."""
    if error in (_FILE_NOT_FOUND, _PATH_NOT_FOUND):
        if _is_path(name):
            return no_program(name, f"(seen from {cwd!r})", "check the path")
        return no_program(name, "in the folders of PATH", "install it, or give its path")
    if error == _ACCESS_DENIED:
        return CommandNotExecutable(f"{name!r} may not be executed: access denied", program=name)
    if error in _BAD_FORMATS:
        return CommandNotExecutable(f"{name!r} is in no format this system executes", program=name)
    if error == _NEEDS_ELEVATION:
        return CommandNotExecutable(f"{name!r} asks for an administrator's rights", program=name)
    if error == _TOO_LONG:
        return LaunchFailed(
            f"the arguments of {name!r} are too long for this system. Pass them by a file or by stdin",
            program=name,
            errno=error,
        )
    if error == _BAD_DIRECTORY:
        return directory_error(None, cwd)
    return LaunchFailed(f"{name!r} could not be started: Windows error {error}", program=name, errno=error)


def directory_error(error: OSError | None, cwd: str) -> AgentExecError:
    """Return the typed error for a working directory that could not be entered; None if it seemed good."""
    if isinstance(error, NotADirectoryError):
        return NotADirectory(f"the working directory {cwd!r} is not a directory", cwd=cwd)
    if error is None or isinstance(error, PermissionError):
        return WorkdirForbidden(f"the working directory {cwd!r} may not be entered", cwd=cwd)
    if isinstance(error, FileNotFoundError):
        return WorkdirNotFound(f"no working directory {cwd!r}. Create it or choose another", cwd=cwd)
    return LaunchFailed(
        f"the working directory {cwd!r} cannot be used: {error.strerror}", cwd=cwd, errno=error.errno
    )


def _choose(
    places: "Sequence[str]", name: str, cwd: str, endings: "Sequence[str]", look: "Look", path: str | None
) -> str:
    """Return the first of these places where a program is; raise what was found instead."""
    blocked: str | None = None
    for place in places:
        for candidate in _candidates(place, endings):
            if look(candidate) == "file":
                return ntpath.normpath(candidate)
        found = look(place)
        # In a PATH a folder of that name is not a program, and not an error either.
        if found is not None and (found == "file" or path is None):
            blocked = blocked or found
    if blocked == "directory":
        raise CommandNotExecutable(f"{name!r} is a directory, not a program", program=name)
    if blocked == "file":
        raise CommandNotExecutable(
            f"{name!r} is not executable: its name ends in none of {', '.join(endings)}. "
            "Run it with its interpreter",
            program=name,
        )
    raise program_error(_FILE_NOT_FOUND, name, cwd)


def _candidates(place: str, endings: "Sequence[str]") -> list[str]:
    """Return the files that this place may stand for, the likeliest first."""
    named = [place] if place.rstrip(" .").lower().endswith(tuple(endings)) else []
    return [*named, *(place + ending for ending in endings)]


def _endings(env: "Mapping[str, str]") -> list[str]:
    """Return the endings of programs, in the order of the command's PATHEXT."""
    wanted = [ending.strip().lower() for ending in (variable(env, "PATHEXT") or "").split(";")]
    return [ending for ending in dict.fromkeys(wanted) if ending in _STARTED] or list(_STARTED)


def _is_alias(path: str) -> bool:
    """True if this is a program of the Store, a link that can be executed and not looked behind."""
    try:
        return getattr(os.lstat(path), "st_reparse_tag", 0) == _STORE_LINK
    except OSError:
        return False


def _is_path(name: str) -> bool:
    return any(character in name for character in "/\\:")


def _directory(cwd: str | bytes | None) -> str:
    """Return the absolute working directory, checked."""
    try:
        folder = os.path.abspath(os.fsdecode(cwd)) if cwd is not None else os.getcwd()
    except FileNotFoundError:
        raise WorkdirNotFound(
            "the caller's own working directory no longer exists; name one with cwd"
        ) from None
    try:
        mode = os.stat(folder).st_mode
    except ValueError:
        raise directory_error(FileNotFoundError(), folder) from None
    except OSError as error:
        raise directory_error(error, folder) from None
    if not stat.S_ISDIR(mode):
        raise directory_error(NotADirectoryError(), folder)
    return folder
