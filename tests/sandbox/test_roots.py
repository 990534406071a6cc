"""What may be a root, who it is, and that it is still the same later."""

import os
from pathlib import Path

import pytest

from agent_exec.model.errors import InvalidArgument, PlanFailed
from agent_exec.sandbox.plan.plan import Root, changed_protections, changed_roots, make_plan, revalidate
from agent_exec.sandbox.plan.protections import find_protections
from agent_exec.sandbox.profile import Profile
from sandbox.trees import git, names, planned, repository


def test_a_root_is_known_by_its_real_path_and_its_inode(home: Path, root: Path) -> None:
    (home / "link").symlink_to(root)
    plan = planned(home, home / "link")
    found = root.stat()
    assert plan.roots == (Root(str(root), found.st_dev, found.st_ino),)
    assert revalidate(plan) == []
    assert plan == planned(home, home / "link")
    assert hash(plan) == hash(planned(home, home / "link"))


@pytest.mark.parametrize("name", ["[a]*?", "a\nb", "\udcff", "~", "$HOME", " ", "-x", "a" * 255, "#;\"'"])
def test_odd_names_mean_themselves(home: Path, root: Path, name: str) -> None:
    odd = root / name
    (odd / ".git").mkdir(parents=True)
    (odd / name).mkdir()
    (root / "aX").mkdir()
    plan = planned(home, odd, protect=[name])
    assert [one.path for one in plan.roots] == [str(odd)]
    assert set(plan.protected) == {str(odd / ".git"), str(odd / name)}


def test_roots_that_come_twice_or_lie_in_another_are_one(home: Path, root: Path) -> None:
    (root / "sub").mkdir()
    (home / "again").symlink_to(root)
    (home / "other").mkdir()
    plan = planned(home, root / "sub", root, home / "again", home / "other", str(root) + "//")
    assert [one.path for one in plan.roots] == [str(root), str(home / "other")]


def test_a_root_that_is_a_link_in_another_root_is_refused(home: Path, root: Path) -> None:
    (root / "again").symlink_to(home)
    with pytest.raises(InvalidArgument, match="again"):
        planned(home, root, root / "again")


def test_a_neighbour_with_a_longer_name_is_not_inside(home: Path, root: Path) -> None:
    (home / "work-too").mkdir()
    plan = planned(home, root, home / "work-too")
    assert len(plan.roots) == 2


@pytest.mark.parametrize("case", ["missing", "file", "link to nothing", "loop"])
def test_what_is_no_folder_is_no_root(home: Path, case: str) -> None:
    place = home / "x"
    if case == "file":
        place.write_text("")
    elif case == "link to nothing":
        place.symlink_to("nowhere")
    elif case == "loop":
        place.symlink_to("x")
    with pytest.raises(InvalidArgument, match="root"):
        planned(home, place)


@pytest.mark.parametrize("place", ["/proc/self", "/sys", "/dev", "/dev/shm", "/tmp"])
def test_what_is_the_systems_is_no_root(home: Path, place: str) -> None:
    with pytest.raises(InvalidArgument, match="cannot be a root"):
        planned(home, place)


def test_the_home_and_what_holds_it_is_no_root(home: Path, root: Path) -> None:
    (root / "back").symlink_to("..")
    for place in (home, home.parent, root / "back"):
        with pytest.raises(InvalidArgument, match="home"):
            planned(home, place)
    (root / "everything").symlink_to("/")
    with pytest.raises(InvalidArgument, match="whole machine"):
        planned(home, root / "everything")


def test_the_place_of_our_own_files_is_no_root(home: Path, root: Path) -> None:
    for state in (root, root / "state", root / "a" / "state", home):
        with pytest.raises(InvalidArgument, match="keeps its own files"):
            make_plan(Profile(roots=[str(root)]), home=str(home), state=[str(state)])
    make_plan(Profile(roots=[str(root)]), home=str(home), state=[str(home / "state")])


def test_a_repositorys_own_folder_is_no_root(home: Path, root: Path) -> None:
    repository(root)
    with pytest.raises(InvalidArgument, match="repository"):
        planned(home, root / ".git" / "hooks")
    git(root, "clone", "-q", "--bare", ".", "bare")
    with pytest.raises(InvalidArgument, match="repository"):
        planned(home, root / "bare")


