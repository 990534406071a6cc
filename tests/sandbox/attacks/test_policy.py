"""What the policy says is what is enforced, and nothing that a command can reach changes it (cases 33-37)."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox.attacks.ground import Runner, World

ODD = ["a b", "new\nline", "*", "[x]", "?", "\\", "$HOME", "~", "-rf", "tab\t", "ü", "'\"", "a:b,c=d"]

REFUSALS = {"invalid_argument", "sandbox_unavailable"}


def test_names_mean_themselves(world: World) -> None:
    """Case 33: a root of any name is exactly that folder."""
    for name in ODD:
        (world.base / name).mkdir()
        (world.base / f"{name}x").mkdir()
        for path in (world.base / name, world.base / f"{name}x"):
            os.chown(path, world.runner.uid, world.runner.uid)
        profile = {"name": "workspace-write", "roots": [f"{world.base}//{name}/"]}
        script = 'cd "$1" && echo >in; echo >"$1x/out"; echo >"$1/../out/evil"; true'
        argv = ["/bin/sh", "-c", script, "sh", f"{world.base}/{name}"]
        found = world.runner.run(argv, "/", profile)
        assert found.error == "", (name, found.message)
        assert (world.base / name / "in").exists(), name
        assert not any((world.base / f"{name}x").iterdir()), name
    assert not (world.out / "evil").exists()


@pytest.mark.parametrize(
    "fields",
    [
        {"roots": ["relative"]},
        {"roots": ["/srv/../etc"]},
        {"roots": ["/"]},
        {"roots": ["/proc/self/cwd"]},
        {"roots": ["/dev/shm"]},
        {"roots": ["/nowhere/at/all"]},
        {"roots": ["/etc/passwd"]},
        {"roots": ["/a\0b"]},
        {"roots": [""]},
        {"roots": "/srv"},
        {"roots": None},
        {"net": None},
        {"net": "yes"},
        {"unknown": True},
        {"name": "open"},
        {"limits": {"procs": 0}},
        {"limits": {"forks": 1}},
        {"tmp": "mine"},
    ],
)
def test_what_cannot_be_kept_is_refused(world: World, fields: dict[str, Any]) -> None:
    """Cases 33 and 35: nothing is run, and certainly not unconfined."""
    profile = {**world.profile(), **fields}
    found = world.runner.run(["/bin/sh", "-c", f"echo >{world.root}/ran"], world.root, profile)
    assert found.error == "invalid_argument"
    assert not (world.root / "ran").exists()


def test_the_working_directory_is_no_root(world: World) -> None:
    """The folder that a command is run in is never written to because of that."""
    found = world.python("attempt('cwd', lambda: spill('evil'))", cwd=str(world.out / "folder"))
    assert not found.made
    assert world.python(
        "attempt('cwd', lambda: spill('evil'))", cwd=str(world.out / "folder"), boxed=False
    ).made


def test_a_root_that_is_another_folder(world: World) -> None:
    """Case 34: one that is gone is refused, and so is a link to elsewhere in its place."""
    assert world.shell("echo >first").exit_code == 0
    world.root.rename(world.base / "kept")
    assert world.runner.run(["/bin/sh", "-c", "true"], "/", world.profile()).error in REFUSALS
    world.root.symlink_to(world.out)
    world.runner.run(["/bin/sh", "-c", f"echo >{world.root}/evil"], "/", world.profile())
    assert not (world.out / "evil").exists(), "a link in place of the root has led outside"
    world.root.unlink()
    world.root.mkdir()
    world.own()
    found = world.shell("echo >second")
    assert found.error == "" or not (world.root / "second").exists()
    assert not (world.base / "kept" / "second").exists()


def test_a_root_inside_of_another_cannot_be_led_elsewhere(
    world: World, new_runner: Callable[[], Runner]
) -> None:
    """Who may write to the outer root may put a link in the place of the inner one."""
    (world.root / "sub").mkdir()
    world.own()
    profile = {"name": "workspace-write", "roots": [str(world.root), str(world.root / "sub")]}
    script = f"rmdir sub && ln -s {world.out} sub && ls -l"
    assert world.runner.run(["/bin/sh", "-c", script], world.root, profile).exit_code == 0
    for runner in (world.runner, new_runner()):  # one that remembers the root, and one that does not
        found = runner.run(["/bin/sh", "-c", f"echo evil >{world.out}/evil"], world.root, profile)
        assert not (world.out / "evil").exists(), found


def test_the_workspace_has_no_say(world: World) -> None:
    """Case 37: no file in the workspace widens what a command may do."""
    wide = '{"name": "full-access", "roots": ["/"], "net": "on"}'
    for name in (
        ".agent-exec/config",
        ".agent-exec/profile.json",
        "agent-exec.toml",
        ".env",
        "AGENTS.md",
        "pyproject.toml",
    ):
        (world.root / name).parent.mkdir(exist_ok=True)
        (world.root / name).write_text(wide)
    (world.root / "agent_exec").mkdir()
    (world.root / "agent_exec" / "__init__.py").write_text(f"open({str(world.out / 'evil')!r}, 'w')")
    (world.root / "sitecustomize.py").write_text(f"open({str(world.out / 'evil')!r}, 'w')")
    (world.root / "ctypes.py").write_text(f"open({str(world.out / 'evil')!r}, 'w')")
    world.own()
    env = {
        "PATH": f"{world.root}:/usr/bin:/bin",
        "AGENT_EXEC_SANDBOX": "off",
        "AGENT_EXEC_NET": "on",
        "PYTHONPATH": str(world.root),
    }
    code = "attempt('out', lambda: spill(OUT + '/evil'))\nsay('env', (os.environ['AGENT_EXEC_NET'], os.environ.get('PYTHONPATH')))"
    found = world.python(code, env=env)
    assert found.results["out"] != "ok"
    assert found.results["env"] == "('off', None)"
    assert not (world.out / "evil").exists()


def test_a_program_in_the_root_is_only_run_inside(world: World) -> None:
    """A command that the workspace provides by name runs in the box too."""
    tool = world.root / "git"
    tool.write_text(f"#!/bin/sh\necho evil >{world.out}/evil\necho ran\n")
    tool.chmod(0o755)
    world.own()
    env = {"PATH": f"{world.root}:/usr/bin:/bin"}
    found = world.runner.run(["git", "status"], world.root, world.profile(), env=env)
    assert found.out == "ran\n"
    assert not (world.out / "evil").exists()


def test_carve_outs(world: World) -> None:
    """Case 13: a hidden folder in a root, a root in a hidden folder, a protected one in a writable one."""
    for name in ("hidden", "open/kept/deep"):
        (world.root / name).mkdir(parents=True)
        (world.root / name / "file").write_text("secret")
    world.own()
    code = r"""
