"""Why a path is seen in a box or not, and what would show it."""

import os
from pathlib import Path

import pytest

from agent_exec.sandbox.plan.explain import explain
from agent_exec.sandbox.plan.plan import make_plan
from agent_exec.sandbox.profile import Profile


def told(home: Path, root: Path, path: Path, **fields: object) -> tuple[bool, bool, str, str]:
    """Return whether it can be read and written, the rule about reading, and the remedy."""
    profile = Profile.from_json({"roots": [str(root)], **fields})
    found = explain(make_plan(profile, home=str(home)), str(path), str(home))
    read, write = found["read"], found["write"]
    assert isinstance(read, dict)
    assert isinstance(write, dict)
    assert (read["remedy"] is None) or not read["allowed"]
    return read["allowed"], write["allowed"], read["rule"], read["remedy"] or ""


@pytest.fixture
def house(home: Path, root: Path) -> Path:
    for name in ("notes", ".pyenv/version", ".npmrc", ".foo/x", ".foo/key", ".gitconfig", "miniconda3/bin/x"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x")
    for name in ("file", "secret.env", ".git/config"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("x")
    return home


def test_each_rule(house: Path, root: Path) -> None:
    assert told(house, root, root / "file")[:2] == (True, True)
    assert told(house, root, root / ".git" / "config")[:2] == (True, False)
    read, write, rule, remedy = told(house, root, house / "notes")
    assert (read, write) == (False, False)
    assert str(house) in rule
    assert '"show": ["~/notes"]' in remedy
    assert told(house, root, house / "notes", show=["~/notes"])[:3] == (True, False, "~/notes is in `show`")
    assert told(house, root, house / ".pyenv" / "version")[:3] == (True, False, "~/.pyenv is shown")
    assert "copy" in told(house, root, house / ".gitconfig")[2]
    assert told(house, root, house / "miniconda3" / "bin" / "x")[0]
    assert told(house, root, house)[0], "a folder of the box's own"
    read, _, rule, remedy = told(house, root, house / ".npmrc")
    assert (read, rule) == (False, "deny_read hides ~/.npmrc")
    assert "deny_read" in remedy
    assert "show" in remedy
    assert not told(house, root, house / ".foo" / "key", show=["~/.foo"], deny_read=["~/.foo/key"])[0]
    assert told(house, root, house / ".foo" / "x", show=["~/.foo"], deny_read=["~/.foo/key"])[0]
    assert not told(house, root, root / "secret.env", deny_read=["**/*.env"])[0]
    assert told(house, root, Path("/usr/bin"))[:2] == (True, False)


def test_links_are_followed_as_far_as_they_are_seen(house: Path, root: Path) -> None:
    (root / "link").symlink_to(house / "notes")
    assert not told(house, root, root / "link")[0]
    (house / "way").symlink_to("/usr")
    read, _, _, remedy = told(house, root, house / "way" / "bin")
    assert not read, "the link itself is hidden"
    assert "~/way" in remedy


def test_nothing_is_hidden_by_full_access(house: Path) -> None:
    found = explain(make_plan(Profile("full-access"), home=str(house)), str(house / ".npmrc"), str(house))
    assert found["read"] == {"allowed": True, "rule": "full-access confines nothing", "remedy": None}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_the_system_refuses(house: Path, root: Path) -> None:
    (root / "file").chmod(0)
    assert "system" in told(house, root, root / "file")[2]
