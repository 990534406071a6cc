"""Starts a process in a job: suspended until it is a member, so that nothing of it is ever outside."""

import os

from agent_exec.host.windows import kernel, quoting
from agent_exec.host.windows.program import program_error
from agent_exec.model.errors import LaunchFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.host.windows.jobobject import Job
    from agent_exec.model.command import Launch

_SUSPENDED = 0x4
_NEW_GROUP = 0x200
_NO_WINDOW = 0x8000000


class Spawned:
    """A process that runs, and our ends of its streams; `stdin` is 0 if it was given none."""

    __slots__ = ("pid", "process", "stderr", "stdin", "stdout")

    def __init__(self) -> None:
        self.pid = self.process = self.stdin = self.stdout = self.stderr = 0

    def close(self) -> None:
        """Give back every handle that is still in our hands; harmless when repeated."""
        for name in ("process", "stdin", "stdout", "stderr"):
            handle = getattr(self, name)
            if handle:
                kernel.close(handle)
                setattr(self, name, 0)


def spawn(launch: "Launch", job: "Job", stdin: int = -1) -> Spawned:
    """Start a launch as the first member of a job; raise the typed error if the system will not.

    If the launch takes no input from us, it reads a copy of the descriptor `stdin`.
    """
    spawned = Spawned()
    theirs: list[int] = []
    try:
        try:
            if launch.input:
                spawned.stdin, end = kernel.pipe(reading=False)
            elif stdin >= 0:
                end = kernel.duplicate(kernel.handle_of(stdin), inheritable=True)
            else:
                end = kernel.null()
            theirs.append(end)
            spawned.stdout, end = kernel.pipe(reading=True)
            theirs.append(end)
            spawned.stderr, end = kernel.pipe(reading=True)
            theirs.append(end)
        except OSError as error:
            raise LaunchFailed(f"no pipes for the command: {error.strerror}", errno=error.errno) from error
        _start(launch, job, spawned, theirs)
    except BaseException:
        spawned.close()
        raise
    finally:
        for handle in theirs:
            kernel.close(handle)
    return spawned


def words(launch: "Launch") -> tuple[str, str, list[str], dict[str, str]]:
    """Return a launch's program, directory, argv and environment, which are text on this system."""
    env = {os.fsdecode(name): os.fsdecode(value) for name, value in launch.env.items()}
    argv = [os.fsdecode(word) for word in launch.argv]
    return os.fsdecode(launch.program), os.fsdecode(launch.cwd), argv, env


def _start(launch: "Launch", job: "Job", spawned: Spawned, stdio: list[int]) -> None:
    program, cwd, argv, env = words(launch)
    line = quoting.command_line(argv)
    flags = _SUSPENDED | _NEW_GROUP | _NO_WINDOW
    try:
        spawned.process, thread, spawned.pid = kernel.create_process(
            program, line, cwd, env, stdio=stdio, flags=flags
        )
    except OSError as error:
        raise program_error(getattr(error, "winerror", 0), argv[0], cwd) from error
    try:
        job.add(spawned.process)
        kernel.resume(thread)
    except BaseException as error:
        kernel.terminate(spawned.process, 1)
        if isinstance(error, OSError):
            raise LaunchFailed(
                f"the command could not be put into a job: {error.strerror}", errno=error.errno
            ) from error
        raise
    finally:
        kernel.close(thread)