attempt("hidden", lambda: open(ROOT + "/hidden/file"))
attempt("hidden listed", lambda: os.listdir(ROOT + "/hidden"))
attempt("hidden moved", lambda: os.rename(ROOT + "/hidden", ROOT + "/seen"))
attempt("kept", lambda: spill(ROOT + "/open/kept/deep/file"))
"""
    assert not world.python(code, deny_read=["hidden"], protect_also=["open/kept"]).made
    assert world.python(
        "attempt('open', lambda: spill(ROOT + '/open/file'))", protect_also=["open/kept"]
    ).made
    lost = world.python("pass", profile=world.profile(deny_read=[str(world.base)]))
    assert lost.error == "invalid_argument"


def test_the_root_becomes_a_link_while_the_plan_is_made(world: World) -> None:
    """Who swaps folders and links below a root all the time gets a refusal, or a box that holds."""
    shutil.rmtree(world.root)
    world.root.mkdir()
    (world.root / "sub").mkdir()
    world.own()
    swap = r"""
import threading
def swap():
    end = time.monotonic() + 0.6
    while time.monotonic() < end:
        try:
            os.rename(ROOT + "/sub", ROOT + "/kept")
            os.symlink(OUT, ROOT + "/sub")
            os.unlink(ROOT + "/sub")
            os.rename(ROOT + "/kept", ROOT + "/sub")
        except OSError:
            pass
swap()
"""
    from sandbox.attacks.ground import PYTHON, request, with_prelude

    argv = [PYTHON, "-IS", "-c", with_prelude(swap), f'{{"root": "{world.root}", "out": "{world.out}"}}']
    script = f"echo evil >{world.root}/sub/v01; true"
    requests = [request(argv, world.root, None)]
    for number in range(8):
        profile = world.profile(protect_also=["sub/none"], tmp_mb=1 + number)
        requests.append(request(["/bin/sh", "-c", script], world.root, profile))
    answers = world.runner.run_many(requests)
    assert {answer.error for answer in answers} <= {"", "invalid_argument", "sandbox_unavailable"}
    assert {path.read_text() for path in Path(world.out).glob("v*")} == {"precious\n"}
