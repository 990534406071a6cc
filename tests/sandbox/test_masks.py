"""What may not be read is found where it really is, and patterns that cannot be kept are refused."""

from pathlib import Path

import pytest

from agent_exec.model.errors import InvalidArgument
from agent_exec.sandbox.plan.plan import make_plan, revalidate, unmasked
from agent_exec.sandbox.plan.reading import matches
from agent_exec.sandbox.profile import Profile
from sandbox.trees import names, planned


def test_secrets_of_the_home_are_masked_where_they_really_are(home: Path, root: Path) -> None:
    (home / "elsewhere").mkdir()
    (home / ".ssh").symlink_to("elsewhere")
    (home / ".netrc").write_text("")
    plan = planned(home, root)
    assert names(home, tuple(mask for mask in plan.masks if mask.startswith(str(home)))) == {
        "elsewhere",
        ".netrc",
    }
    assert str(home / ".aws") in plan.absent
    assert unmasked(plan) == []
    (home / ".aws").mkdir()
    assert unmasked(plan) == [], "the home is covered, whatever comes there"
    assert revalidate(plan) == []


def test_what_comes_into_a_root_and_may_not_be_read_is_seen(home: Path, root: Path) -> None:
    plan = planned(home, root, deny_read=[".env"])
    assert unmasked(plan) == []
    (root / ".env").touch()
    assert unmasked(plan) == [str(root / ".env")]


def test_what_comes_into_a_folder_that_was_not_there_is_seen(home: Path, root: Path) -> None:
    plan = planned(home, root, deny_read=["deep/er/key"])
    (root / "deep" / "er").mkdir(parents=True)
    assert unmasked(plan) == []
    (root / "deep" / "er" / "key").touch()
    assert unmasked(plan) == [str(root / "deep" / "er" / "key")]


def test_patterns_are_expanded_once(home: Path, root: Path) -> None:
    for name in (".env", "a/.env", "a/b/.env.local", "a/[x]", "a/b/x", "b/key1.pem", "b/key2.pem"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")
    (root / "loop").symlink_to(".")
    assert names(root, planned(home, root, deny_read=["**/.env"]).masks) == {".env", "a/.env"}
    assert names(root, planned(home, root, deny_read=["**/.env*"]).masks) == {
        ".env",
        "a/.env",
        "a/b/.env.local",
    }
    assert names(root, planned(home, root, deny_read=["*/key?.pem"]).masks) == {"b/key1.pem", "b/key2.pem"}
    assert names(root, planned(home, root, deny_read=["a/[x]"]).masks) == {"a/[x]"}
    assert names(root, planned(home, root, deny_read=["~/work/*/b"]).masks) == {"a/b", "b"}
    assert names(root, planned(home, root, deny_read=["loop/a/.env"]).masks) == {"a/.env"}
    assert names(root, planned(home, root, deny_read=["a", "a/.env"]).masks) == {"a"}
    assert planned(home, root, deny_read=["**/nothing", "no*"]).masks == ()


def test_patterns_that_stand_for_too_much_are_refused(
    home: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        (root / f"k{number}").write_text("")
    profile = Profile(roots=[str(root)], deny_read=["k*"])
    with pytest.raises(InvalidArgument, match="narrow"):
        make_plan(profile, home=str(home), bound=10)
    monkeypatch.setattr("agent_exec.sandbox.plan.reading.MOST_MASKS", 10)
    with pytest.raises(InvalidArgument, match="narrower"):
        make_plan(profile, home=str(home))


@pytest.mark.parametrize("hidden", ["~", "~/work", "~/w*", "/*"])
def test_a_root_that_is_to_be_hidden_is_refused(home: Path, root: Path, hidden: str) -> None:
    with pytest.raises(InvalidArgument, match="deny_read"):
        planned(home, root, deny_read=[hidden])


def test_the_name_of_a_root_or_a_home_is_no_pattern(home: Path) -> None:
    for name in ("*", "x"):
        (home / name / "in").mkdir(parents=True)
        (home / name / "in" / ".env").write_text("")
    assert names(home, planned(home, home / "*", deny_read=["**/.env"]).masks) == {"*/in/.env"}
    found = make_plan(Profile(deny_read=["~/i?"]), home=str(home / "*"))
    assert names(home, found.masks) == {"*/in"}


def test_a_pattern_is_absolute_if_it_is_written_so(home: Path, root: Path) -> None:
    (root / "k1").write_text("")
    assert names(root, planned(home, root, deny_read=[f"{root}/k?"]).masks) == {"k1"}


@pytest.mark.parametrize(
    ("name", "pattern", "fits"),
    [
        ("", "*", True),
        ("abc", "*", True),
        ("abc", "a*c", True),
        ("abc", "a?c", True),
        ("ac", "a?c", False),
        ("aXbXc", "a*b*c", True),
        ("aXbXd", "a*b*c", False),
        ("a*c", "a*c", True),
        ("abcabd", "*abd", True),
        ("abc", "abc**", True),
        ("a[b]", "a[b]", True),
        ("ab", "a[b]", False),
        ("\n", "?", True),
    ],
)
def test_a_star_is_any_number_of_characters(name: str, pattern: str, fits: bool) -> None:
    assert matches(name, pattern) is fits
