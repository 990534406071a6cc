"""A workspace with a box around its commands, as the tests of legitimate work use it.

A box has a /tmp of its own. So a test never relies on its own interpreter, its
own package or a file of this checkout to be seen inside: any of them may lie
below /tmp. `Space.python` is one that is seen, `Space.child` and
`Space.package` put what is needed into the workspace.
"""

import functools
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import agent_exec
from agent_exec import Outcome
from agent_exec.model.choices import GitAccess, ProfileName
from agent_exec.model.output import Keep
from agent_exec.sandbox.profile import BoxLimits, Profile
from support import CHILDREN, processes_marked

NOBODY = 65534
BECOME_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
PRIVATE = ("/tmp/", "/var/tmp/")
"""What a box has for itself, and hides of the machine's."""

ORDINARY = sys.platform == "linux" and os.geteuid() == 0
"""Whether we are root, and can be somebody else too; otherwise we are an ordinary user ourselves."""
SPACES = ("tmp", "elsewhere", *(("nobody-tmp", "nobody-elsewhere") if ORDINARY else ()))
each_user = pytest.mark.parametrize("space", ("elsewhere", "nobody-tmp")[: 1 + ORDINARY], indirect=True)
"""For what takes long: in one place for each user."""

SOURCE = str(Path(agent_exec.__file__).parent.parent)
GIT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.invalid",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.invalid",
}


