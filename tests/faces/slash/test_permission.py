"""Who may run commands, on which terms, and that it is read once from one place."""

import os
from pathlib import Path

import pytest

from agent_exec.faces.slash.permission import ShellPermission, safe_environment


def read(folder: Path, config: str | None = None, **environ: str) -> ShellPermission:
    if config is not None:
        (folder / "ox-config.json").write_text(config)
    return ShellPermission.read(str(folder), environ)


@pytest.mark.parametrize("value", ["1", "true", "YES", " on ", "True"])
def test_s09_the_environment_allows(folder: Path, value: str) -> None:
    assert read(folder, OX_ALLOW_SHELL=value).allowed


@pytest.mark.parametrize("value", ["0", "false", "no", "off", "maybe", "2", "truee"])
def test_s09_s37_the_environment_overrides_the_file(folder: Path, value: str) -> None:
    assert not read(folder, '{"allow_shell": true}', OX_ALLOW_SHELL=value).allowed


def test_s09_the_file_decides_where_the_environment_says_nothing(folder: Path) -> None:
    assert not read(folder).allowed
    assert "OX_ALLOW_SHELL=1" in read(folder).reason
    assert read(folder, '{"allow_shell": true}').allowed
    assert read(folder, '{"allow_shell": true}', OX_ALLOW_SHELL="").allowed
    assert not read(folder, '{"allow_shell": false}').allowed


@pytest.mark.parametrize(
    "config",
    [
        *("", "{", "[]", "true", '{"allow_shell": "true"}', '{"allow_shell": 1}', '{"allow_shell": null}'),
        *("[" * 100_000, '{"allow_shell": true} x', "\0"),
    ],
)
def test_s09_a_broken_file_allows_nothing_and_is_reported(folder: Path, config: str) -> None:
    found = read(folder, config)
    assert not found.allowed
    assert "ox-config.json" in found.problem


def test_s09_a_file_that_cannot_be_read_allows_nothing(folder: Path) -> None:
    (folder / "ox-config.json").mkdir()
    assert "cannot be read" in read(folder).problem
    (folder / "ox-config.json").rmdir()
    os.mkfifo(folder / "ox-config.json")
    assert not read(folder).allowed
    (folder / "ox-config.json").unlink()
    (folder / "ox-config.json").write_bytes(b"\xff\xfe")
    assert read(folder).problem


def test_s09_it_is_read_where_the_program_was_started(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "ox-config.json").write_text('{"allow_shell": true}')
    monkeypatch.delenv("OX_ALLOW_SHELL", raising=False)
    monkeypatch.chdir(folder.parent)
    assert not ShellPermission.read().allowed
    monkeypatch.chdir(folder)
    found = ShellPermission.read()
    (folder / "ox-config.json").write_text('{"allow_shell": false}')
    assert found.allowed


def test_s14_the_safe_variables() -> None:
    ours = {"PATH": "/bin", "HOME": "/h", "LANG": "C", "USER": "u", "SECRET": "s", "A": "1"}
    assert safe_environment(ours) == {"PATH": "/bin", "HOME": "/h", "LANG": "C", "USER": "u"}
    assert safe_environment(ours | {"OX_SAFE_ENV": ""}) == {}
    assert safe_environment(ours | {"OX_SAFE_ENV": " A , PATH ,, missing,A=1"}) == {"A": "1", "PATH": "/bin"}


def test_s30_the_size_of_the_output_can_be_set(folder: Path) -> None:
    found = read(folder, '{"shell_output_limit_bytes": 1000, "shell_output_max_lines": 10}')
    assert (found.max_bytes, found.max_lines, found.problem) == (1000, 10, "")
    assert (read(folder, "{}").max_bytes, read(folder).max_lines) == (2_097_152, 4000)
    for bad in ("0", "-1", "true", '"1"', "1.5", "1e99", "99999999999"):
        found = read(folder, f'{{"allow_shell": true, "shell_output_limit_bytes": {bad}}}')
        assert (found.allowed, found.max_bytes) == (True, 2_097_152)
        assert "shell_output_limit_bytes must be" in found.problem


def test_it_is_a_value(folder: Path) -> None:
    assert read(folder) == read(folder)
    assert hash(read(folder)) == hash(read(folder))
