"""git works: everything in `commit`, what only looks by default, and `init` where there is no repository."""

from pathlib import Path

import pytest

from sandbox.work.boxes import Space, need

COMMITTER = "-c user.name=A -c user.email=a@example.invalid"


@pytest.fixture
def repository(space: Space) -> Space:
    need("git")
    _first_commit(space)
    return space


def _first_commit(space: Space) -> None:
    (space.root / "file").write_text("one\n")
    for line in (["init", "-q", "-b", "main"], ["add", "file"], ["commit", "-q", "-m", "first"]):
        space.host("git", *line)


def test_init_in_an_empty_root(space: Space) -> None:
    need("git")
    said = space.sh(
        f"git init -q -b main; echo x > a; git add a; git {COMMITTER} commit -q -m first; git log --oneline; git status --short"
    )
    assert said.endswith("first\n")
    assert space.host("git", "log", "--format=%s") == "first\n"


def test_looking_works_although_the_repository_is_read_only(repository: Space) -> None:
    (repository.root / "file").write_text("two\n")
    said = repository.sh(
        "git status --short; git diff --stat; git log --oneline; git show --stat; git branch; git blame file"
    )
    assert " M file" in said
    assert "first" in said
    for line in (
        "git add file",
        f"git {COMMITTER} commit -qam x",
        "git branch b",
        "git config a.b c",
        "touch .git/x",
    ):
        out = repository.run("sh", "-c", line)
        assert out.exit_code != 0, line
        assert b"Read-only file system" in out.stderr
    assert repository.host("git", "status", "--porcelain") == " M file\n"


def test_looking_from_a_folder_below(repository: Space) -> None:
    below = repository.root / "deep" / "er"
    below.mkdir(parents=True)
    out = repository.run("git", "rev-parse", "--show-toplevel", cwd=below)
    assert (out.stdout_text, out.stderr) == (f"{repository.root}\n", b"")


def test_committing_works_where_it_is_allowed(repository: Space) -> None:
    git = f"git {COMMITTER}"
    space = repository.wearing(git="commit")
    space.sh(f"echo two > file; git add file; {git} commit -q -m second")
    space.sh(
        f"git branch side; git checkout -q side; echo s > s; git add s; {git} commit -q -m side; git checkout -q main"
    )
    space.sh(
        f"echo three > file; {git} stash -q; git diff --quiet; {git} stash pop -q; {git} commit -q -am third"
    )
    space.sh(f"{git} merge -q -m merged side; {git} tag v1; git tag -d v1 >/dev/null")
    forgotten = space.run(
        "git", "branch", "-q", "-d", "side"
    )  # it would tidy up the configuration, and says so
    assert (forgotten.exit_code, b"config" in forgotten.stderr) == (0, True)
    space.sh(
        f"git checkout -q -b other HEAD~1; echo o > o; git add o; {git} commit -q -m other; {git} rebase -q main"
    )
    space.sh(
        f"git reset -q --hard HEAD~1; {git} cherry-pick ORIG_HEAD >/dev/null; git gc -q; git fsck --no-progress >/dev/null; git clean -fdq"
    )
    said = space.sh("git log --format=%s; git status --short; git reflog >/dev/null")
    assert set(said.split()) == {"other", "merged", "side", "third", "second", "first"}
    space.host("git", "fsck", "--no-progress")
    for line in ("git config user.name evil", "touch .git/hooks/x"):
        assert space.run("sh", "-c", line).exit_code != 0, line


def test_every_command_of_one_repository_in_one_box(repository: Space) -> None:
    """The index and refs are replaced by renames; nothing that is protected comes off by that."""
    space = repository.wearing(git="commit")
    for number in range(5):
        space.sh(f"echo {number} > file; git {COMMITTER} commit -q -am {number}")
    assert space.sh("git rev-list --count HEAD") == "6\n"


def test_cloning_inside(repository: Space) -> None:
    space = repository.wearing(git="commit")
    space.sh("git clone -q . copy && cd copy && git log --oneline >/dev/null")
    assert (space.root / "copy" / ".git" / "HEAD").exists()


def test_a_work_tree_whose_repository_is_elsewhere(room: Space, hidden: Path) -> None:
    need("git")
    _first_commit(room)
    tree = hidden / "tree"
    room.host("git", "worktree", "add", "-q", tree, "-b", "work")
    space = Space(tree)
    out = space.run("git", "status", "--short")
    assert (out.exit_code, out.stdout, out.stderr) == (0, b"", b""), out
