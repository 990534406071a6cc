"""What a profile comes to: which paths are protected, which are looked for, which are refused."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from agent_exec.model.errors import InvalidArgument
from agent_exec.sandbox.plan.ours import own_paths
from agent_exec.sandbox.plan.plan import changed_roots, make_plan
from agent_exec.sandbox.profile import PROTECTED, Profile
from sandbox.trees import git, names, planned, repository


def test_every_git_and_the_known_names_are_protected(home: Path, root: Path) -> None:
    repository(root)
    repository(root / "a" / "b" / "c")
    (root / ".vscode").mkdir()
    (root / ".mcp.json").write_text("{}")
    (root / "a" / ".vscode").mkdir()
    plan = planned(home, root)
    assert names(root, plan.protected) == {".git", "a/b/c/.git", ".vscode", "a/.vscode", ".mcp.json"}
    assert names(root, plan.missing) == {*PROTECTED} - {".vscode", ".mcp.json"}
    assert plan.unenforced == ()
    depths = [path.count("/") for path in plan.protected]
    assert depths == sorted(depths)
    assert len(plan.identities) == len(plan.protected)


def test_more_can_be_protected_and_less(home: Path, root: Path) -> None:
    (root / "deep" / "conf").mkdir(parents=True)
    (root / "own").write_text("")
    (root / ".vscode").mkdir()
    plan = planned(
        home, root, protect=[], protect_also=["deep/conf", str(root / "own"), "no/such", "/etc/passwd"]
    )
    assert names(root, plan.protected) == {"deep/conf", "own"}
    assert names(root, plan.missing) == {".git", "no/such"}


def test_a_missing_git_is_looked_for_unless_missing_is_allow(home: Path, root: Path) -> None:
    assert str(root / ".git") in planned(home, root).missing
    assert planned(home, root, missing="allow").missing == ()


def test_what_lies_in_a_protected_folder_is_not_named_again(home: Path, root: Path) -> None:
    repository(root / ".claude" / "inner")
    assert names(root, planned(home, root, protect_also=[".claude/inner"]).protected) == {".claude"}


def test_a_root_in_a_protected_folder_is_refused(home: Path, root: Path) -> None:
    (root / ".claude" / "tree").mkdir(parents=True)
    with pytest.raises(InvalidArgument, match="protected"):
        planned(home, root, root / ".claude" / "tree")
    assert planned(home, root / ".claude" / "tree").roots


@pytest.mark.parametrize(
    ("link", "target", "protect"),
    [
        ("a", "real", "a/b/c"),
        ("real/b", "..", "real/b/x"),
    ],
)
def test_a_link_on_the_way_to_a_protected_path_is_refused_and_named(
    home: Path, root: Path, link: str, target: str, protect: str
) -> None:
    (root / "real").mkdir()
    (root / link).symlink_to(target)
    with pytest.raises(InvalidArgument) as caught:
        planned(home, root, protect=[protect])
    assert caught.value.details["symlink"] == str(root / link)
    assert str(root / link) in caught.value.message


def test_a_nested_git_that_is_a_link_is_refused_and_named(home: Path, root: Path) -> None:
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / ".git").symlink_to("/etc")
    with pytest.raises(InvalidArgument, match=r"a/b/\.git"):
        planned(home, root)


def test_a_link_outside_the_roots_is_followed(home: Path, root: Path) -> None:
    (root / "kept").mkdir()
    (home / "way").symlink_to(root)
    assert names(root, planned(home, root, protect=[str(home / "way" / "kept")]).protected) == {"kept"}


def test_a_worktree_among_the_roots_protects_the_main_repository(home: Path, root: Path) -> None:
    main = repository(root / "main")
    git(main, "worktree", "add", "-q", str(root / "tree"))
    plan = planned(home, root / "tree", root / "main")
    assert names(root, plan.protected) == {"main/.git", "tree/.git"}
    alone = planned(home, root / "tree")
    assert names(root, alone.protected) == {"tree/.git"}


def test_to_commit_the_rest_of_a_repository_is_writable(home: Path, root: Path) -> None:
    repository(root)
    git(root, "worktree", "add", "-q", str(root / "tree"))
    plan = planned(home, root, git="commit")
    assert names(root, plan.protected) == {
        ".git/config",
        ".git/hooks",
        ".git/worktrees/tree/commondir",
        ".git/worktrees/tree/gitdir",
        "tree/.git",
    }
    assert str(root / ".git" / "commondir") in plan.missing
    assert str(root / ".git" / "commondir") in planned(home, root, git="commit", missing="allow").missing
    assert any("git commit" in said for said in plan.unenforced)


def test_a_folder_of_hooks_inside_a_root_is_protected(home: Path, root: Path) -> None:
    repository(root)
    (root / ".husky").mkdir()
    git(root, "config", "core.hooksPath", ".husky")
    assert names(root, planned(home, root).protected) == {".git", ".husky"}


def test_our_own_files_inside_a_root_are_protected(home: Path, root: Path) -> None:
    (root / ".venv").mkdir()
    profile = Profile(roots=[str(root)])
    plan = make_plan(profile, home=str(home), own=[str(root / ".venv"), str(root / "gone"), "/usr"])
    assert names(root, plan.protected) == {".venv"}
    with pytest.raises(InvalidArgument, match="runs from it"):
        make_plan(profile, home=str(home), own=[str(root)])
    (root / "env").symlink_to(".venv")
    with pytest.raises(InvalidArgument, match="symbolic link"):
        make_plan(profile, home=str(home), own=[str(root / "env")])
    assert sys.prefix in own_paths()
    assert any(path.endswith("agent_exec") for path in own_paths())


def test_a_tree_beyond_the_bound_is_reported(home: Path, root: Path) -> None:
    for number in range(300):
        (root / f"d{number}" / "x").mkdir(parents=True)
    (root / ".git").mkdir()
    plan = make_plan(Profile(roots=[str(root)]), home=str(home), bound=100)
    assert names(root, plan.protected) == {".git"}
    assert "300 folders" in plan.unenforced[0]
    assert planned(home, root).unenforced == ()


def test_a_big_tree_is_looked_at_whole(home: Path, root: Path) -> None:
    for number in range(200):
        folder = root / f"d{number}"
        folder.mkdir()
        for other in range(50):
            (folder / f"f{other}").touch()
    (root / "d150" / "z" / ".git").mkdir(parents=True)
    plan = planned(home, root)
    assert names(root, plan.protected) == {"d150/z/.git"}
    assert plan.unenforced == ()


def test_a_file_with_a_name_outside_is_reported(home: Path, root: Path) -> None:
    (home / "outside").write_text("")
    os.link(home / "outside", root / "inside")
    plan = planned(home, root)
    assert "1 files" in plan.unenforced[0]
    assert str(root / "inside") in plan.unenforced[0]


def test_too_many_to_protect_are_refused(home: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_exec.sandbox.plan.protections.MOST_PROTECTED", 3)
    for number in range(4):
        (root / f"r{number}" / ".git").mkdir(parents=True)
    with pytest.raises(InvalidArgument, match="4 paths"):
        planned(home, root)


def test_read_only_has_no_roots_but_shows_them(home: Path, root: Path) -> None:
    repository(root)
    plan = make_plan(Profile("read-only", [str(root)]), home=str(home))
    assert plan.roots == ()
    assert plan.protected == ()
    assert [one.path for one in plan.visible] == [str(root)]
    shutil.rmtree(root)
    assert changed_roots(plan)


def test_full_access_plans_nothing_and_says_so(home: Path) -> None:
    plan = make_plan(Profile("full-access", ["/nonexistent"]), home=str(home))
    assert plan.roots == plan.masks == plan.protected == ()
    assert "nothing is confined" in plan.unenforced[0]


def test_a_shared_tmp_is_a_root_like_others(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make_plan(Profile(tmp="shared"), home="/nonexistent", bound=0)
    assert [one.path for one in plan.roots] == ["/tmp"]
    assert make_plan(Profile("read-only", tmp="shared"), home="/nonexistent").visible == ()
    with pytest.raises(InvalidArgument, match="own files"):
        make_plan(Profile(tmp="shared"), home="/nonexistent", state=["/tmp/agent-exec-state"], bound=0)


def test_secrets_of_the_system_are_hidden_or_looked_for(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    plan = planned(tmp_path, tmp_path / "work", secrets="deny-list")
    assert {"/run/credentials", "/var/backups", "/etc/shadow"} <= {*plan.masks, *plan.absent}
