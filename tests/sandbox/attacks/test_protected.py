"""What is protected inside a root: git's doors above all (cases 19-31)."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_exec.sandbox.plan.plan import make_plan
from agent_exec.sandbox.plan.survey import Surveyor
from agent_exec.sandbox.profile import Profile
from agent_exec.sandbox.report.changes import compare
from agent_exec.sandbox.report.changes import snapshot as protected_snapshot
from sandbox.attacks.ground import World, Worlds, names, snapshot
from sandbox.trees import git, repository

DOTGIT = r"""
G = ARGS.get("git") or ROOT + "/.git"
spill(ROOT + "/plain")
attempt("config written", lambda: spill(G + "/config", mode="a"))
attempt("config truncated", lambda: os.truncate(G + "/config", 0))
attempt("config chmod", lambda: os.chmod(G + "/config", 0o777))
attempt("config utime", lambda: os.utime(G + "/config"))
attempt("config alias", lambda: os.link(G + "/config", ROOT + "/alias"))
attempt("config replaced", lambda: os.rename(ROOT + "/plain", G + "/config"))
spill(ROOT + "/plain")
attempt("config exchanged", lambda: checked(libc.renameat2(-100, (ROOT + "/plain").encode(), -100, (G + "/config").encode(), 2)))
attempt("config taken", lambda: os.rename(G + "/config", ROOT + "/taken"))
spill(G + "/config") if ARGS.get("free") else None
attempt("hook", lambda: spill(G + "/hooks/pre-commit"))
attempt("commondir", lambda: spill(G + "/commondir"))
attempt("HEAD", lambda: spill(G + "/HEAD"))
attempt("info", lambda: spill(G + "/info/attributes"))
attempt("object", lambda: spill(G + "/objects/evil"))
attempt("hooks moved", lambda: os.rename(G + "/hooks", G + "/hooks2"))
attempt("by /proc", lambda: spill("/proc/self/root" + G + "/HEAD"))
def by_descriptor():
    fd = os.open(G, os.O_RDONLY)
    os.close(os.open("HEAD", os.O_WRONLY, dir_fd=fd))
attempt("by descriptor", by_descriptor)
os.symlink(G, ROOT + "/gitlink")
attempt("by link", lambda: spill(ROOT + "/gitlink/HEAD"))
def fake(name):
    os.makedirs(ROOT + name + "/hooks", exist_ok=True)
fake("/fake")
attempt("exchanged with a fake", lambda: checked(libc.renameat2(-100, (ROOT + "/fake").encode(), -100, G.encode(), 2)))
attempt("moved away", lambda: os.rename(G, ROOT + "/gone"))
"""


def _prepare(worlds: Worlds, fill: Callable[[Path], object] = repository) -> World:
    world = worlds()
    world.take()
    fill(world.root)
    hooks = world.root / ".git" / "hooks"
    if (world.root / ".git").is_dir():
        hooks.mkdir(exist_ok=True)
    world.own()
    return world


def test_a_repository_cannot_be_changed(worlds: Worlds) -> None:
    """Cases 19 and 20."""
    free = _prepare(worlds)
    found = free.python(DOTGIT, boxed=False, args={"free": True})
    assert {name for name, word in found.results.items() if word != "ok"} == set()
    world = _prepare(worlds)
    before = snapshot(world.root / ".git")
    assert not world.python(DOTGIT).made
    shell = world.shell(
        "rm -rf .git 2>/dev/null; mv .git x 2>/dev/null; git config core.fsmonitor evil; ls -d .git x"
    )
    assert "x" not in shell.out.split()
    assert snapshot(world.root / ".git") == before
    assert names(world.root) - {f".git/{name}" for name in names(world.root / ".git")} == {
        ".git",
        "file",
        "mine",
        "plain",
        "gitlink",
        "fake",
        "fake/hooks",
    }


def test_a_nested_repository_cannot_be_changed(worlds: Worlds) -> None:
    """Nor moved by moving what is above it."""

    def fill(root: Path) -> None:
        repository(root / "a" / "b" / "repo")

    world = _prepare(worlds, fill)
    inner = world.root / "a" / "b" / "repo" / ".git"
    before = snapshot(inner)
    code = (
        DOTGIT
        + r"""