def test_each_root_that_was_named_has_its_protected_names(home: Path, root: Path) -> None:
    (root / "sub" / ".vscode").mkdir(parents=True)
    (root / ".vscode").mkdir()
    plan = planned(home, root, root / "sub", protect=[".vscode", ".idea"])
    assert names(root, plan.protected) == {".vscode", "sub/.vscode"}
    assert names(root, plan.missing) == {".git", ".idea", "sub/.git", "sub/.idea"}


def test_a_root_that_is_to_be_protected_is_refused(home: Path, root: Path) -> None:
    for path in (root, home):
        with pytest.raises(InvalidArgument, match="take one of them away"):
            planned(home, root, protect_also=[str(path)])


def test_a_home_that_depends_on_the_working_directory_is_refused(root: Path) -> None:
    for home in ("", ".", "~"):
        with pytest.raises(InvalidArgument, match="home"):
            make_plan(Profile(roots=[str(root)]), home=home)


@pytest.mark.parametrize("what", ["", ".vscode"])
def test_what_is_replaced_while_it_is_planned_is_refused(
    home: Path, root: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    place = root / "in" / what
    place.mkdir(parents=True)
    whole = find_protections

    def meanwhile(*words: object, **options: object) -> object:
        found = whole(*words, **options)  # type: ignore[arg-type]
        place.rename(root / "old")
        place.symlink_to(root / "old")
        return found

    monkeypatch.setattr("agent_exec.sandbox.plan.plan.find_protections", meanwhile)
    with pytest.raises(PlanFailed, match="nothing was run"):
        planned(home, root / "in")


@pytest.mark.parametrize("how", ["gone", "another", "link", "file", "parent is a link"])
def test_a_root_that_was_replaced_is_reported(home: Path, root: Path, how: str) -> None:
    inner = root / "inner"
    inner.mkdir()
    plan = planned(home, inner)
    assert revalidate(plan) == []
    if how == "parent is a link":
        root.rename(home / "moved")
        root.symlink_to("moved")
    else:
        inner.rename(root / "moved")
    if how == "another":
        inner.mkdir()
    elif how == "link":
        inner.symlink_to("moved")
    elif how == "file":
        inner.write_text("")
    assert str(inner) in changed_roots(plan)[0]
    assert revalidate(plan)


@pytest.mark.parametrize("how", ["gone", "another", "link", "parent is a link"])
def test_a_protected_path_that_was_replaced_is_reported(home: Path, root: Path, how: str) -> None:
    repository(root / "sub")
    plan = planned(home, root)
    dotgit = root / "sub" / ".git"
    if how == "parent is a link":
        (root / "sub").rename(root / "moved")
        (root / "sub").symlink_to("moved")
    else:
        dotgit.rename(root / "sub" / "moved")
    if how == "another":
        dotgit.mkdir()
    elif how == "link":
        dotgit.symlink_to("moved")
    assert str(dotgit) in changed_protections(plan)[0]
    assert changed_roots(plan) == []


def test_settings_that_git_rewrites_are_reported_when_committing(home: Path, root: Path) -> None:
    repository(root)
    plan = planned(home, root, git="commit")
    git(root, "config", "a.b", "c")
    assert changed_protections(plan) == [f"the protected {str(root / '.git' / 'config')!r} was replaced"]
    whole = planned(home, root)
    git(root, "config", "a.b", "d")
    assert revalidate(whole) == []


def test_no_descriptor_is_left_by_a_refusal(home: Path, root: Path) -> None:
    before = os.listdir("/proc/self/fd")
    for place in (home, root / "none"):
        with pytest.raises(InvalidArgument):
            planned(home, place)
    assert os.listdir("/proc/self/fd") == before


@pytest.mark.parametrize(("shut", "refused"), [("home/own", False), ("home/work/own", True)])
def test_what_may_not_be_entered_matters_inside_a_root_alone(
    home: Path, root: Path, monkeypatch: pytest.MonkeyPatch, shut: str, refused: bool
) -> None:
    place = str(home.parent / shut)
    real = os.lstat

    def forbidding(path: str) -> os.stat_result:
        if path == place:
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr("agent_exec.sandbox.plan.paths.os.lstat", forbidding)
    profile = Profile(roots=[str(root)])
    if refused:
        with pytest.raises(InvalidArgument, match="Permission denied"):
            make_plan(profile, home=str(home), own=[place])
    else:
        assert make_plan(profile, home=str(home), own=[place]).protected == ()
