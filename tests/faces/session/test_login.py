"""The environment of a login shell, taken once."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_exec.faces.session.shelling import MARK, SCRIPT, capture
from agent_exec.model.errors import LaunchFailed
from agent_exec.requests.shells import POSIX_KINDS, Shell, find

BASH = Shell("bash", "/bin/bash")
steady = settings(deadline=None, derandomize=True, max_examples=100)
names = st.text(st.characters(exclude_characters="\0=", exclude_categories=["Cs"]), min_size=1, max_size=8)
values = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
OF_THE_SHELL = {"PWD", "OLDPWD", "SHLVL", "_"}


@steady
@given(st.dictionaries(names, values, min_size=1, max_size=6), st.binary(max_size=20))
def test_pairs_are_read_exactly(env: dict[str, str], noise: bytes) -> None:
    """Reference §1.4: exports of a login shell; PWD and OLDPWD are never captured."""
    told = noise + MARK + b"".join(f"{name}={value}\0".encode() for name, value in env.items())
    found = capture(BASH, lambda _: told)
    assert found == {name: value for name, value in env.items() if name not in OF_THE_SHELL}


def test_what_is_of_the_shell_is_left_out() -> None:
    """Reference §1.4."""
    told = MARK + b"PWD=/x\0OLDPWD=/y\0SHLVL=1\0_=/usr/bin/env\0A=1\n=2\0odd\0=x\0B=\0\xff=\xfe\0"
    asked: list[list[str]] = []

    def run(argv: list[str]) -> bytes:
        asked.append(argv)
        return told

    assert capture(BASH, run) == {"A": "1\n=2", "B": "", "\udcff": "\udcfe"}
    assert asked == [["/bin/bash", "-lc", SCRIPT]]


@pytest.mark.parametrize("told", [b"", b"hello", MARK, MARK + b"A=1", MARK + b"A=1\0B=", b"A=1\0B=2\0"])
def test_a_shell_that_does_not_tell(told: bytes) -> None:
    """Reference §1.4: then it is left to `-lc`."""
    with pytest.raises(LaunchFailed, match="did not tell its environment"):
        capture(BASH, lambda _: told)


@pytest.mark.parametrize("kind", POSIX_KINDS)
def test_real_shells_tell_through_noisy_profiles(kind: str, tmp_path: Path) -> None:
    """Reference §1.4: the login shell and its profile are run once."""
    path = find(kind)
    if path is None:
        pytest.skip(f"no {kind} here")
    profile = "echo hello; printf 'a\\000b'; export FROM_PROFILE='two\nlines'; alias ll=ls\n"
    for name in (".profile", ".bash_profile", ".zprofile"):
        (tmp_path / name).write_text(profile)
    for name in (".bash_logout", ".zlogout"):
        (tmp_path / name).write_text("echo bye\n")

    def run(argv: list[str]) -> bytes:
        env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "KEPT": "yes"}
        return subprocess.run(argv, env=env, stdout=subprocess.PIPE, check=True).stdout

    found = capture(Shell(kind, path), run)
    assert found["FROM_PROFILE"] == "two\nlines"
    assert found["KEPT"] == "yes"
    assert found["HOME"] == str(tmp_path)
    assert not OF_THE_SHELL & set(found)
