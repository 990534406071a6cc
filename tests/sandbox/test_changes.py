"""What became of protected things while a command ran is seen, and nothing else is."""

import os
import shutil
from pathlib import Path

import pytest

from agent_exec.sandbox.plan.plan import Plan, make_plan
from agent_exec.sandbox.plan.survey import Surveyor
from agent_exec.sandbox.profile import Profile
from agent_exec.sandbox.report.changes import Change, compare, snapshot
from sandbox.trees import git, repository
from support import wait_until


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = repository(tmp_path / "home" / "work")
    (place / ".vscode").mkdir()
    (place / ".vscode" / "tasks.json").write_text("{}")
    (place / ".mcp.json").write_text("{}")
    return place


def planned(root: Path, **fields: str) -> Plan:
    return make_plan(Profile(roots=[str(root)], **fields), home=str(root.parent))  # type: ignore[arg-type]


def seen(root: Path, changes: tuple[Change, ...]) -> dict[str, str]:
    return {os.path.relpath(change.path, root): change.what for change in changes}


def touched(path: Path) -> int:
    path.touch()
    return path.stat().st_ctime_ns


def test_nothing_happened(root: Path) -> None:
    plan = planned(root)
    before = snapshot(plan, Surveyor())
    (root / "file").write_text("two\n")
    (root / "new").mkdir()
    assert compare(before, plan, Surveyor()) == ()
    assert before == snapshot(plan, Surveyor())
    assert before.partial == ()


def test_what_others_do_with_git_is_no_change(root: Path) -> None:
    plan = planned(root)
    before = snapshot(plan, Surveyor())
    (root / "file").write_text("two\n")
    git(root, "commit", "-q", "-a", "-m", "two")
    git(root, "branch", "other")
    git(root, "stash", "list")
    assert compare(before, plan, Surveyor()) == ()


@pytest.mark.parametrize("mode", ["read-only", "commit"])
def test_what_decides_what_git_runs_is_seen(root: Path, mode: str) -> None:
    plan = planned(root, git=mode)
    before = snapshot(plan, Surveyor())
    git(root, "config", "core.fsmonitor", "evil")
    (root / ".git" / "hooks" / "pre-commit").write_text("evil")
    (root / ".git" / "commondir").write_text("../evil")
    changes = compare(before, plan, Surveyor())
    assert seen(root, changes) == {
        ".git/config": "changed",
        ".git/hooks": "changed",
        ".git/commondir": "appeared",
    }
    assert changes[0].to_json() == {"path": str(root / ".git" / "commondir"), "what": "appeared"}


@pytest.mark.parametrize("how", ["write", "chmod", "touch", "replace", "same bytes", "add", "link"])
def test_every_kind_of_change_is_seen(root: Path, how: str) -> None:
    plan = planned(root)
    file = root / ".vscode" / "tasks.json"
    was = file.stat()
    wait_until(lambda: touched(root / "clock") > was.st_ctime_ns)  # some file systems tell time in ticks
    before = snapshot(plan, Surveyor())
    match how:
        case "write":
            file.write_text("[]")
            os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))
        case "chmod":
            file.chmod(0o755)
        case "touch":
            file.touch()
        case "replace":
            file.unlink()
            file.symlink_to("/etc/passwd")
        case "same bytes":
            file.write_text("{}")
        case "add":
            (file.parent / "more").mkdir()
        case _:
            os.link(file, root / "alias")
    assert seen(root, compare(before, plan, Surveyor())) == {".vscode": "changed"}


def test_what_is_gone_is_seen(root: Path) -> None:
    plan = planned(root)
    before = snapshot(plan, Surveyor())
    shutil.rmtree(root / ".vscode")
    (root / ".mcp.json").unlink()
    assert seen(root, compare(before, plan, Surveyor())) == {".vscode": "removed", ".mcp.json": "removed"}


