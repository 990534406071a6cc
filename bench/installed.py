"""The program as a user has it: installed by pip into a virtual environment that holds nothing else."""

import functools
import hashlib
import os
import shutil
import subprocess
import sys

from bench.worker import ROOT

_SOURCES = ("pyproject.toml", "scripts", "src")
_READY = "ready"

ENV = {"PYTHONPATH": ROOT}
"""The variables of a worker that takes `agent_exec` from there, and from nowhere else."""


@functools.cache
def folder() -> str:
    """Return the environment: the one that was made before, unless the source has changed since."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    place = os.path.join(cache, "agent-exec-bench")
    found = os.path.join(place, _digest())
    if not os.path.exists(os.path.join(found, _READY)):
        shutil.rmtree(place, ignore_errors=True)
        python = os.path.join(found, "bin", "python")
        # Without pip, which brings what makes the start of this Python slower, and ours look faster.
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", found], check=True)
        pip = [sys.executable, "-m", "pip", "--python", python]
        subprocess.run([*pip, "install", "--quiet", "--no-deps", ROOT], check=True)
        with open(os.path.join(found, _READY), "w", encoding="ascii"):
            pass
    return found


def interpreter() -> str:
    """Return its Python."""
    return os.path.join(folder(), "bin", "python")


def program() -> str:
    """Return its `agent-exec`."""
    return os.path.join(folder(), "bin", "agent-exec")


def worker(module: str, *words: str) -> list[str]:
    """Return the command line of a worker of ours that runs there, with ENV."""
    return [interpreter(), "-m", f"bench.workers.{module}", *words]


def _digest() -> str:
    """Return a word for all that is installed, and for the interpreter it is installed with."""
    found = hashlib.sha256(f"{sys.version} {os.path.realpath(sys.executable)}".encode())
    for path in sorted(path for name in _SOURCES for path in _files(os.path.join(ROOT, name))):
        with open(path, "rb") as file:
            found.update(os.path.relpath(path, ROOT).encode() + b"\0" + file.read())
    return found.hexdigest()[:12]


def _files(path: str) -> list[str]:
    if os.path.isfile(path):
        return [path]
    return [
        os.path.join(place, name)
        for place, _, names in os.walk(path)
        for name in names
        if not name.endswith(".pyc")
    ]
