"""A folder that a box sees, which /tmp is not; and somebody who is not root, to work there."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from bench import package, worker

_PLACES = ("/srv", "/opt", "~")
_PYTHON = "/usr/bin/python3"
"""An interpreter that everybody may run; ours may lie in somebody's home."""

_NOBODY = 65534


@contextmanager
def site() -> Iterator[str]:
    """Return a new folder that other users may enter too; it is deleted afterwards."""
    places = (os.path.realpath(os.path.expanduser(place)) for place in _PLACES)
    above = next((place for place in places if os.access(place, os.W_OK | os.X_OK)), None)
    with tempfile.TemporaryDirectory(prefix=".agent-exec-bench-", dir=above) as folder:
        os.chmod(folder, 0o755)
        yield os.path.realpath(folder)


@dataclass(frozen=True)
class Guest:
    """A user who is not root: the folder that is theirs, and how their workers are started."""

    folder: str
    words: tuple[str, ...] = ()
    env: Mapping[str, str] | None = None

    def python(self, module: str, *words: str) -> list[str]:
        """Return the command line of a worker of theirs."""
        if not self.words:
            return worker.python(module, *words)
        # Without the current folder, which is the checkout.
        return [*self.words, "-P", "-m", f"bench.workers.{module}", *words]


def guest(folder: str) -> Guest | None:
    """Return whoever we are, if that is not root; else nobody, with copies of all that they need.

    None where there is no way to be nobody, or no Python for them.
    """
    home = os.path.join(folder, "guest")
    theirs = os.path.join(home, "work")
    os.makedirs(theirs)
    if os.geteuid():
        return Guest(theirs)
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return None
    words = (setpriv, f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "--", _PYTHON)
    probe = [*words, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    if subprocess.run(probe, cwd="/", stderr=subprocess.DEVNULL, check=False).returncode:
        return None
    copy = os.path.join(folder, "packages")
    for name, above in (("agent_exec", package.root()), ("bench", worker.ROOT)):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(os.path.join(above, name), os.path.join(copy, name), ignore=ignored)
    subprocess.run([_PYTHON, "-m", "compileall", "-q", copy], check=True)
    for mine in (home, theirs):
        os.chown(mine, _NOBODY, _NOBODY)
    return Guest(theirs, words, {"PYTHONPATH": copy, "HOME": home})