for name in ("/a", "/a/b", "/a/b/repo"):
    attempt("moved" + name, lambda: os.rename(ROOT + name, ROOT + "/moved"))
    attempt("exchanged" + name, lambda: checked(libc.renameat2(-100, (ROOT + "/fake").encode(), -100, (ROOT + name).encode(), 2)))
"""
    )
    assert not world.python(code, args={"git": str(inner)}).made
    assert snapshot(inner) == before


def test_pointers_of_worktrees_and_submodules(worlds: Worlds) -> None:
    """Case 22: the file that points, what it points to, and what that has in common with others."""

    def fill(root: Path) -> None:
        repository(root / "main")
        git(root / "main", "worktree", "add", "-q", str(root / "tree"))
        other = repository(root / "other")
        git(root / "main", "submodule", "add", "-q", str(other), "sub")

    code = r"""
for path in ("tree/.git", "main/sub/.git", "main/.git/config", "main/.git/worktrees/tree/gitdir", "main/.git/worktrees/tree/commondir",
             "main/.git/worktrees/tree/HEAD", "main/.git/modules/sub/config", "main/.git/modules/sub/HEAD"):
    attempt("write " + path, lambda: spill(ROOT + "/" + path, mode="a"))
    attempt("unlink " + path, lambda: os.unlink(ROOT + "/" + path))
for path in ("main/.git/worktrees/tree/config.worktree", "main/.git/modules/sub/hooks/post-checkout", "main/.git/worktrees/new"):
    attempt("create " + path, lambda: spill(ROOT + "/" + path))
attempt("move tree", lambda: os.rename(ROOT + "/tree", ROOT + "/elsewhere"))
attempt("move sub", lambda: os.rename(ROOT + "/main/sub", ROOT + "/elsewhere2"))
"""
    free = _prepare(worlds, fill).python(code, boxed=False)
    assert {name for name, word in free.results.items() if word != "ok"} == set()
    world = _prepare(worlds, fill)
    kept = [world.root / "main" / ".git", world.root / "tree", world.root / "main" / "sub"]
    before = [snapshot(path) for path in kept]
    assert not world.python(code).made
    assert [snapshot(path) for path in kept] == before


def test_a_worktree_whose_repository_is_outside(worlds: Worlds) -> None:
    """Only the worktree is a root: what it points to is out of reach anyway."""
    world = worlds()
    world.take()
    repository(world.out / "main")
    git(world.out / "main", "worktree", "add", "-q", str(world.root / "tree"))
    world.own()
    before = snapshot(world.out)
    code = r"""
attempt("pointer", lambda: spill(ROOT + "/tree/.git"))
attempt("gitdir", lambda: spill(OUT + "/main/.git/worktrees/tree/HEAD"))
attempt("common", lambda: spill(OUT + "/main/.git/config", mode="a"))
"""
    assert not world.python(code).made
    assert snapshot(world.out) == before
    assert world.shell("cd tree && git -c safe.directory='*' status --short").exit_code == 0


def test_hooks_that_lie_elsewhere(worlds: Worlds) -> None:
    """Case 31: a folder of hooks that the settings name, and files that settings include or run."""

    def fill(root: Path) -> None:
        repository(root)
        (root / ".husky").mkdir()
        (root / ".husky" / "pre-commit").write_text("#!/bin/sh\n")
        (root / "tools").mkdir()
        (root / "tools" / "extra.inc").write_text("[alias]\n")
        (root / "tools" / "monitor.sh").write_text("#!/bin/sh\n")
        git(root, "config", "core.hooksPath", ".husky")
        git(root, "config", "include.path", "../tools/extra.inc")
        git(root, "config", "core.fsmonitor", "tools/monitor.sh")

    code = r"""
