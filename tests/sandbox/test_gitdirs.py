"""Every repository below a root is found, and what git would run or obey in it."""

import os
from pathlib import Path

import pytest

from agent_exec.model.errors import InvalidArgument
from agent_exec.sandbox.plan.gitdirs import Guarded, guard, locate
from agent_exec.sandbox.plan.survey import Surveyor
from sandbox.trees import git, repository


def guarded(root: Path, dotgit: str = ".git", *, commit: bool = False, home: str = "/nonexistent") -> Guarded:
    places = locate(str(root / dotgit), [str(root)])
    assert places is not None
    used = [places.folder] if places.folder and places.folder != places.dotgit else []
    return guard(places, [str(root)], commit=commit, home=home, used=used)


def names(root: Path, paths: tuple[str, ...]) -> set[str]:
    return {os.path.relpath(path, root) for path in paths}


def test_a_repository_is_protected_whole(tmp_path: Path) -> None:
    root = repository(tmp_path / "root")
    assert guarded(root) == Guarded((str(root / ".git"),), (), ())


def test_a_worktree_protects_its_pointer_and_both_folders(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    main = repository(tmp_path / "main")
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"))
    wanted = {"tree/.git", "main/.git/worktrees/tree", "main/.git"}
    assert names(root, guarded(root, "tree/.git").protected) == wanted
    alone = guarded(root / "tree")
    assert names(root / "tree", alone.protected) == {".git"}


def test_a_submodule_protects_its_pointer_and_its_folder(tmp_path: Path) -> None:
    repository(tmp_path / "library")
    root = repository(tmp_path / "root")
    git(root, "submodule", "add", "-q", str(tmp_path / "library"), "vendor/lib")
    assert names(root, Surveyor().survey(str(root)).gits) == {".git", "vendor/lib/.git"}
    assert names(root, guarded(root, "vendor/lib/.git").protected) == {
        "vendor/lib/.git",
        ".git/modules/vendor/lib",
    }


def test_the_git_of_a_submodule_that_is_not_there_yet_is_looked_for(tmp_path: Path) -> None:
    repository(tmp_path / "library")
    root = repository(tmp_path / "root")
    git(root, "submodule", "add", "-q", str(tmp_path / "library"), "vendor/lib")
    git(root, "commit", "-q", "-m", "two")
    git(root, "submodule", "deinit", "-q", "-f", "--all")
    with (root / ".gitmodules").open("a") as file:
        file.write('[submodule "evil"]\n\tpath = ../../etc\n[submodule "l"]\n\tpath = link/x\n')
    (root / "link").symlink_to("/etc")
    assert names(root, guarded(root).missing) == {"vendor/lib/.git"}


def test_a_pointer_to_nowhere_is_looked_for_and_one_that_is_none_is_kept(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / ".git").write_text("gitdir: later/repo\n")
    found = guarded(root)
    assert names(root, found.protected) == {".git"}
    assert {"later/repo"} <= names(root, found.missing)
    for text in ("hello", "gitdir:", "gitdir: a\0b", "x" * 100_000):
        (root / ".git").write_text(text)
        assert names(root, guarded(root).protected) == {".git"}
    (root / ".git").unlink()
    os.mkfifo(root / ".git")
    assert names(root, guarded(root).protected) == {".git"}


def test_a_pointer_to_the_root_itself_is_reported_not_obeyed(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / ".git").write_text("gitdir: .\n")
    found = guarded(root)
    assert names(root, found.protected) == {".git"}
    assert str(root) in found.unenforced[0]


@pytest.mark.parametrize("target", ["real", "../outside", ".git", "nowhere"])
def test_a_git_that_is_a_link_is_refused_and_named(tmp_path: Path, target: str) -> None:
    root = tmp_path.resolve() / "root"
    (root / "real").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (root / ".git").symlink_to(target)
    with pytest.raises(InvalidArgument, match=str(root / ".git")) as caught:
        guarded(root)
    assert caught.value.details["symlink"] == str(root / ".git")


def test_a_pointer_through_a_link_is_refused_and_the_link_named(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "real" / "repo").mkdir(parents=True)
    (root / "link").symlink_to("real")
    (root / ".git").write_text("gitdir: link/repo\n")
    with pytest.raises(InvalidArgument) as caught:
        guarded(root)
    assert caught.value.details["symlink"] == str(root / "link")


@pytest.mark.parametrize("setting", [".husky", "./.husky/", "{root}/.husky", ".husky/_"])
def test_the_folder_of_hooks_is_protected_wherever_it_is(tmp_path: Path, setting: str) -> None:
    root = repository(tmp_path / "root")
    (root / ".husky" / "_").mkdir(parents=True)
    git(root, "config", "core.hooksPath", setting.format(root=root))
    assert names(root, guarded(root).protected) == {".git", ".husky"}


def test_hooks_that_are_links_protect_what_they_lead_to(tmp_path: Path) -> None:
    root = repository(tmp_path / "root")
    (root / "scripts").mkdir()
    (root / "scripts" / "check").write_text("")
    (root / ".git" / "hooks" / "pre-commit").symlink_to("../../scripts/check")
    (root / ".git" / "hooks" / "pre-push").symlink_to("../../scripts/later")
    found = guarded(root)
    assert names(root, found.protected) == {".git", "scripts/check"}
    assert names(root, found.missing) == {"scripts/later"}


def test_settings_that_are_read_or_run_from_the_root_are_protected(tmp_path: Path) -> None:
    root = repository(tmp_path / "root")
    for name in ("monitor.sh", "shared.cfg", "deep.cfg", "filter.py", "clean", "global.sh"):
        (root / name).write_text("")
    git(root, "config", "core.fsmonitor", "./monitor.sh")
    git(root, "config", "include.path", "../shared.cfg")
    git(root, "config", "includeIf.gitdir:/x.path", "../absent.cfg")
    git(root, "config", "filter.x.clean", "python3 filter.py clean")
    (root / "shared.cfg").write_text("[include]\n\tpath = deep.cfg\n")
    (root / "deep.cfg").write_text("[include]\n\tpath = shared.cfg\n[core]\n\thooksPath = later\n")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[core]\n\tfsmonitor = ./global.sh\n[credential]\n\thelper = store\n")
    found = guarded(root, home=str(home))
    assert names(root, found.protected) == {
        ".git",
        "monitor.sh",
        "shared.cfg",
        "deep.cfg",
        "filter.py",
        "global.sh",
    }
    assert names(root, found.missing) == {"later", "absent.cfg"}


def test_settings_that_cannot_be_read_are_reported(tmp_path: Path) -> None:
    root = repository(tmp_path / "root")
    (root / ".git" / "config").unlink()
    os.mkfifo(root / ".git" / "config")
    assert "config" in guarded(root).unenforced[0]


def test_to_commit_only_what_decides_what_git_runs_stays(tmp_path: Path) -> None:
    root = repository(tmp_path / "root")
    found = guarded(root, commit=True)
    assert names(root, found.protected) == {".git/config", ".git/hooks"}
    assert names(root, found.missing) == {
        ".git/commondir",
        ".git/config.worktree",
        ".git/gitdir",
        ".git/info/attributes",
    }


def test_to_commit_with_worktrees_and_submodules(tmp_path: Path) -> None:
    repository(tmp_path / "library")
    root = repository(tmp_path / "root")
    git(root, "submodule", "add", "-q", str(tmp_path / "library"), "vendor/lib")
    git(root, "commit", "-q", "-m", "two")
    git(root, "worktree", "add", "-q", str(root / "tree"))
    git(root, "worktree", "add", "-q", str(tmp_path / "elsewhere"))
    inner = names(root, guarded(root, "tree/.git", commit=True).protected)
    assert inner == {
        "tree/.git",
        ".git/config",
        ".git/hooks",
        ".git/worktrees/tree/commondir",
        ".git/worktrees/tree/gitdir",
        ".git/worktrees/elsewhere",
        ".git/modules/vendor/lib/config",
        ".git/modules/vendor/lib/hooks",
    }
    outer = names(root, guarded(root, commit=True).protected)
    assert {".git/worktrees/tree", ".git/worktrees/elsewhere"} <= outer
    module = names(root, guarded(root, "vendor/lib/.git", commit=True).protected)
    assert module == {"vendor/lib/.git", ".git/modules/vendor/lib/config", ".git/modules/vendor/lib/hooks"}


def test_to_commit_hooks_that_are_a_link_are_refused(tmp_path: Path) -> None:
    root = repository(tmp_path / "root")
    (root / ".git" / "hooks").rename(root / "hooks")
    (root / ".git" / "hooks").symlink_to("../hooks")
    assert names(root, guarded(root).protected) == {".git", "hooks"}
    with pytest.raises(InvalidArgument, match="hooks"):
        guarded(root, commit=True)
