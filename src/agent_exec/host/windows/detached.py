"""Starts a process that outlives this one: no console, outside of all jobs if allowed, nothing inherited."""

import os
import sys

from agent_exec.host.windows import kernel, quoting
from agent_exec.model.errors import LaunchFailed, Unsupported
from agent_exec.places import PACKAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

_DETACHED = 0x8
_NEW_GROUP = 0x200
_BREAKAWAY = 0x1000000

_BOOT = "import sys; sys.path.append(sys.argv[1]); from agent_exec.host.windows.detached import main; main()"


def detach(entry: str, fds: "Sequence[int]") -> None:
    """Start a process in the `main(fds)` of a module, with copies of these descriptors only (-1 is none)."""
    theirs: list[int] = []
    try:
        handles = [_lend(fd, theirs) if fd >= 0 else -1 for fd in fds]
        _start([entry, *map(str, handles)], theirs)
    except OSError as error:
        raise LaunchFailed(f"no process for the job: {error.strerror}", errno=error.errno) from error
    finally:
        for handle in theirs:
            kernel.close(handle)


def main() -> "NoReturn":
    """In the new process: take the descriptors, and go in; does not return."""
    code = 1
    try:
        entry, *handles = sys.argv[2:]
        fds = [kernel.descriptor(handle) if handle >= 0 else -1 for handle in map(int, handles)]
        __import__(entry)
        sys.modules[entry].main(fds)
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def _lend(fd: int, theirs: list[int]) -> int:
    """Return a copy of what is behind a descriptor, to be inherited."""
    handle = kernel.duplicate(kernel.handle_of(fd), inheritable=True)
    theirs.append(handle)
    return handle


def _start(words: "Sequence[str]", inherited: "Sequence[int]") -> None:
    program = _interpreter()
    root = os.path.dirname(PACKAGE)
    line = quoting.command_line([program, "-IS", "-c", _BOOT, root, *words])
    # It prints nothing but the traceback of a bug of ours, and only where a developer asks for it.
    log = os.environ.get("AGENT_EXEC_HELPER_LOG")
    stdio: list[int] = []
    try:
        stdio.append(kernel.null())
        stdio.append(kernel.null(writing=True))
        stdio.append(kernel.appended(log) if log else kernel.null(writing=True))
        _create(program, line, stdio, inherited)
    finally:
        for handle in stdio:
            kernel.close(handle)


def _create(program: str, line: str, stdio: "Sequence[int]", inherited: "Sequence[int]") -> None:
    cwd, env = os.getcwd(), dict(os.environ)
    for flags in (_DETACHED | _NEW_GROUP | _BREAKAWAY, _DETACHED | _NEW_GROUP):
        try:
            process, thread, _ = kernel.create_process(
                program, line, cwd, env, stdio=stdio, inherited=inherited, flags=flags
            )
        except PermissionError:
            if flags & _BREAKAWAY:
                continue  # the job that we are in lets no process leave
            raise
        kernel.close(thread)
        kernel.close(process)
        return


def _interpreter() -> str:
    """Return the interpreter itself: what a virtual environment has in its place would hold handles, too."""
    if getattr(sys, "frozen", False) or not sys.executable:
        raise Unsupported("helpers are started with the Python interpreter, and this program has none")
    return getattr(sys, "_base_executable", None) or sys.executable
