"""The script that is installed as `agent-exec` works however it is called, and touches nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_exec.version import __version__
from cli import PROGRAM, Cli, check

ROOT = Path(__file__).parents[2]
VERSION = f"agent-exec {__version__}\n"


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """A folder as an installer lays it out."""
    place = tmp_path / "prefix"
    (place / "bin").mkdir(parents=True)
    script = place / "bin" / "agent-exec"
    text = (ROOT / "scripts" / "agent-exec").read_text()
    assert text.startswith("#!python\n"), "which is what installers look for"
    script.write_text(text.replace("#!python", f"#!{sys.executable}", 1))
    script.chmod(0o755)
    (place / "bin" / "site.py").write_text("raise SystemExit('not this one')")
    (place / "bin" / "agent_exec.py").write_text("raise SystemExit('not this one')")
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


def test_it_is_found_in_the_path(prefix: Path) -> None:
    found = f"{prefix / 'bin'}{os.pathsep}{os.environ['PATH']}"
    assert version("/usr/bin/env", "agent-exec", PATH=found) == VERSION


def test_it_is_called_through_links(prefix: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.symlink_to(prefix / "bin" / "agent-exec")
    second.symlink_to("first")
    assert version(second) == VERSION


def test_a_watcher_inside_sees_it_end() -> None:
    assert version(PROGRAM, AGENT_EXEC_SITE="1") == VERSION


def test_the_module_is_the_program_too() -> None:
    assert version(sys.executable, "-m", "agent_exec") == VERSION


def test_the_script_is_executable() -> None:
    assert os.access(ROOT / "scripts" / "agent-exec", os.X_OK)


def test_the_environment_reaches_the_command_as_it_is(cli: Cli) -> None:
    """Also names that a shell would not have, and none that an interpreter adds."""
    given = {
        "PATH": os.environ["PATH"],
        "AGENT_EXEC_ROOT": str(cli.root),
        "AGENT_EXEC_TEST": os.environ["AGENT_EXEC_TEST"],
        "my.var": "1",
        "x-y": "2",
        "BASH_FUNC_f%%": "() { :; }",
        "IFS": ":",
        "python": "p",
        "flags": "-O2",
    }
    out = subprocess.run(
        cli.argv("run", "--", "env", "-0"), env=given, cwd=cli.cwd, capture_output=True, check=True
    )
    told = check(out.stdout.decode())
    seen = dict(entry.split("=", 1) for entry in told["stdout"].split("\0") if entry)
    assert seen.pop("AGENT_EXEC_JOB_ID") == told["job_id"]
    assert seen == given