attempt("hook", lambda: spill(ROOT + "/.husky/pre-commit"))
attempt("new hook", lambda: spill(ROOT + "/.husky/post-checkout"))
attempt("included", lambda: spill(ROOT + "/tools/extra.inc"))
attempt("run", lambda: spill(ROOT + "/tools/monitor.sh"))
attempt("folder moved", lambda: os.rename(ROOT + "/tools", ROOT + "/tools2"))
attempt("hooks moved", lambda: os.rename(ROOT + "/.husky", ROOT + "/husky2"))
"""
    free = _prepare(worlds, fill).python(code, boxed=False)
    assert {name for name, word in free.results.items() if word != "ok"} == set()
    world = _prepare(worlds, fill)
    before = snapshot(world.root)
    assert not world.python(code).made
    assert snapshot(world.root) == before


def test_other_protected_names(worlds: Worlds) -> None:
    """Files and folders that trusted programs obey, and those that the operator names."""

    def fill(root: Path) -> None:
        for folder in (".agent-exec", ".vscode", ".idea", ".claude", ".codex", ".agents", "deep/er/mine"):
            (root / folder).mkdir(parents=True)
            (root / folder / "settings").write_text("{}")
        (root / ".mcp.json").write_text("{}")
        (root / ".envrc").write_text("")

    code = r"""
for name in (".agent-exec", ".vscode", ".idea", ".claude", ".codex", ".agents", "deep/er/mine"):
    path = ROOT + "/" + name
    attempt("write " + name, lambda: spill(path + "/settings"))
    attempt("create " + name, lambda: spill(path + "/new"))
    attempt("move " + name, lambda: os.rename(path, path + "2"))
for name in (".mcp.json", ".envrc"):
    attempt("write " + name, lambda: spill(ROOT + "/" + name))
    attempt("unlink " + name, lambda: os.unlink(ROOT + "/" + name))
attempt("move above", lambda: os.rename(ROOT + "/deep", ROOT + "/deep2"))
attempt("move between", lambda: os.rename(ROOT + "/deep2/er", ROOT + "/er2") if ARGS.get("free") else os.rename(ROOT + "/deep/er", ROOT + "/er2"))
"""
    free = _prepare(worlds, fill).python(code, boxed=False, args={"free": True})
    assert {name for name, word in free.results.items() if word != "ok"} == set()
    world = _prepare(worlds, fill)
    before = snapshot(world.root)
    assert not world.python(code, protect_also=["deep/er/mine"]).made
    assert snapshot(world.root) == before


def test_a_commit_is_possible_and_nothing_more(worlds: Worlds) -> None:
    """Case 24: commits, branches and stashes work; what decides what git runs stays as it is."""
    world = _prepare(worlds)
    (world.root / ".git" / "info").mkdir(exist_ok=True)
    (world.root / ".git" / "info" / "attributes").write_text("")
    world.own()
    fixed = [world.root / ".git" / name for name in ("config", "hooks", "info/attributes")]
    before = [snapshot(path) for path in fixed]
    script = """set -e
git config --get core.bare >/dev/null
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
echo two >file; git add file; git commit -qm two; git branch topic; git checkout -q topic
echo three >file; git stash -q; git stash pop -q; git commit -qam three; git rebase -q main
git log --format=%s"""
    done = world.shell(script, git="commit")
    assert done.exit_code == 0, done.err
    assert done.out.split() == ["three", "two", "one"]
    code = r"""
G = ROOT + "/.git"
attempt("config", lambda: spill(G + "/config", mode="a"))
attempt("config replaced", lambda: os.rename(ROOT + "/file", G + "/config"))
attempt("hook", lambda: spill(G + "/hooks/pre-commit"))
attempt("hooks moved", lambda: os.rename(G + "/hooks", G + "/x"))
attempt("attributes", lambda: spill(G + "/info/attributes"))
attempt("all moved", lambda: os.rename(G, ROOT + "/x"))
"""
    assert not world.python(code, git="commit").made
    assert world.shell("git config core.fsmonitor evil", git="commit").exit_code != 0
    assert [snapshot(path) for path in fixed] == before
    assert world.python("attempt('commondir', lambda: spill(ROOT + '/.git/commondir'))", git="commit").made
    assert not (world.root / ".git" / "commondir").exists()


def test_what_is_missing_is_reported_and_taken_away(worlds: Worlds) -> None:
    """Case 25: what appears is taken away; nothing is put into the workspace to prevent it."""
    world = worlds()
    plan = make_plan(Profile("workspace-write", [str(world.root)]), home="/nowhere")
    before = protected_snapshot(plan, Surveyor())
    assert world.shell("true").exit_code == 0
    assert names(world.root) == {"mine"}
    done = world.shell(
        "git init -q . && mkdir -p .agent-exec a/b && git init -q a/b && echo >.envrc && ln -s mine .mcp.json"
    )
    assert done.exit_code == 0
    told = {
        Path(change.path).relative_to(world.root).as_posix() for change in compare(before, plan, Surveyor())
    }
    assert told == {".git", "a/b/.git"}
    left = {
        entry.name.partition(".blocked-")[0] for entry in world.root.iterdir() if ".blocked-" in entry.name
    }
    assert left == {".agent-exec", ".envrc", ".mcp.json"}


@pytest.mark.parametrize("target", ["inside", "/etc", ".git"])
def test_a_link_in_place_of_what_is_protected(world: World, target: str) -> None:
    """Case 26: refused, and the link is named."""
    (world.root / "inside").mkdir()
    (world.root / ".git").symlink_to(target)
    world.own()
    found = world.shell("echo >ran")
    assert found.error == "invalid_argument"
    assert str(world.root / ".git") in found.message
    assert not (world.root / "ran").exists()


def test_the_host_replaces_what_is_protected(warm: World) -> None:
    """A mount comes off when the host renames over it; the next command must be confined as well, or refused."""
    warm.take()
    repository(warm.root)
    (warm.root / ".envrc").write_text("old")
    warm.own()
    code = r"""
