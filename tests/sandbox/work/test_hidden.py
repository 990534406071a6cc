"""A caller whose interpreter, library and package lie below /tmp: its boxes hide all of it, and still serve."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from sandbox.work.boxes import Space, copy_package

CALLER = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
import agent_exec
from agent_exec import Command, Engine, Profile
root = sys.argv[2]
profile = Profile("workspace-write", [root])
found = {"library": os.__file__, "package": agent_exec.__file__}

def run(name, *argv, **options):
    options = {"cwd": root, "sandbox": profile, "timeout": 60, **options}
    try:
        out = agent_exec.run(list(argv), **options)
        found[name] = [out.stdout_text, out.exit_code, out.cause, out.leaked]
    except agent_exec.AgentExecError as error:
        found[name] = error.code

run("plain", "echo", "x")
run("terminal", "sh", "-c", "tty; stty size", tty=True)
run("itself", sys.executable, "-c", "0")
run("itself on a terminal", sys.executable, "-c", "0", tty=True)
run("its folder", "true", cwd=sys.argv[1])
run("timeout", "sleep", "600", timeout=0.3)
run("left", "sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & exit 3")
run("mess", "sh", "-c", "mkdir -p /tmp/a/b /dev/shm/c; mkdir -m 0 /tmp/d; kill -9 1; echo y")
run("clean", "sh", "-c", "ls -A /tmp; ls -A /dev/shm")
with Engine() as engine:
    runs = [engine.start(Command(["cat"], cwd=root, interactive=True), sandbox=profile) for _ in range(6)]
    runs[0].kill()
    for each in runs:
        each.end_input()
    found["at once"] = [each.outcome().cause for each in runs]
print(json.dumps(found))
"""


def _copy_interpreter(where: Path) -> Path:
    """Return a copy of our interpreter with its library, that uses nothing of ours."""
    library = Path(sysconfig.get_path("stdlib"))
    large = ("site-packages", "dist-packages", "test", "tests", "idlelib", "tkinter", "ensurepip", "config-*")
    shutil.copytree(
        library, where / "lib" / library.name, ignore=shutil.ignore_patterns(*large, "lib2to3", "__pycache__")
    )
    (where / "bin").mkdir()
    return Path(shutil.copy(os.path.realpath(sys.executable), where / "bin"))


def test_a_caller_that_its_boxes_hide(room: Space, hidden: Path) -> None:
    python = _copy_interpreter(hidden / "python")
    package = copy_package(hidden / "site")
    log = room.root / "log"
    out = subprocess.run(
        [python, "-IS", "-c", CALLER, package, room.root],
        cwd="/",
        env={**os.environ, "AGENT_EXEC_HELPER_LOG": str(log)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (out.returncode, out.stderr) == (0, ""), out
    found = json.loads(out.stdout)
    if not found.pop("library").startswith(f"{hidden}/"):
        pytest.skip("a copy of this interpreter uses the library of the original")
    assert found.pop("package").startswith(f"{hidden}/")
    assert found == {
        "plain": ["x\n", 0, None, False],
        "terminal": ["/dev/pts/0\r\n24 80\r\n", 0, None, False],
        "itself": "command_not_executable",
        "itself on a terminal": "command_not_executable",
        "its folder": "workdir_not_found",
        "timeout": ["", 143, "timeout", False],
        "left": ["", 3, None, True],
        "mess": ["y\n", 0, None, False],
        "clean": ["", 0, None, False],
        "at once": ["stopped", None, None, None, None, None],
    }
    assert log.read_text() == "", "the helpers complained"