def test_a_whole_repository_replaced_is_seen(root: Path) -> None:
    plan = planned(root)
    before = snapshot(plan, Surveyor())
    (root / ".git").rename(root / "old")
    git(root, "init", "-q")
    assert seen(root, compare(before, plan, Surveyor()))[".git/config"] == "changed"
    (root / ".git" / "HEAD").unlink()
    assert seen(root, compare(before, plan, Surveyor()))[".git/config"] == "changed"
    shutil.rmtree(root / ".git")
    assert seen(root, compare(before, plan, Surveyor()))[".git/config"] == "removed"


def test_a_repository_that_no_longer_looks_like_one_has_not_changed_otherwise(root: Path) -> None:
    plan = planned(root)
    before = snapshot(plan, Surveyor())
    (root / ".git" / "HEAD").unlink()
    assert compare(before, plan, Surveyor()) == ()


@pytest.mark.parametrize("how", ["folder", "file", "link", "dangling link"])
def test_a_missing_name_that_appears_is_seen_once(root: Path, how: str) -> None:
    plan = planned(root)
    before = snapshot(plan, Surveyor())
    place = root / ".claude"
    match how:
        case "folder":
            place.mkdir()
        case "file":
            place.write_text("")
        case "link":
            place.symlink_to("/etc")
        case _:
            place.symlink_to("nowhere")
    assert seen(root, compare(before, plan, Surveyor())) == {".claude": "appeared"}
    later = snapshot(plan, Surveyor())
    assert compare(later, plan, Surveyor()) == ()
    shutil.rmtree(place) if how == "folder" else place.unlink()
    assert seen(root, compare(later, plan, Surveyor())) == {".claude": "removed"}


def test_git_init_works_and_is_seen(tmp_path: Path) -> None:
    root = tmp_path.resolve() / "home" / "work"
    root.mkdir(parents=True)
    plan = planned(root)
    before = snapshot(plan, Surveyor())
    git(root, "init", "-q")
    assert seen(root, compare(before, plan, Surveyor())) == {".git": "appeared"}
    quiet = planned(root, missing="allow")
    assert compare(snapshot(quiet, Surveyor()), quiet, Surveyor()) == ()


def test_what_appears_anywhere_is_seen(root: Path) -> None:
    plan = planned(root)
    before = snapshot(plan, Surveyor(), fresh=True)
    assert before == snapshot(plan, Surveyor())
    repository(root / "a" / "b")
    (root / "deep" / ".claude").mkdir(parents=True)
    (root / "node_modules" / "x" / ".github").mkdir(parents=True)
    assert seen(root, compare(before, plan, Surveyor())) == {
        "a/b/.git": "appeared",
        "deep/.claude": "appeared",
    }


def test_a_module_of_a_repository_is_looked_at(tmp_path: Path, root: Path) -> None:
    repository(tmp_path / "library")
    git(root, "submodule", "add", "-q", str(tmp_path / "library"), "lib")
    plan = planned(root)
    before = snapshot(plan, Surveyor())
    (root / ".git" / "modules" / "lib" / "hooks" / "post-checkout").write_text("evil")
    assert seen(root, compare(before, plan, Surveyor())) == {".git/modules/lib/hooks": "changed"}


def test_a_folder_too_large_to_be_looked_at_whole_is_reported(root: Path) -> None:
    for number in range(1100):
        (root / ".vscode" / str(number)).touch()
    assert snapshot(planned(root), Surveyor()).partial == (str(root / ".vscode"),)


def test_a_root_that_has_grown_too_large_to_be_looked_at_is_reported(root: Path) -> None:
    plan = planned(root)
    before = snapshot(plan, Surveyor(), fresh=True)
    for number in range(50):
        (root / "deep" / str(number)).mkdir(parents=True)
    assert not compare(before, plan, Surveyor())
    (change,) = compare(before, plan, Surveyor(), bound=20)
    assert (change.path, change.what) == (str(root), "changed")
    assert "not all" in change.why
    known = make_plan(plan.profile, home=str(root.parent), own=(), bound=20)
    assert not compare(snapshot(known, Surveyor(), fresh=True), known, Surveyor(), bound=20), (
        "it was told when it was planned"
    )