@functools.cache
def interpreter(*, nobody: bool = False) -> str:
    """Give a Python that a box shows, recent enough for our package; one that everybody may run, if asked."""
    tried = [os.path.realpath(sys.executable), shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")]
    # It is asked itself, for setpriv gives up its rights only when it has reached it.
    fit = "import os, sys; sys.exit(sys.version_info < (3, 11) or not os.access(sys.executable, os.X_OK))"
    become = BECOME_NOBODY if nobody else []
    for path in tried:
        if path is None or os.path.realpath(path).startswith(PRIVATE):
            continue
        ask = [*become, path, "-IS", "-c", fit]
        if subprocess.run(ask, cwd="/", capture_output=True, check=False).returncode == 0:
            return path
    pytest.skip("there is no Python that a box shows" + (" and everybody may run" if nobody else ""))


class User:
    """A process of an ordinary user's that runs commands for us; `site` holds our package and the driver."""

    def __init__(self, site: Path) -> None:
        self._process = subprocess.Popen(
            [*BECOME_NOBODY, interpreter(nobody=True), "-IS", str(site / "driver.py"), str(site)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd="/",
            env={
                "PATH": "/usr/local/bin:/usr/bin:/bin",
                "HOME": "/nonexistent",
                "LANG": "C.UTF-8",
                "AGENT_EXEC_TEST": os.environ["AGENT_EXEC_TEST"],
            },
        )

    def run(self, requests: Sequence[tuple[list[str], dict[str, Any]]]) -> list[Outcome]:
        """Run commands at the same time; raise what one of them met."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        pickle.dump(list(requests), self._process.stdin)
        self._process.stdin.flush()
        found = pickle.load(self._process.stdout)
        for answer in found:
            if isinstance(answer, BaseException):
                raise answer
        return list(found)

    def close(self) -> None:
        """Let it go."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


class Space:
    """A root, and commands that are confined to it: our own, or another user's."""

    def __init__(self, root: Path, user: User | None = None) -> None:
        self.root = root
        self.user = user
        self.profile = Profile("workspace-write", [str(root)])

    @property
    def python(self) -> str:
        """An interpreter that its commands may run."""
        return interpreter(nobody=self.user is not None)

    def wearing(
        self,
        *,
        name: ProfileName = "workspace-write",
        git: GitAccess = "read-only",
        tmp_mb: int = 1024,
        env: tuple[str, ...] = (),
        limits: BoxLimits | None = None,
    ) -> "Space":
        """Return the same folder with another profile."""
        other = Space(self.root, self.user)
        other.profile = Profile(name, [str(self.root)], git=git, tmp_mb=tmp_mb, env=env, limits=limits)
        return other

    def run(
        self,
        *argv: object,
        cwd: Path | str | None = None,
        stdin: bytes | None = None,
        tty: bool = False,
        timeout: float = 60,
        grace: float = 0.5,
        env: dict[str, str] | None = None,
        keep: Keep | None = None,
    ) -> Outcome:
        options: dict[str, Any] = {
            "cwd": str(cwd or self.root),
            "stdin": stdin,
            "tty": tty,
            "timeout": timeout,
            "grace": grace,
            "env": env,
            "keep": keep,
            "sandbox": self.profile,
        }
        words = list(map(str, argv))
        if self.user is None:
            return agent_exec.run(words, **options)
        self._hand_over()
        return self.user.run([(words, options)])[0]

    def at_once(self, *argvs: list[str]) -> list[Outcome]:
        """Run commands of another user at the same time."""
        assert self.user is not None
        self._hand_over()
        options = {"cwd": str(self.root), "timeout": 60, "sandbox": self.profile}
        return self.user.run([(argv, options) for argv in argvs])

    def sh(self, line: str, *, shell: str = "sh", tty: bool = False, stdin: bytes | None = None) -> str:
        """Run a shell line that must succeed without a complaint; return what it prints."""
        out = self.run(shell, "-ec", line, tty=tty, stdin=stdin)
        assert (out.exit_code, out.stderr_text, out.cause) == (0, "", None), (line, out)
        return out.stdout_text

    def py(self, code: str, *arguments: object) -> str:
        """Run a Python program that must succeed without a complaint; return what it prints."""
        out = self.run(self.python, "-IS", "-c", code, *arguments)
        assert (out.exit_code, out.stderr_text) == (0, ""), (code, out)
        return out.stdout_text

    def child(self, name: str, *arguments: object) -> list[str]:
        """Return the argv of one of the programs under tests/children, of which the root gets a copy."""
        shutil.copy(CHILDREN / f"{name}.py", self.root)
        return [self.python, "-IS", str(self.root / f"{name}.py"), *map(str, arguments)]

    def package(self) -> Path:
        """Return a folder in the root that holds a copy of our package."""
        return copy_package(self.root / "site")

    def host(self, *argv: object) -> str:
        """Run something as the same user outside of any box."""
        self._hand_over()
        become = [] if self.user is None else BECOME_NOBODY
        return subprocess.run(
            [*become, *map(str, argv)],
            cwd=self.root,
            env={**os.environ, **GIT},
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def _hand_over(self) -> None:
        """Let all that we have put there belong to the user."""
        if self.user is not None:
            give(self.root)


def give(folder: Path) -> None:
    """Let a folder and all in it belong to the ordinary user."""
    os.chown(folder, NOBODY, NOBODY)
    for above, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(Path(above, name), NOBODY, NOBODY, follow_symlinks=False)


def copy_package(where: Path) -> Path:
    """Put a copy of our package into a folder, and return that."""
    shutil.copytree(SOURCE, where, dirs_exist_ok=True)
    return where


def left(mark: str, word: str) -> dict[int, str]:
    """Return the processes of this test that bear a word in their arguments, whatever box they are in."""
    return {pid: line for pid, line in processes_marked(mark).items() if word in line}


@contextmanager
def folder_below_tmp() -> Iterator[Path]:
    """Return a folder in /tmp itself, whatever TMPDIR says; others may enter what is above it."""
    with _folder(Path("/tmp")) as folder:
        yield folder


@contextmanager
def folder_elsewhere() -> Iterator[Path]:
    """Return a folder that no box hides."""
    for base in (Path("/var/lib"), Path("/srv"), Path("/opt"), Path.home(), Path(__file__).parents[4]):
        if os.access(base, os.W_OK | os.X_OK) and not f"{base.resolve()}/".startswith(PRIVATE):
            with _folder(base.resolve()) as folder:
                yield folder
            return
    pytest.skip("there is no folder to write to but below /tmp")


@contextmanager
def _folder(base: Path) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="agent-exec-test-", dir=base))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def need(*programs: str) -> None:
    """Skip a test whose programs are not installed for everybody."""
    for program in programs:
        if shutil.which(program, path="/usr/local/bin:/usr/bin:/bin") is None:
            pytest.skip(f"{program} is not installed")