attempt("config", lambda: spill(ROOT + "/.git/config", mode="a"))
attempt("hook", lambda: spill(ROOT + "/.git/hooks/x"))
attempt("envrc", lambda: spill(ROOT + "/.envrc"))
"""
    assert not warm.python(code).made
    warm.take()
    git(warm.root, "config", "user.name", "replaced")
    (warm.root / "new").write_text("new")
    warm.own()
    (warm.root / "new").rename(warm.root / ".envrc")
    found = warm.python(code)
    assert not found.made
    warm.take()
    subprocess.run(["rm", "-rf", str(warm.root / ".git")], check=True)
    repository(warm.root)
    warm.own()
    found = warm.python(code)
    if found.error:  # the new folder may have the number of the old one, and only the box sees the difference
        assert found.error == "sandbox_unavailable"
        found = warm.python(code)
    assert not found.made
    assert (warm.root / ".envrc").read_text() == "new"


def test_what_the_host_adds_between_commands_is_protected(warm: World) -> None:
    """A plan that is kept must notice new repositories, new settings of git, and new secrets."""
    warm.take()
    repository(warm.root)
    (warm.root / ".husky").mkdir()
    (warm.root / "sub").mkdir()
    warm.own()
    fields: dict[str, Any] = {"deny_read": ["sub/.env", "**/secret", str(warm.out / "late")]}
    assert warm.python("pass", **fields).exit_code == 0
    warm.take()
    repository(warm.root / "nested" / "clone")
    git(warm.root, "config", "core.hooksPath", ".husky")
    for path in (warm.root / "sub" / ".env", warm.root / "sub" / "secret", warm.out / "late"):
        path.write_text("the secret")
    warm.own()
    code = r"""
def reads(path):
    with open(path) as file:
        if "secret" not in file.read():
            raise OSError(errno.EACCES, "nothing there")
attempt("new repository", lambda: spill(ROOT + "/nested/clone/.git/hooks/x"))
attempt("new hooks", lambda: spill(ROOT + "/.husky/pre-commit"))
attempt("new file", lambda: reads(ROOT + "/sub/.env"))
attempt("new match", lambda: reads(ROOT + "/sub/secret"))
attempt("new outside", lambda: reads(OUT + "/late"))
"""
    assert set(warm.python(code, **fields).made) == set()


def test_two_boxes_on_one_workspace(worlds: Worlds, world: World) -> None:
    """Case 28: the one that ends first takes nothing from the other."""
    world.take()
    repository(world.root)
    os.mkfifo(world.root / "gate")
    world.own()
    before = snapshot(world.root / ".git")
    profile = world.profile()
    slow = "read x <gate; echo evil >>.git/config; echo evil >.git/hooks/x; mv .git y; echo done"
    quick = "mv .git x; echo evil >>.git/config; echo >gate; echo done"
    from sandbox.attacks.ground import request

    other = {**profile, "tmp_mb": 16}
    answers = world.runner.run_many(
        [
            request(["/bin/sh", "-c", slow], world.root, profile),
            request(["/bin/sh", "-c", quick], world.root, other),
        ]
    )
    assert [answer.out.strip() for answer in answers] == ["done", "done"]
    assert snapshot(world.root / ".git") == before
