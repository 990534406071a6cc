"""The environment of a box: no secrets, no code to load, and a word about where one is."""

import os

import pytest

from agent_exec.sandbox.environment import inherit, scrub
from agent_exec.sandbox.profile import Profile

ADDED = {b"TMPDIR": b"/tmp", b"AGENT_EXEC_SANDBOX": b"ns", b"AGENT_EXEC_NET": b"off"}
ADDED |= {b"XDG_CACHE_HOME": b"/tmp/.cache", b"npm_config_cache": b"/tmp/.npm"}
if os.geteuid() == 0:
    ADDED[b"TAR_OPTIONS"] = b"--no-same-owner"


def left(env: dict[str, str], profile: Profile | None = None) -> set[str]:
    found = scrub(env, profile or Profile(), backend="ns")
    return {name.decode("utf-8", "surrogateescape") for name in found if name not in ADDED}


@pytest.mark.parametrize(
    "name",
    """OPENAI_API_KEY openai_api_key MY_SECRET GITHUB_TOKEN Db_Password PASSPHRASE CREDENTIALS AWS_REGION
    AWS_PROFILE SSH_AUTH_SOCK DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR DOCKER_HOST KUBECONFIG GIT_DIR GIT_CONFIG_COUNT
    GIT_SSH_COMMAND LD_PRELOAD LD_LIBRARY_PATH DYLD_INSERT_LIBRARIES PYTHONPATH PYTHONSTARTUP BASH_ENV ENV
    PROMPT_COMMAND NODE_OPTIONS PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS BASH_FUNC_ls%% SHELLOPTS PS4 DATABASE_URL
    HTTP_PROXY https_proxy LC_TOKEN DISPLAY TMUX""".split(),
)
def test_secrets_and_what_loads_code_stay_outside(name: str) -> None:
    assert left({name: "x", "PATH": "/bin"}) == {"PATH"}
    assert left({name: "x"}, Profile(env=[name])) == {name}


@pytest.mark.parametrize(
    "name",
    """PATH HOME LANG LC_ALL LC_CTYPE TERM TZ USER LOGNAME SHELL PWD VIRTUAL_ENV JAVA_HOME GOPATH CARGO_HOME
    EDITOR NO_COLOR CI COLUMNS""".split(),
)
def test_what_commands_live_by_goes_in(name: str) -> None:
    assert left({name: "x"}) == {name}


@pytest.mark.parametrize(
    "name",
    """GITHUB_PAT MYSQL_PWD BW_SESSION OP_SESSION_me NPM_AUTH SENTRY_DSN SLACK_WEBHOOK_URL JWT MY_JWT DBPW ROOT_PW
    TLS_PEM COOKIE SESSION_COOKIE DB_CONNECTION_STRING BEARER HTTP_AUTHORIZATION
    YARN_NPM_AUTH_IDENT NVM_AUTH_HEADER""".split(),
)
@pytest.mark.parametrize("secrets", ["allow-list", "deny-list"])
def test_more_names_of_secrets(name: str, secrets: str) -> None:
    assert left({name: "x", "PATH": "/bin"}, Profile(secrets=secrets)) == {"PATH"}


def test_what_is_inherited_goes_in_by_name_and_what_is_given_unless_it_looks_bad(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OF_OURS", "x")
    monkeypatch.setenv("LC_TIME", "C")
    assert left({"OF_OURS": "x", "LC_TIME": "C"}) == {"LC_TIME"}
    assert left({"OF_OURS": "other", "NEW": "y", "NEW_TOKEN": "z", "LD_PRELOAD": "l"}) == {"OF_OURS", "NEW"}
    assert left({"OF_OURS": "x"}, Profile(env=["OF_OURS"])) == {"OF_OURS"}
    assert left({"OF_OURS": "x"}, Profile(secrets="deny-list")) == {"OF_OURS"}
    assert b"OF_OURS" in scrub({"OF_OURS": "x"}, Profile(), given=["OF_OURS"])


def test_what_a_login_shell_gave_is_inherited_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_exec.sandbox.environment._inherited", [])
    assert left({"FROM_PROFILE": "x"}) == {"FROM_PROFILE"}
    inherit({"FROM_PROFILE": "x"})
    assert left({"FROM_PROFILE": "x"}) == set()


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ("postgres://me:hush@db/x", False),
        ("redis://:hush@cache", False),
        ("https://example.org/simple https://me:hush@example.org/simple", False),
        ("https://example.org,https://me:hush@example.org", False),
        ("https://0123456789abcdef0123456789abcdef@example.org/", False),
        ("https://example.org/a:b@c", True),
        ("https://me@example.org/", True),
        ("a:b@c", True),
        ("me:hush@example.org:3128", False),
        ("/opt/a:/opt/b@1.2/bin:/bin", True),
        ("redis://hush@cache", False),
        ("-H ghp_0123456789abcdef0123", False),
        ("/opt/npm_modules_of_mine/bin", True),
    ],
)
def test_an_address_with_a_password_stays_outside(value: str, kept: bool) -> None:
    assert left({"SOME_URL": value}) == ({"SOME_URL"} if kept else set())
    assert left({"SOME_URL": value}, Profile(env=["SOME_URL"])) == {"SOME_URL"}


def test_the_variable_of_the_sandbox_cannot_be_set_from_outside() -> None:
    env = {"TMPDIR": "/evil", "AGENT_EXEC_SANDBOX": "none", "AGENT_EXEC_NET": "on"}
    assert scrub(env, Profile(env=list(env)), backend="ns") == ADDED
    assert scrub({}, Profile("read-only"))[b"AGENT_EXEC_SANDBOX"] == b"read-only"
    assert scrub({}, Profile(net=["a.org"]))[b"AGENT_EXEC_NET"] == b"allow-list"
    assert scrub({}, Profile(net=[]))[b"AGENT_EXEC_NET"] == b"off"
    assert scrub({}, Profile(net="on"))[b"AGENT_EXEC_NET"] == b"on"


def test_bytes_and_odd_names_come_through_as_they_are() -> None:
    env = {b"A\xff": b"\xfe\n", b"": b"x"}
    assert scrub(env, Profile(), backend="ns") == {b"A\xff": b"\xfe\n"} | ADDED


def test_only_what_has_changed_is_judged_again() -> None:
    """And the result is the same as without the memory of an earlier one."""
    profile = Profile("read-only")
    first = {"NUMBER": "1", "PLAIN": "a", "GONE": "x"}
    known = (first, scrub(first, profile))
    for env in (
        first,
        {**first, "NUMBER": "2"},
        {**first, "PLAIN": "ghp_" + "a" * 36},
        {"NUMBER": "1", "PLAIN": "a"},
        {**first, "API_TOKEN": "secret"},
    ):
        assert scrub(env, profile, before=known) == scrub(env, profile)
    assert b"PLAIN" not in scrub({**first, "PLAIN": "ghp_" + "a" * 36}, profile, before=known)
