"""The script that is installed as `agent-exec` finds its Python and its package, however it is called."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent_exec.version import __version__
from cli import PROGRAM

ROOT = Path(__file__).parents[2]
VERSION = f"agent-exec {__version__}\n"


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """A folder as an installer lays it out."""
    place = tmp_path / "pre fix"
    packages = place / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "agent_exec").symlink_to(ROOT / "src" / "agent_exec")
    (place / "bin").mkdir()
    shutil.copy(ROOT / "scripts" / "agent-exec", place / "bin")
    (place / "bin" / "python").symlink_to(Path(sys.executable).resolve())
    return place


def version(*argv: object, cwd: Path | None = None, **env: str) -> str:
    out = subprocess.run(
        [*map(str, argv), "--version"],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
    )
    return out.stdout or out.stderr


def test_it_is_called_by_its_path(prefix: Path) -> None:
    assert version(prefix / "bin" / "agent-exec") == VERSION


def test_it_is_called_from_its_own_folder(prefix: Path) -> None:
    assert version("./agent-exec", cwd=prefix / "bin") == VERSION
    assert version("sh", "agent-exec", cwd=prefix / "bin") == VERSION


def test_it_is_found_in_the_path(prefix: Path) -> None:
    found = f"{prefix / 'bin'}{os.pathsep}{os.environ['PATH']}"
    assert version("/usr/bin/env", "agent-exec", PATH=found) == VERSION


def test_it_is_called_through_links(prefix: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.symlink_to(prefix / "bin" / "agent-exec")
    second.symlink_to("first")
    assert version(second) == VERSION


def test_a_python_elsewhere_in_the_path_will_do(prefix: Path, tmp_path: Path) -> None:
    (prefix / "bin" / "python").unlink()
    tools = tmp_path / "tools"
    tools.mkdir()
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    (tools / name).symlink_to(Path(sys.executable).resolve())
    assert version(prefix / "bin" / "agent-exec", PATH=f"{tools}:/usr/bin:/bin") == VERSION


def test_it_asks_site_where_it_finds_no_package(prefix: Path) -> None:
    """As where it is installed in place: a path file names the source."""
    packages = next((prefix / "lib").iterdir()) / "site-packages"
    (packages / "agent_exec").unlink()
    (packages / "source.pth").write_text(f"{ROOT / 'src'}\n")
    assert version(prefix / "bin" / "agent-exec") == VERSION


def test_it_can_be_told_to_use_site() -> None:
    assert version(PROGRAM, AGENT_EXEC_SITE="1") == VERSION


def test_the_module_is_the_program_too() -> None:
    assert version(sys.executable, "-m", "agent_exec") == VERSION


def test_the_script_is_executable() -> None:
    assert os.access(ROOT / "scripts" / "agent-exec", os.X_OK)
