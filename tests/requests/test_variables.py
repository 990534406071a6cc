"""The variables of a command."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.secret import HARMLESS
from agent_exec.requests.variables import (
    EDITORS,
    INHERIT,
    QUIET,
    QUIET_VALUES,
    EnvironmentPolicy,
    build,
    matches,
    secret,
)

steady = settings(deadline=None, derandomize=True, max_examples=200)
LOUD = EnvironmentPolicy(quiet=False)
pieces = st.text("aB_*?", max_size=7)


def plain(environ: dict[str, str], platform: str = "linux", **terms: Any) -> dict[str, str]:
    return build(environ, EnvironmentPolicy(quiet=False, **terms), platform=platform)


def test_what_every_command_gets() -> None:
    """Reference §1.5: forced overrides beat user values; ours: git opens no editor."""
    loud = {"TERM": "xterm", "PAGER": "less", "LC_ALL": "de_DE", "GIT_EDITOR": "vim", "HOME": "/h"}
    assert build(loud, session_id=1234) == {
        "HOME": "/h",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "LANG": "C.UTF-8",
        "LC_CTYPE": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "COLORTERM": "",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GH_PAGER": "cat",
        "GIT_EDITOR": ":",
        "GIT_SEQUENCE_EDITOR": ":",
        "AGENT_EXEC_SESSION_ID": "1234",
    }


def test_a_screen_may_be_drawn_on() -> None:
    """Issue 6, better 4: for a terminal that is shown as a picture."""
    assert build({"GIT_EDITOR": "vim"}, screen=True) == {
        **QUIET_VALUES,
        "TERM": "xterm-256color",
        "GIT_EDITOR": "vim",
    }


def test_quiet_can_be_turned_off() -> None:
    """Reference §7: users want to opt out (#12932)."""
    assert build({"TERM": "xterm"}, LOUD) == {"TERM": "xterm"}


def test_values_beat_our_editors_and_not_the_terminal() -> None:
    """Reference §1.5."""
    policy = EnvironmentPolicy(values={"GIT_EDITOR": "ed", "TERM": "vt100", "MINE": "1"})
    assert build({}, policy) == {**QUIET_VALUES, **EDITORS, "GIT_EDITOR": "ed", "MINE": "1"}


@pytest.mark.parametrize(
    ("inherit", "platform", "kept"),
    [
        ("all", "linux", {"PATH", "HOME", "FOO", "PATHEXT", "Path2"}),
        ("core", "linux", {"PATH", "HOME"}),
        ("core", "darwin", {"PATH", "HOME"}),
        ("core", "win32", {"PATH", "PATHEXT"}),
        ("none", "linux", set()),
    ],
)
def test_what_is_inherited(inherit: str, platform: str, kept: set[str]) -> None:
    """Reference §1.6: all, core, none."""
    environ = dict.fromkeys(("PATH", "HOME", "FOO", "PATHEXT", "Path2", ""), "x")
    assert set(plain(environ, platform, inherit=inherit)) == kept


@pytest.mark.parametrize(
    ("name", "value", "hidden"),
    [
        ("OPENAI_API_KEY", "", True),
        ("my_secret", "", True),
        ("GITHUB_TOKEN", "", True),
        ("PGPASSWORD", "", True),
        ("SSH_ASKPASS", "", True),
        ("AWS_CREDENTIALS", "", True),
        ("DATABASE_URL", "postgres://me:word@host/db", True),
        ("DATABASE_URL", "postgres://me@host/db?x=a:b@c", False),
        ("HTTPS_PROXY", "http://me:word@proxy:3128", False),
        ("https_proxy", "http://me:word@proxy:3128", False),
        ("SSH_AUTH_SOCK", "/run/agent", False),
        ("PATH", "/bin", False),
        ("HOME", "://x:y@z", False),
    ],
)
def test_what_is_a_secret(name: str, value: str, hidden: bool) -> None:
    """Reference §1.6, with the default turned: *KEY* *SECRET* *TOKEN*, and PASS, CRED, signed addresses."""
    assert secret(name, value) is hidden
    assert (name in plain({name: value})) is not hidden
    assert name in plain({name: value}, pass_secrets=True)
    assert name in plain({name: value}, keep=[name.lower()])


def test_harmless_names_pass() -> None:
    """Ours: a few names look like secrets and are none."""
    environ = dict.fromkeys(HARMLESS, "x")
    assert plain(environ) == environ
    assert not any("*" in name for name in HARMLESS)


def test_the_order() -> None:
    """Reference §1.6: inherit, secrets, exclude, set, include_only (which applies to `set` too)."""
    environ = {"A_TOKEN": "1", "B": "1", "C1": "1", "C2": "1", "D": "1"}
    policy = EnvironmentPolicy(
        exclude=["c?", "B"],
        values={"A_TOKEN": "2", "C1": "2", "E": "2"},
        include_only=["a*", "C*", "D"],
        quiet=False,
    )
    assert build(environ, policy, session_id=7) == {
        "A_TOKEN": "2",
        "C1": "2",
        "D": "1",
        "AGENT_EXEC_SESSION_ID": "7",
    }


@pytest.mark.parametrize(
    ("name", "glob", "fits"),
    [
        ("PATH", "path", True),
        ("path", "P*", True),
        ("PATH", "P?TH", True),
        ("PATH", "P??", False),
        ("PATH", "*", True),
        ("PATH", "**H", True),
        ("PATH", "*A*H*", True),
        ("PATH", "A*", False),
        ("A[B]", "A[B]", True),
        ("AB", "A[B]", False),
        ("", "*", True),
        ("A" * 3000, "*A" * 300 + "B", False),
    ],
)
def test_globs(name: str, glob: str, fits: bool) -> None:
    """Reference §1.6: globs, case-insensitively."""
    assert matches(name, EnvironmentPolicy(exclude=[glob]).exclude) is fits


@steady
@given(st.text("aB_", max_size=9), pieces.filter(bool))
def test_globs_are_those_of_the_library(name: str, glob: str) -> None:
    """Reference §1.6."""
    from fnmatch import fnmatchcase

    assert matches(name, [glob.upper()]) is fnmatchcase(name.upper(), glob.upper())


@steady
@given(st.dictionaries(st.text("AKEYTOKN_x", min_size=1, max_size=8), st.text(max_size=3), max_size=6))
def test_no_secret_ever_passes(environ: dict[str, str]) -> None:
    """Issue 6: secrets are filtered by default."""
    found = build(environ, LOUD)
    assert all(
        "KEY" not in name.upper() and "TOKEN" not in name.upper() for name in set(found) - set(HARMLESS)
    )
    assert {name for name in environ if not secret(name, environ[name])} <= set(found)


@pytest.mark.parametrize(
    ("terms", "says"),
    [
        ({"inherit": "some"}, "all, core, none"),
        ({"exclude": "A*"}, "exclude must be a list"),
        ({"include_only": [""]}, "include_only must be a list"),
        ({"keep": [5]}, "keep must be a list"),
        ({"values": {"": "x"}}, "values must map"),
        ({"values": {"A=B": "x"}}, "values must map"),
        ({"values": {"A": 5}}, "values must map"),
        ({"values": {"A": "\0"}}, "NUL"),
    ],
)
def test_a_policy_is_checked(terms: dict[str, Any], says: str) -> None:
    """Reference §1.6."""
    with pytest.raises(InvalidArgument, match=says):
        EnvironmentPolicy(**terms)


def test_a_policy_is_a_value() -> None:
    """Reference §1.6: nothing given is changed."""
    environ = {"A": "1"}
    policy = EnvironmentPolicy(values={"B": "1"})
    build(environ, policy)["C"] = "1"
    assert (environ, policy) == ({"A": "1"}, EnvironmentPolicy(values={"B": "1"}))
    assert policy.replace(inherit="none").inherit == "none"


def test_the_presets() -> None:
    ours = {"PATH": "/bin", "TERM": "xterm", "A_TOKEN": "x", "": "nameless"}
    assert build(ours, INHERIT) == {"PATH": "/bin", "TERM": "xterm", "A_TOKEN": "x"}
    assert build(ours, QUIET) == build(ours) == {"PATH": "/bin", **QUIET_VALUES, **EDITORS}
    assert build(ours | {"n": "1", "no": "2", "none": "3"}, INHERIT.replace(inherit="none")) == {}


def test_listed_names_are_inherited_as_they_are_written() -> None:
    ours = {"PATH": "/bin", "Path": "/other", "A*": "1", "AB": "2", "A_TOKEN": "x"}
    assert plain(ours, inherit=["PATH", "A*", "A_TOKEN", "missing"]) == {"PATH": "/bin", "A*": "1"}
    assert plain(ours, inherit=["A_TOKEN"], pass_secrets=True) == {"A_TOKEN": "x"}
    assert plain(ours, inherit=[]) == {}
