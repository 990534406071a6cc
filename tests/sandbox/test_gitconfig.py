"""Files of git's settings are read as git reads them, whatever is in them."""

from pathlib import Path

import pytest

from agent_exec.sandbox.plan.gitconfig import obeyed, parse
from sandbox.trees import git, repository


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.hookspath", "a b"),
        ("core.hookspath", 'say "x" \\ # ; end'),
        ("core.hookspath", "  spaces  "),
        ("core.hookspath", "tab\tnew\nline"),
        ("core.fsmonitor", ""),
        ("include.path", "~/x=y"),
        ('submodule.we]ird "name\\.path', "p"),
        ("filter.a.b.c.clean", "x"),
    ],
)
def test_settings_are_read_as_git_writes_them(tmp_path: Path, key: str, value: str) -> None:
    root = repository(tmp_path / "root")
    git(root, "config", key, value)
    section, name = key.partition(".")[0], key.rpartition(".")[2]
    assert (section, name, value) in parse((root / ".git" / "config").read_text())


@pytest.mark.parametrize(
    "text",
    [
        "[core] hooksPath = x",
        "[CORE]\nHOOKSPATH=x # note",
        '[core]\n\thookspath = "x" ; note',
        "[core]\r\nhookspath = x\r\n",
        "[core]\nhookspath = \\\nx",
        '[core ]\nhookspath = "x',
        "\ufeff[core]\nhookspath = x",
        "; [core]\n[a]\nb = [\n[core]\nc\nhookspath = x",
        '[core "]"]\na = b\n[core]\nhookspath = x',
    ],
)
def test_settings_are_read_in_every_form(text: str) -> None:
    assert ("core", "hookspath", "x") in parse(text)


@pytest.mark.parametrize("text", ["", "\n", "[", "]", "[a", "=", "a=\\", '[a]b="\\', "\0", '["]'])
def test_nonsense_is_passed_over(text: str, tmp_path: Path) -> None:
    parse(text)
    (tmp_path / "config").write_text(text)
    assert obeyed(str(tmp_path / "config"), str(tmp_path), "/home/me") == ([], [])


def test_files_that_include_each_other_without_end_are_reported(tmp_path: Path) -> None:
    many = "".join(f"[include]\n\tpath = {'x/../' * number}config\n" for number in range(40))
    (tmp_path / "config").write_text(many)
    (tmp_path / "x").mkdir()
    found, unread = obeyed(str(tmp_path / "config"), str(tmp_path), "/home/me")
    assert len(found) <= 100 * 40
    assert len(unread) == 1
