"""Starts programs as copies of a process that has loaded all they need, which saves the start of an interpreter each time.

`python warmstart.py serve NAME MODULE…` is that process: one for each worker of the tests. `python -IS
warmstart.py NAME WORDS…` asks it for a copy that does what `python WORDS…` would do, and stands for it: it
passes on the descriptors, the environment and signals, ends with the same status, and the copy ends when it
is killed. `run` asks for a copy from a test, without a process between them.
"""

import json
import os
import select
import signal
import socket
import struct
import sys
from typing import NoReturn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager
    from ctypes import Array, c_char

WARMSTART = os.path.abspath(__file__)
PASSED_ON = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1)
PATIENCE = 60.0
ROOM = "X" * 16384
"""What the environments of copies may take more than that of the process that they are copies of."""
_STATUS = struct.Struct("i")


def serving(*modules: str) -> "AbstractContextManager[str]":
    """Start a process that has loaded these modules; return its name. It ends with the context."""
    import subprocess
    import uuid
    from contextlib import contextmanager

    @contextmanager
    def served() -> "Iterator[str]":
        name = f"agent-exec-tests-{uuid.uuid4().hex}"
        argv = [sys.executable, WARMSTART, "serve", name, *modules]
        env = {**os.environ, "AGENT_EXEC_TESTS_ROOM": ROOM}
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield name

    return served()


def run(name: str, words: "list[str]", cwd: str, env: "Mapping[str, str]") -> tuple[int, bytes, bytes]:
    """Have a copy do what `python WORDS…` would do, without input; return its status, stdout and stderr."""
    out, err = os.memfd_create("stdout"), os.memfd_create("stderr")
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        with socket.socket(socket.AF_UNIX) as there:
            there.settimeout(PATIENCE)
            _send(there, name, words, cwd, env, [nothing, out, err])
            code = os.waitstatus_to_exitcode(*_STATUS.unpack(there.recv(_STATUS.size)))
        return code, os.pread(out, os.fstat(out).st_size, 0), os.pread(err, os.fstat(err).st_size, 0)
    finally:
        for fd in (nothing, out, err):
            os.close(fd)


def _send(
    there: socket.socket, name: str, words: "list[str]", cwd: str, env: "Mapping[str, str]", fds: list[int]
) -> None:
    there.connect("\0" + name)
    asked = json.dumps({"words": words, "cwd": cwd, "env": dict(env), "umask": _umask()}).encode()
    socket.send_fds(there, [struct.pack("i", len(asked))], fds)
    there.sendall(asked)


def _umask() -> int:
    """Return the mask of this process for new files; only the system can tell without changing it."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1], 8) for line in file if line.startswith("Umask:"))


def ask(name: str, words: list[str]) -> NoReturn:
    """Have a copy made, and stand for it."""
    waker, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    for number in PASSED_ON:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    with socket.socket(socket.AF_UNIX) as there:
        _send(there, name, words, os.getcwd(), os.environ, [0, 1, 2])
        for fd in (0, 1, 2):  # so that the copy's end is theirs
            os.close(fd)
        while there.fileno() not in select.select([there.fileno(), waker], [], [])[0]:
            there.sendall(os.read(waker, 100))
        code = os.waitstatus_to_exitcode(*_STATUS.unpack(there.recv(_STATUS.size)))
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def serve(name: str, modules: list[str]) -> NoReturn:
    """Make copies of this process until stdin is closed."""
    import gc
    from importlib import import_module

    for module in modules:
        import_module(module)
    environment = _own_environment()
    waker, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("\0" + name)
    listener.listen(64)
    gc.collect()
    gc.freeze()
    copies: dict[int, socket.socket] = {}
    print("ready", flush=True)
    while True:
        watched: list[int | socket.socket] = [0, listener, waker, *copies.values()]
        ready, _, _ = select.select(watched, [], [])
        if 0 in ready:
            for pid in copies:
                os.kill(pid, signal.SIGKILL)
            os._exit(0)
        if waker in ready:
            os.read(waker, 4096)
        for pid in tuple(copies):
            if copies[pid] in ready:
                for number in copies[pid].recv(100) or (signal.SIGKILL,):
                    os.kill(pid, number)
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                _tell(copies.pop(pid), status)
        if listener in ready:
            there, _ = listener.accept()
            try:
                head, fds, _, _ = socket.recv_fds(there, 4, 3)
                asked = json.loads(there.recv(struct.unpack("i", head)[0], socket.MSG_WAITALL))
            except (OSError, ValueError, struct.error):
                there.close()  # killed before it could say what it wants
                continue
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                _become(asked, fds, environment)
            for fd in fds:
                os.close(fd)
            copies[pid] = there


def _tell(there: socket.socket, status: int) -> None:
    try:
        there.sendall(_STATUS.pack(status))
    except OSError:
        pass
    there.close()


def _own_environment() -> "Array[c_char]":
    """Return the memory that the system shows as the environment of this process and of its copies."""
    from ctypes import c_char

    with open("/proc/self/stat") as file:
        start, end = map(int, file.read().rpartition(")")[2].split()[47:49])
    return (c_char * (end - start)).from_address(start)


def _become(asked: dict[str, object], fds: list[int], environment: "Array[c_char]") -> NoReturn:
    """Be what was asked for, with its descriptors and nothing of ours."""
    from ctypes import pythonapi

    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, fd in enumerate(fds):
            os.dup2(fd, number)
        os.closerange(3, 1 << 16)
        os.setsid()
        os.chdir(str(asked["cwd"]))
        wanted, words, mask = asked["env"], asked["words"], asked["umask"]
        assert isinstance(mask, int)
        os.umask(mask)
        assert isinstance(wanted, dict)
        assert isinstance(words, list)
        shown = b"".join(os.fsencode(f"{name}={value}\0") for name, value in wanted.items())
        memoryview(environment).cast("B")[:] = shown.ljust(
            len(environment), b"\0"
        )  # raises if it is too long
        pythonapi.clearenv()  # its pointers led there
        for variable in os.environ.keys() - wanted.keys():
            del os.environ[variable]
        for variable, value in wanted.items():
            os.environ[variable] = value
        if words[0] == "-m":
            import runpy

            sys.argv = [words[1], *words[2:]]
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        elif words[0] == "-c":
            sys.argv = ["-c", *words[2:]]
            exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
        else:
            sys.argv = words
            with open(words[0]) as file:
                exec(compile(file.read(), words[0], "exec"), {"__name__": "__main__", "__file__": words[0]})
        status = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        status = 1
    sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], sys.argv[3:])
    ask(sys.argv[1], sys.argv[2:])
