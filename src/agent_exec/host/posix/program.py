"""Finds the program and checks the directory before anything is spawned, and names what is wrong."""

import errno
import os
import stat

from agent_exec.host.posix.keeper.launch import STEP_BOX, STEP_CWD, STEP_KEEPER, STEP_PROGRAM, STEP_TERMINAL
from agent_exec.host.posix.system import own_environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.model import errors
    from agent_exec.model.command import Command, Launch, Variables
else:
    from agent_exec.model.lazy import Later

    errors = Later("agent_exec.model.errors")  # a start that succeeds needs none

DEFAULT_PATH = b"/usr/local/bin:/usr/bin:/bin"


def prepare(command: "Command") -> "Launch":
    """Turn what was asked into what will be spawned; raise what stands in its way."""
    from agent_exec.model.command import Launch

    cwd = directory(command.cwd)
    env = _environment(command.env)
    argv = tuple(os.fsencode(word) for word in command.argv)
    return Launch(
        program=find_program(argv[0], cwd, env.get(b"PATH", DEFAULT_PATH)),
        argv=argv,
        cwd=cwd,
        env=env,
        tty=command.tty,
        size=command.size,
        input=command.interactive or command.stdin is not None,
    )


def find_program(name: bytes, cwd: bytes, path: bytes) -> bytes:
    """Return the file to execute: a name without a slash is looked up in `path`, another seen from `cwd`."""
    if b"/" in name:
        # A directory passes for executable here; the spawn itself refuses it.
        if not os.access(os.path.join(cwd, name), os.X_OK):
            raise program_error(_problem(os.path.join(cwd, name)), name, cwd)
        return name
    worst = errno.ENOENT
    for folder in path.split(b":"):
        file = os.path.join(folder or b".", name)
        problem = _problem(os.path.join(cwd, file))
        if not problem:
            return file
        if problem == errno.EACCES:
            worst = problem
    raise program_error(worst, name, cwd, path=path)


def on_path(name: str, path: str) -> str | None:
    """Return the program of this name in the absolute folders of a PATH; None if there is none."""
    folders = b":".join(folder for folder in os.fsencode(path).split(b":") if folder.startswith(b"/"))
    try:
        return os.fsdecode(find_program(os.fsencode(name), b"/", folders)) if folders else None
    except errors.AgentExecError:
        return None


def program_error(
    error: int, name: bytes, cwd: bytes, *, path: bytes | None = None, file: bytes | None = None
) -> "errors.AgentExecError":
    """Return the typed error for a program looked for in `path`, or found as `file` and not executed."""
    shown = os.fsdecode(name)
    file = os.path.join(cwd, file or name)
    if error in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG):
        if os.path.exists(file) and (b"/" in name or path is None):
            return errors.CommandNotExecutable(
                f"{shown!r} cannot be executed: the interpreter named in its first line, or its loader, "
                "does not exist",
                program=shown,
            )
        if b"/" not in name:
            return errors.no_program(shown, "in the folders of PATH", "install it, or give its path")
        return errors.no_program(shown, f"(seen from {os.fsdecode(cwd)!r})", "check the path")
    if error == errno.EISDIR or (error == errno.EACCES and os.path.isdir(file)):
        return errors.CommandNotExecutable(f"{shown!r} is a directory, not a program", program=shown)
    if error == errno.EACCES:
        return errors.CommandNotExecutable(
            f"{shown!r} is not executable. Make it so (chmod +x), or run it with its interpreter",
            program=shown,
        )
    if error == errno.ENOEXEC:
        return errors.CommandNotExecutable(
            f"{shown!r} is in no format this system executes. A script needs a first line such as #!/bin/sh",
            program=shown,
        )
    if error == errno.E2BIG:
        return errors.LaunchFailed(
            f"the arguments and environment of {shown!r} are too long for this system. "
            "Pass them by a file or by stdin",
            program=shown,
            errno=error,
        )
    return errors.LaunchFailed(
        f"{shown!r} could not be started: {os.strerror(error)}", program=shown, errno=error
    )


def directory_error(error: int, cwd: bytes) -> "errors.AgentExecError":
    """Return the typed error for a working directory that could not be entered."""
    shown = os.fsdecode(cwd)
    if error == errno.ENOENT:
        return errors.WorkdirNotFound(
            f"no working directory {shown!r}. Create it or choose another", cwd=shown
        )
    if error == errno.ENOTDIR:
        return errors.NotADirectory(f"the working directory {shown!r} is not a directory", cwd=shown)
    if error == errno.EACCES:
        return errors.WorkdirForbidden(
            f"the working directory {shown!r} may not be entered: permission denied", cwd=shown
        )
    return errors.LaunchFailed(
        f"the working directory {shown!r} cannot be used: {os.strerror(error)}", cwd=shown, errno=error
    )


