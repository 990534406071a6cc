"""E2, E55: git_status_summary, which stands on exec_command's base."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_exec.faces.oneshot.git_status import branch_of, without_filters
from agent_exec.faces.oneshot.kit import Toolkit
from agent_exec.faces.oneshot.secure import ToolError
from agent_exec.sandbox.profile import Profile
from faces.oneshot.seen import MakeKit, code, data


def git(folder: Path, *words: str) -> str:
    ours = ["-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "protocol.file.allow=always"]
    out = subprocess.run(["git", *ours, *words], cwd=folder, check=True, capture_output=True, text=True)
    return out.stdout


@pytest.fixture
def repo(root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


def test_e2_the_whole_answer(kit: Toolkit, repo: Path) -> None:
    (repo / "src" / "é new.txt").write_text("x")
    (repo / "file.txt").write_text("changed")
    expected = {
        "repository_root": str(repo),
        "branch": "main",
        "raw": "## main\n M file.txt\n?? src/\n",
    }
    assert data(kit.git_status_summary()) == expected
    assert data(kit.git_status_summary("src/tools")) == expected
    assert data(kit.invoke("git_status_summary", {})) == expected
    assert data(kit.invoke("git_status_summary", {"cwd": "src\\tools"})) == expected


def test_e4_short_status_by_hand_says_the_same(kit: Toolkit, repo: Path) -> None:
    (repo / "file.txt").write_text("changed")
    by_hand = data(kit.exec_command(".", ["git", "status", "--short"]))["stdout"]
    assert data(kit.git_status_summary())["raw"] == "## main\n" + by_hand


def test_names_are_given_as_they_are(kit: Toolkit, repo: Path) -> None:
    (repo / "日本.txt").write_text("x")
    assert "?? 日本.txt\n" in data(kit.git_status_summary())["raw"]


@pytest.mark.parametrize(
    ("raw", "branch"),
    [
        ("## main\n", "main"),
        ("## main...origin/main [ahead 1, behind 2]\n M x\n", "main"),
        ("## feature/a.b...origin/x\n", "feature/a.b"),
        ("## HEAD (no branch)\n", None),
        ("## HEADER\n", "HEADER"),
        ("## No commits yet on main\n", "main"),
        ("## No commits yet on main...origin/main [gone]\n", "main"),
        ("## Initial commit on trunk\n", "trunk"),
        ("## main\r\n", "main"),
    ],
)
def test_the_branch(raw: str, branch: str | None) -> None:
    assert branch_of(raw) == branch


def test_a_status_without_a_branch_is_not_understood() -> None:
    for raw in ("", " M x\n", "##\n"):
        with pytest.raises(ToolError, match="did not begin"):
            branch_of(raw)


def test_branches_of_real_repositories(kit: Toolkit, root: Path, repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "feature/x")
    assert data(kit.git_status_summary())["branch"] == "feature/x"
    git(repo, "checkout", "-q", "--detach")
    assert data(kit.git_status_summary())["branch"] is None
    (root / "new").mkdir()
    git(root / "new", "init", "-q", "-b", "trunk")
    found = data(kit.git_status_summary("new"))
    assert (found["branch"], found["repository_root"]) == ("trunk", str(root / "new"))


def test_what_is_no_repository_is_said(kit: Toolkit, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(root.parent))
    answer = kit.git_status_summary()
    assert code(answer) == "NOT_GIT_REPOSITORY"
    assert str(root) in answer["message"]
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    assert code(kit.git_status_summary()) == "NOT_GIT_REPOSITORY"
    git(root, "init", "-q", "--bare", "bare.git")
    assert code(kit.git_status_summary("bare.git")) == "NOT_GIT_REPOSITORY"


@pytest.mark.parametrize(
    ("cwd", "expected"),
    [
        ("", "INVALID_ARGUMENT"),
        (5, "INVALID_ARGUMENT"),
        ("C:\\repo", "INVALID_ARGUMENT"),
        ("c:/repo", "INVALID_ARGUMENT"),
        ("missing", "NOT_DIRECTORY"),
        ("file.txt", "NOT_DIRECTORY"),
        ("..", "SANDBOX_VIOLATION"),
    ],
)
def test_a_directory_that_is_none(kit: Toolkit, cwd: Any, expected: str) -> None:
    assert code(kit.git_status_summary(cwd)) == expected


def test_without_git_it_is_named(kit: Toolkit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    answer = kit.git_status_summary()
    assert code(answer) == "COMMAND_NOT_FOUND"
    assert "'git'" in answer["message"]


def test_it_may_be_used_in_a_read_only_scope_and_writes_nothing(make_kit: MakeKit, repo: Path) -> None:
    (repo / "file.txt").touch()  # git would like to write down that it is unchanged
    before = (repo / ".git" / "index").read_bytes()
    assert data(make_kit(write_scope="read-only").git_status_summary())["raw"] == "## main\n"
    assert (repo / ".git" / "index").read_bytes() == before


def test_nothing_that_the_repository_names_is_run(kit: Toolkit, repo: Path) -> None:
    """Hooks, fsmonitor, pager, aliases, filters; of a submodule too; and another repository from outside."""
    trap = repo.parent / "trap"
    trap.write_text(f"#!/bin/sh\necho $0 $* >> {repo.parent / 'sprung'}\ncat\n")
    trap.chmod(0o755)
    (repo.parent / "inner").mkdir()
    git(repo.parent / "inner", "init", "-q", "-b", "main")
    (repo.parent / "inner" / "a").write_text("a")
    git(repo.parent / "inner", "add", ".")
    git(repo.parent / "inner", "commit", "-q", "-m", "inner")
    git(repo, "submodule", "--quiet", "add", str(repo.parent / "inner"), "sub")
    (repo / ".gitattributes").write_text("*.txt filter=odd=name\nfile* filter=plain\n")
    git(repo, "add", ".")
    git(repo, "commit", "-q", "-m", "second")
    for folder in (repo, repo / "sub"):
        git(folder, "config", "core.fsmonitor", str(trap))
        git(folder, "config", "core.pager", str(trap))
        git(folder, "config", "core.hooksPath", str(repo.parent))
        git(folder, "config", "alias.status", f"!{trap}")
    (repo.parent / "post-index-change").write_text(trap.read_text())
    (repo.parent / "post-index-change").chmod(0o755)
    for name in ("odd=name", "plain"):
        with (repo / ".git" / "config").open("a") as config:
            config.write(f'[filter "{name}"]\n\tclean = {trap}\n\tprocess = {trap}\n\trequired = true\n')
    (repo / "file.txt").write_text("test")
    (repo / "sub" / "a").write_text("b")
    found = data(kit.git_status_summary())
    assert found["raw"] == "## main\n M file.txt\n"
    assert not (repo.parent / "sprung").exists(), (repo.parent / "sprung").read_text()


def test_the_environment_does_not_lead_to_another_repository(
    kit: Toolkit, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo.parent / "other").mkdir()
    git(repo.parent / "other", "init", "-q", "-b", "elsewhere")
    monkeypatch.setenv("GIT_DIR", str(repo.parent / "other" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(repo.parent / "other"))
    found = data(kit.git_status_summary())
    assert (found["branch"], found["repository_root"]) == ("main", str(repo))


def test_filters_of_the_user_stay_and_those_of_the_repository_go() -> None:
    env = {"A": "1", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    assert without_filters(env, "") is env
    assert without_filters(env, "global\0filter.lfs.clean\0system\0filter.lfs.process\0") is env
    changed = without_filters(
        env, "global\0filter.lfs.clean\0local\0filter.a=b.c.clean\0worktree\0filter.x.process\0"
    )
    assert changed["GIT_CONFIG_COUNT"] == "9"
    pairs = {changed[f"GIT_CONFIG_KEY_{n}"]: changed[f"GIT_CONFIG_VALUE_{n}"] for n in range(9)}
    assert pairs["safe.directory"] == "*"
    assert pairs["filter.a=b.c.clean"] == pairs["filter.x.process"] == ""
    assert pairs["filter.x.required"] == "false"
    assert not any("lfs" in key for key in pairs)
    assert env["GIT_CONFIG_COUNT"] == "1"


def test_too_much_to_say_is_not_said_in_part(
    kit: Toolkit, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent_exec.faces.oneshot.git_status.MOST_OUTPUT_CHARS", 1000)
    for number in range(60):
        (repo / f"a-rather-long-name-of-a-file-{number}").touch()
    answer = kit.git_status_summary()
    assert code(answer) == "INTERNAL"
    assert "more than 1000 characters" in answer["message"]


def test_git_runs_in_the_sandbox_of_the_kit(make_kit: MakeKit, repo: Path, tmp_path: Path) -> None:
    """The folder may be another one by the time that git is in it; then it is in the box at least."""
    profile = Profile("workspace-write", [repo])
    kit = make_kit(sandbox=profile)
    answer = kit.git_status_summary()
    if "sandbox_unavailable" in str(answer):
        pytest.skip("nothing here can confine")
    assert data(answer)["branch"] == "main"
    outside = tmp_path / "outside"
    outside.mkdir()
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "git").write_text(f"#!/bin/sh\n: > {outside}/written\necho '## main'\n")
    (programs / "git").chmod(0o755)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        kit.git_status_summary()
    assert not (outside / "written").exists()
