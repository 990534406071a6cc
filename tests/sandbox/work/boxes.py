"""A workspace with a box around its commands, as the tests of legitimate work use it."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import agent_exec
from agent_exec import Outcome
from agent_exec.model.output import Keep
from agent_exec.sandbox.profile import BoxLimits, Profile
from support import CHILDREN, processes_marked

PYTHON = str(Path(sys.executable).resolve())
"""Not the one of a virtual environment below /tmp, which no box shows."""
SOURCE = str(Path(agent_exec.__file__).parent.parent)
GIT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.invalid",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.invalid",
}


class Space:
    """A root, and commands that are confined to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.profile = Profile("workspace-write", [str(root)])

    def wearing(
        self,
        *,
        name: str = "workspace-write",
        git: str = "read-only",
        tmp_mb: int = 1024,
        env: tuple[str, ...] = (),
        limits: BoxLimits | None = None,
    ) -> "Space":
        """Give the same folder with another profile."""
        other = Space(self.root)
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
        return agent_exec.run(
            list(map(str, argv)),
            cwd=str(cwd or self.root),
            stdin=stdin,
            tty=tty,
            timeout=timeout,
            grace=grace,
            env=env,
            keep=keep,
            sandbox=self.profile,
        )

    def sh(self, line: str, *, shell: str = "sh", tty: bool = False, stdin: bytes | None = None) -> str:
        """Run a shell line that must succeed without a complaint; give what it prints."""
        out = self.run(shell, "-ec", line, tty=tty, stdin=stdin)
        assert (out.exit_code, out.stderr_text, out.cause) == (0, "", None), (line, out)
        return out.stdout_text

    def py(self, code: str, *arguments: object) -> str:
        """Run a Python program that must succeed without a complaint; give what it prints."""
        out = self.run(PYTHON, "-IS", "-c", code, *arguments)
        assert (out.exit_code, out.stderr_text) == (0, ""), (code, out)
        return out.stdout_text


def inside(name: str, *arguments: object) -> list[str]:
    """Give the argv of one of the programs under tests/children, for a box."""
    return [PYTHON, "-IS", str(CHILDREN / f"{name}.py"), *map(str, arguments)]


def left(mark: str, word: str) -> dict[int, str]:
    """Give the processes of this test that bear a word in their arguments, whatever box they are in."""
    return {pid: line for pid, line in processes_marked(mark).items() if word in line}


def host(*argv: object, cwd: Path) -> str:
    """Run something outside of any box."""
    env = {**os.environ, **GIT}
    return subprocess.run(
        list(map(str, argv)), cwd=cwd, env=env, check=True, capture_output=True, text=True
    ).stdout


@contextmanager
def folder_elsewhere() -> Iterator[Path]:
    """Give a folder that does not lie below /tmp or /var/tmp."""
    for base in ("/var/lib", str(Path(__file__).parents[4])):
        if os.access(base, os.W_OK) and not base.startswith(("/tmp", "/var/tmp")):
            folder = Path(tempfile.mkdtemp(prefix="agent-exec-test-", dir=base))
            try:
                yield folder
            finally:
                shutil.rmtree(folder)
            return
    pytest.skip("there is no folder to write to but below /tmp")


def need(*programs: str) -> None:
    """Skip a test whose programs are not installed."""
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