def launch_error(
    step: int, error: int, program: bytes, name: bytes, cwd: bytes, steps: "Sequence[str]" = ()
) -> "errors.AgentExecError":
    """Return the typed error for a step of a launch that the system refused; `steps` are those of its box."""
    if step == STEP_KEEPER or step >= STEP_BOX:
        return box_error(step, error, steps)
    if steps and error == errno.ENOENT and step in (STEP_CWD, STEP_PROGRAM):
        return _hidden(step, os.fsdecode(name), os.fsdecode(cwd))
    if step == STEP_CWD:
        return directory_error(error, cwd)
    if step == STEP_TERMINAL:
        return errors.LaunchFailed(f"no terminal for the command: {os.strerror(error)}", errno=error)
    return program_error(error, name, cwd, file=program)


def box_error(step: int, error: int, steps: "Sequence[str]") -> "errors.AgentExecError":
    """Return the typed error for a helper process, or its box, that could not be made or holds no longer."""
    number = step - STEP_BOX
    if number < 0:
        return errors.LaunchFailed(f"no helper process for the command: {os.strerror(error)}", errno=error)
    what = steps[number] if number < len(steps) else "an unknown step"
    changed = error in (errno.ENOENT, errno.ESTALE)  # what was there when the box was planned
    return errors.PlanFailed(
        f"the sandbox could not be set up, and so nothing was run: {what}: {os.strerror(error)}; "
        + ("try again; if that does not help, " if changed else "")
        + "`agent-exec sandbox doctor` tells more",
        errno=error,
        step=what,
    )


def box_ended() -> "errors.AgentExecError":
    """Return the typed error for a box that was gone before it could serve."""
    return errors.PlanFailed(
        "the sandbox ended while it was set up, and so nothing was run; "
        "`agent-exec sandbox doctor` tells more"
    )


def _hidden(step: int, name: str, cwd: str) -> "errors.AgentExecError":
    """Return the typed error for what was there when it was looked for, and is not there for a box."""
    if step == STEP_CWD:
        return errors.WorkdirNotFound(
            f"the working directory {cwd!r} cannot be seen in the sandbox, which hides /tmp and home folders."
            " Choose a root or a folder in one; `agent-exec sandbox explain` tells what would show it",
            cwd=cwd,
        )
    return errors.CommandNotExecutable(
        f"{name!r} cannot be executed in the sandbox, which hides /tmp and home folders: it cannot be seen "
        "there, or the interpreter named in its first line cannot, or its loader; "
        "`agent-exec sandbox explain` tells what would show it",
        program=name,
    )


def directory(cwd: str | bytes | None) -> bytes:
    """Return the absolute working directory, checked."""
    if cwd is not None and os.path.isabs(cwd):
        folder = os.fsencode(cwd)
    else:
        try:
            here = os.getcwdb()
        except FileNotFoundError:
            raise errors.WorkdirNotFound(
                "the caller's own working directory no longer exists; name one with cwd"
            ) from None
        if cwd is None:
            return here
        folder = os.path.join(here, os.fsencode(cwd))
    try:
        mode = os.stat(folder).st_mode
    except OSError as error:
        raise directory_error(error.errno or 0, folder) from None
    if not stat.S_ISDIR(mode):
        raise directory_error(errno.ENOTDIR, folder)
    if not os.access(folder, os.X_OK):
        raise directory_error(errno.EACCES, folder)
    return folder


def _environment(env: "Variables | None") -> dict[bytes, bytes]:
    """Return the environment in the system's form; a snapshot of our own by default."""
    if env is None:
        return own_environment()
    if env.encoded:
        return dict(env)  # type: ignore[arg-type]
    return {os.fsencode(name): os.fsencode(value) for name, value in env.items()}


def _problem(file: bytes) -> int:
    """Return the errno that executing this file would meet, as far as a look tells; 0 if none."""
    try:
        mode = os.stat(file).st_mode
    except OSError as error:
        return error.errno or errno.ENOENT
    if stat.S_ISDIR(mode):
        return errno.EISDIR
    return 0 if os.access(file, os.X_OK) else errno.EACCES
