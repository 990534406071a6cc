"""The verb `shell`: what it refuses, and that nobody else pays for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent_exec.apps.shell.settings import Settings, theme_named
from agent_exec.faces.slash.permission import ShellPermission
from agent_exec.model.errors import InvalidArgument
from agent_exec.places import history_place
from cli import Cli


def test_without_a_terminal_it_says_so(cli: Cli) -> None:
    out = cli.raw("shell")
    assert out.returncode == 2
    assert out.stdout == b""
    assert b"this is not a terminal" in out.stderr
    assert b"agent-exec run" in out.stderr


def test_without_the_library_it_says_what_to_install(cli: Cli, tmp_path: Path) -> None:
    shim = tmp_path / "shim"
    shim.mkdir()
    (shim / "textual.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'textual'\", name='textual')\n"
    )
    env = {"PYTHONPATH": str(shim), "TEXTUAL_DRIVER": "any"}
    out = cli.raw("shell", env=env)
    assert out.returncode == 2
    assert b'pip install "agent-exec[shell]"' in out.stderr
    assert b"Traceback" not in out.stderr
    assert cli.raw("shell", "--help", env=env).returncode == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["one", "two"], "one word too many"),
        (["no-such-folder"], "DIR must be a folder that exists"),
        (["--theme", "pink"], "--theme takes auto, dark, light"),
        (["--timeout", "soon"], "--timeout"),
        (["--sandbox", "nonsense"], "--sandbox takes"),
        (["--sandbox-root", "."], "--sandbox-root goes with --sandbox"),
        (["--port", "80"], "--port goes with --web"),
        (["--colour"], "shell has no option --colour"),
    ],
)
def test_what_makes_no_sense_is_refused(cli: Cli, words: list[str], told: str) -> None:
    out = cli.raw("shell", *words)
    assert out.returncode == 2
    assert told in out.stderr.decode()
    assert b"Traceback" not in out.stderr


def test_rules_that_cannot_be_read_are_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "rules.toml").write_text("no rules")
    out = cli.raw(
        "shell",
        "--rules",
        tmp_path / "rules.toml",
        env={"TEXTUAL_DRIVER": "textual.drivers.headless_driver:HeadlessDriver"},
    )
    assert out.returncode == 2
    assert b"rules.toml" in out.stderr


@pytest.mark.parametrize("words", [["list"], ["--help"], ["shell", "--help"], ["run", "--", "true"]])
def test_no_other_module_loads_the_library(cli: Cli, words: list[str]) -> None:
    code = (
        "import sys, os; from agent_exec.apps.main import main; status = main(sys.argv[1:]); "
        "sys.stderr.write(' '.join(name for name in sys.modules if name.partition('.')[0] in ('textual', 'rich') "
        "or name.startswith('agent_exec.apps.shell'))); sys.stderr.flush(); os._exit(status)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, *words], env=cli.env, cwd=cli.cwd, capture_output=True, check=False
    )
    assert out.returncode == 0
    assert out.stderr == b""


def test_where_the_history_is() -> None:
    assert history_place({"XDG_STATE_HOME": "/s"}) == "/s/agent-exec/history"
    assert history_place({}, "linux", "/home/ann") == "/home/ann/.local/state/agent-exec/history"
    windows = history_place({"LOCALAPPDATA": "L"}, "win32", "H")
    assert windows == os.path.join("L", "agent-exec", "history")


def test_themes() -> None:
    assert theme_named("auto") == "textual-dark"
    assert theme_named("auto", "0;15") == "textual-light"
    assert theme_named("auto", "15;0") == "textual-dark"
    assert theme_named("light", "15;0") == "textual-light"
    assert theme_named("light", colour=False) == "ansi-dark"
    with pytest.raises(InvalidArgument):
        Settings("/", ShellPermission(True), theme="pink")
