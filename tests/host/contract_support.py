"""What the checks of the contract share; needs the standard library and agent_exec alone."""

import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import agent_exec
from agent_exec.host import identify

WINDOWS = sys.platform == "win32"
SOURCE = os.path.dirname(os.path.dirname(agent_exec.__file__ or ""))
SLEEP = "import time; time.sleep(600)"
PARENT = (
    "import pathlib, subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-IS', '-c', 'import time; time.sleep(600)'])\n"
    "path = pathlib.Path(sys.argv[1])\n"
    "path.with_suffix('.part').write_text(str(child.pid))\n"
    "path.with_suffix('.part').rename(path)\n"
    "if sys.argv[2] == 'stay': time.sleep(600)\n"
)


class Skip(Exception):
    """This system, or what imitates it, cannot show whether the promise is kept."""


def python(code: str, *words: object) -> list[str]:
    return [sys.executable, "-IS", "-c", code, *map(str, words)]


def wine() -> bool:
    if sys.platform != "win32":
        return False
    import ctypes

    return hasattr(ctypes.WinDLL("ntdll"), "wine_get_version")


def wait_until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "never came true"
        time.sleep(0.005)


def gone(pid: int) -> bool:
    return identify(pid) is None


def read_pid(path: Path) -> int:
    wait_until(lambda: path.exists() and path.read_text())
    return int(path.read_text())


def equal(found: object, wanted: object) -> None:
    assert found == wanted, f"{found!r} is not {wanted!r}"


def raises(kind: type[Exception], call: Callable[[], object]) -> Exception:
    try:
        call()
    except kind as error:
        equal(type(error), kind)
        return error
    raise AssertionError(f"did not raise {kind.__name__}")


def handles() -> int:
    """Return how many handles or descriptors this process holds; a lock of Python's may be a handle, too."""
    gc.collect()
    if sys.platform != "win32":
        return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    import ctypes

    # Wine's GetProcessHandleCount always says 0, so every number that a handle may have is tried.
    known, flags = ctypes.WinDLL("kernel32").GetHandleInformation, ctypes.c_uint32()
    return sum(
        1 for number in range(4, 1 << 14, 4) if known(ctypes.c_void_p(number), ctypes.byref(flags)) != 0
    )


def run_script(code: str, *words: object, source: str = SOURCE, **env: str) -> str:
    """Run a script that uses agent_exec to its end, and return what it prints; fail if it fails."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        env=os.environ | {"PYTHONPATH": source} | env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, (done.returncode, done.stderr.decode("utf-8", "replace"))
    return done.stdout.decode()
