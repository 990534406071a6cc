"""dev.py installs what is needed, and no more often than that."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
UV = """#!/bin/sh
echo "$@" >> "$UV_CALLS"
[ "$1" = venv ] || exit 0
for folder; do :; done
mkdir -p "$folder/bin"
ln -s /bin/true "$folder/bin/python"
"""


class Project:
    """A copy of dev.py in a small project, with a uv that notes its arguments and installs nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.calls = folder / "calls"
        shutil.copy(ROOT / "dev.py", folder)
        self.write('[project]\nname = "x"\ndependencies = []\n')
        (folder / "constraints.txt").write_text("")
        tools = folder / "tools"
        tools.mkdir()
        (tools / "uv").write_text(UV)
        (tools / "uv").chmod(0o755)
        self.path = f"{tools}:{os.environ['PATH']}"

    def write(self, text: str) -> None:
        (self.folder / "pyproject.toml").write_text(text)

    def set_up(self) -> list[str]:
        """Return the first word of each call of uv during a set-up."""
        self.calls.write_text("")
        environment = os.environ | {"PATH": self.path, "UV_CALLS": str(self.calls)}
        words = [sys.executable, str(self.folder / "dev.py"), "setup"]
        subprocess.run(words, env=environment, check=True, capture_output=True)
        return [line.split()[0] for line in self.calls.read_text().splitlines()]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_the_environment_is_made_once_and_kept(project: Project) -> None:
    assert project.set_up() == ["venv", "pip"]
    assert project.set_up() == []
    kept = project.folder / ".venv" / "kept"
    kept.touch()
    project.write('[project]\nname = "x"\ndependencies = []\n[tool.ruff]\nline-length = 80\n')
    assert project.set_up() == []  # the settings of a tool install nothing
    project.write('[project]\nname = "x"\ndependencies = ["y"]\n')
    assert project.set_up() == ["pip"]  # into the same environment
    assert kept.exists()
    (project.folder / "constraints.txt").write_text("y==1\n")
    assert project.set_up() == ["pip"]
    assert kept.exists()


def test_an_environment_of_another_python_is_replaced(project: Project) -> None:
    project.set_up()
    stamp = project.folder / ".venv" / "stamp"
    stamp.write_text(f"another {stamp.read_text().split()[1]}")
    kept = project.folder / ".venv" / "kept"
    kept.touch()
    assert project.set_up() == ["venv", "pip"]
    assert not kept.exists()


def test_every_gate_is_run_and_the_last_line_names_those_that_failed(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    assert spec is not None
    assert spec.loader is not None
    dev = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(dev)
    monkeypatch.setattr(dev, "PYTHON", sys.executable)

    def gate(text: str, status: int) -> list[str]:
        return ["-IS", "-c", f"print({text!r}); raise SystemExit({status})"]

    gates = {"first": gate("one", 1), "second": gate("two", 0), "third": gate("three", 2)}
    assert dev.passed(gates, gate("tested", 1)) == 1
    seen = capfd.readouterr()
    assert seen.out.split() == "== tests tested == first one == second two == third three".split()
    assert seen.err == "failed: tests, first, third\n"
    assert dev.passed({"second": gates["second"]}) == 0
    assert dev.passed({}, gate("tested", 0)) == 0
    assert capfd.readouterr().err == ""


def test_an_unknown_command_is_a_usage_error() -> None:
    for words in (["unit"], ["check", "x"], ["nothing"], []):
        out = subprocess.run(
            [sys.executable, str(ROOT / "dev.py"), *words], capture_output=True, text=True, check=False
        )
        assert out.returncode == 2
        assert "unit PATH" in out.stderr
