"""What a rule allows, and what it does not."""

import pytest

from agent_exec.model.errors import InvalidArgument
from agent_exec.sandbox.hosts import Rules, canonical


def allows(rule: str, host: str, port: int = 443) -> bool:
    return Rules([rule]).match(canonical(host), port) is not None


@pytest.mark.parametrize(
    ("rule", "host", "port"),
    [
        ("allowed.com", "allowed.com", 443),
        ("allowed.com", "allowed.com", 80),
        ("allowed.com", "ALLOWED.com.", 443),
        ("Allowed.COM.", "allowed.com", 443),
        ("allowed.com:22", "allowed.com", 22),
        ("*.allowed.com", "a.allowed.com", 443),
        ("*.allowed.com", "a.b.allowed.com", 80),
        ("*.allowed.com:22", "a.allowed.com", 22),
        ("bücher.example", "xn--bcher-kva.example", 443),
        ("127.0.0.1:8080", "127.1", 8080),
        ("127.1:8080", "127.0.0.1", 8080),
        ("127.0.0.1", "[::ffff:127.0.0.1]", 443),
        ("[::1]:8080", "[0:0::1]", 8080),
    ],
)
def test_allowed(rule: str, host: str, port: int) -> None:
    assert allows(rule, host, port)


@pytest.mark.parametrize(
    ("rule", "host", "port"),
    [
        ("allowed.com", "evilallowed.com", 443),
        ("allowed.com", "allowed.com.evil.com", 443),
        ("allowed.com", "a.allowed.com", 443),
        ("allowed.com", "allowed.co", 443),
        ("allowed.com", "allowed.com", 8443),
        ("allowed.com", "allowed.com", 22),
        ("allowed.com:22", "allowed.com", 443),
        ("*.allowed.com", "allowed.com", 443),
        ("*.allowed.com", "evilallowed.com", 443),
        ("*.allowed.com", "a.allowed.com.evil.com", 443),
        ("*.allowed.com", "a.allowed.com", 22),
        ("127.0.0.1", "127.0.0.2", 443),
        ("xn--bcher-kva.example", "bcher.example", 443),
    ],
)
def test_not_allowed(rule: str, host: str, port: int) -> None:
    assert not allows(rule, host, port)


@pytest.mark.parametrize(
    "rule",
    [
        "",
        "*",
        "*.",
        "*.*",
        "**.a.com",
        "a.*.com",
        "*a.com",
        "*.1.2.3.4",
        "*.127.1",
        "*.[::1]",
        "https://a.com",
        "a.com/",
        "a.com:0",
        "a.com:http",
        "a.com:*",
        "a b",
        "a@b.com",
        ":443",
        "*:443",
        "::1",
    ],
)
def test_what_is_no_rule_is_said(rule: str) -> None:
    with pytest.raises(InvalidArgument, match="is not a rule"):
        Rules([rule])


def test_a_text_is_no_list() -> None:
    with pytest.raises(InvalidArgument):
        Rules("a.com")


def test_an_empty_list_allows_nothing() -> None:
    assert Rules().match(canonical("a.com"), 443) is None
    assert Rules().text == "allowed: nothing"


def test_the_list_in_words() -> None:
    assert Rules(["A.com", "*.b.com:22", "[::1]:80", "a.com."]).text == "allowed: a.com, *.b.com:22, [::1]:80"
