"""A profile: checked when it is made, never changed, the same on every machine, and strict when read."""

import copy
import json
import pickle
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_exec.model.errors import InvalidArgument
from agent_exec.sandbox.plan.secrets import SECRETS
from agent_exec.sandbox.profile import PROTECTED, BoxLimits, Profile

steady = settings(deadline=None, derandomize=True, max_examples=150)
parts = st.text(
    st.characters(exclude_characters="\0/", exclude_categories=["Cs"]) | st.sampled_from("\udc80\udcff*?[\n"),
    min_size=1,
    max_size=8,
).filter(lambda part: part not in {".", ".."})
relative = st.lists(parts, min_size=1, max_size=3).map("/".join)
absolute = relative.map(lambda path: "/" + path)
hosts = st.builds(
    lambda star, labels, port: star + ".".join([*labels, "test"]) + port,
    st.sampled_from(["", "*."]),
    st.lists(st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=9), max_size=3),
    st.integers(1, 65535).map(lambda port: f":{port}") | st.just(""),
)
limits = st.builds(
    BoxLimits,
    wall=st.none() | st.floats(0.001, 1e6),
    cpu=st.none() | st.integers(1, 10**6),
    procs=st.none() | st.integers(1, 10**6),
    memory_mb=st.none() | st.integers(1, 10**6),
    file_mb=st.none() | st.integers(1, 10**6),
    open_files=st.none() | st.integers(16, 10**6),
)
profiles = st.builds(
    Profile,
    name=st.sampled_from(["read-only", "workspace-write", "full-access"]),
    roots=st.lists(absolute, max_size=3),
    protect=st.lists(relative | absolute, max_size=3),
    protect_also=st.lists(relative, max_size=2),
    git=st.sampled_from(["read-only", "commit"]),
    missing=st.sampled_from(["report", "allow"]),
    deny_read=st.lists(relative | absolute, max_size=3),
    tmp=st.sampled_from(["private", "shared"]),
    tmp_mb=st.integers(1, 1 << 20),
    net=st.sampled_from(["off", "on"]) | st.lists(hosts, max_size=3),
    unix=st.sampled_from(["deny", "internal"]),
    env=st.lists(st.text(string.ascii_letters + "_", min_size=1), max_size=3),
    limits=limits,
    min_strength=st.sampled_from(["full", "degraded"]),
)
FIELDS = set(Profile.__slots__)


@steady
@given(profiles)
def test_a_profile_comes_back_from_its_fields_and_its_text(profile: Profile) -> None:
    for form in (
        profile.to_json(),
        profile.to_text(),
        profile.to_text().encode(),
        json.dumps(profile.to_json()),
    ):
        back = Profile.from_json(form)
        assert back == profile
        assert hash(back) == hash(profile)
        assert back.digest == profile.digest
        assert back.to_text() == profile.to_text()
    assert pickle.loads(pickle.dumps(profile)) == copy.deepcopy(profile) == profile.replace() == profile


@steady
@given(st.text(max_size=12).filter(lambda name: name not in FIELDS), st.none() | st.integers() | st.text())
def test_an_unknown_field_is_refused_and_named(name: str, value: object) -> None:
    with pytest.raises(InvalidArgument) as caught:
        Profile.from_json({name: value})
    assert repr(name) in caught.value.message
    assert "min_strength" in caught.value.message
    with pytest.raises(InvalidArgument):
        Profile.from_json({"limits": {name: value}})


@steady
@given(profiles, profiles)
def test_only_equal_profiles_have_equal_digests(one: Profile, other: Profile) -> None:
    assert (one.digest == other.digest) == (one == other)


@pytest.mark.parametrize("field", sorted(FIELDS))
@pytest.mark.parametrize("value", [None, 5.5, True, {"a": 1}, [5], ["a\0b"], "x\0", [None], [""]])
def test_a_value_of_the_wrong_kind_is_refused_and_its_field_named(field: str, value: object) -> None:
    if (field, value) == ("reuse", True):
        return  # the one field that this is right for
    with pytest.raises(InvalidArgument, match=field):
        Profile.from_json({field: value})


@pytest.mark.parametrize("field", BoxLimits.__slots__)
@pytest.mark.parametrize("value", ["5", True, -1, 0, float("nan"), float("inf"), [1], 1 << 40])
def test_a_limit_out_of_bounds_is_refused_and_named(field: str, value: object) -> None:
    with pytest.raises(InvalidArgument, match=field):
        Profile.from_json({"limits": {field: value}})


def test_what_is_left_out_is_as_in_a_new_one() -> None:
    assert Profile.from_json({}) == Profile.from_json("{}") == Profile()
    assert Profile().name == "workspace-write"
    assert Profile().net == "off"
    assert Profile().unix == "deny"
    assert Profile().tmp == "private"
    assert Profile().git == "read-only"
    assert Profile().missing == "remove"
    assert Profile().min_strength == "full"
    assert set(Profile().protect) == set(PROTECTED)
    assert set(Profile().deny_read) == set(SECRETS)
    assert Profile(deny_read=list(SECRETS)) == Profile(), "the list is in the one spelling"


@pytest.mark.parametrize(
    "text", ["", "[]", "null", '"x"', "{", '{"net":"off"} {}', "[" * 100_000, b"\xff\xfe{", '{"net": NaN}']
)
def test_what_is_no_profile_is_refused(text: str | bytes) -> None:
    with pytest.raises(InvalidArgument):
        Profile.from_json(text)


def test_a_field_that_comes_twice_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="twice"):
        Profile.from_json('{"net": "off", "net": "on"}')
    with pytest.raises(InvalidArgument, match="twice"):
        Profile.from_json('{"limits": {"procs": 5, "procs": null}}')


def test_a_profile_is_not_changed() -> None:
    profile = Profile()
    with pytest.raises(AttributeError, match="replace"):
        profile.net = "on"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="replace"):
        profile.limits.procs = None  # type: ignore[misc]
    with pytest.raises(AttributeError):
        del profile.net
    assert profile.replace(net="on").net == "on"
    assert profile.net == "off"


def test_an_empty_list_of_hosts_is_no_network_and_null_is_refused() -> None:
    assert Profile(net=[]).net == "off"
    assert Profile(net=[]).digest == Profile(net="off").digest
    with pytest.raises(InvalidArgument, match="net"):
        Profile.from_json('{"net": null}')
    with pytest.raises(InvalidArgument, match="net"):
        Profile(net="example.org")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Example.ORG.", "example.org"),
        ("example.org:443", "example.org:443"),
        ("example.org:0443", "example.org:443"),
        ("*.example.org", "*.example.org"),
        ("localhost:80", "localhost:80"),
        ("192.0.2.1:80", "192.0.2.1:80"),
        ("[2001:DB8:0::1]:443", "[2001:db8::1]:443"),
        ("[::1]", "[::1]"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
    ],
)
def test_a_host_has_one_spelling(written: str, meant: str) -> None:
    assert Profile(net=[written]).net == (meant,)


@pytest.mark.parametrize(
    "written",
    [
        "",
        ".",
        "*",
        "*.",
        "*.*.org",
        "a.*.org",
        "*a.org",
        "evil\0.example.org",
        "a b.org",
        "a..org",
        "-a.org",
        "http://example.org",
        "example.org/x",
        "example.org:",
        "example.org:0",
        "example.org:65536",
        "example.org:+1",
        "example.org:٣",
        "bücher.example",
        "127.1",
        "0x7f.1",
        "0177.0.0.1",
        "256.0.0.1",
        "*.0.0.1",
        "2130706433",
        "::1",
        "[::1",
        "[::g]",
        "[fe80::1%eth0]",
        "user@example.org",
        "a" * 64 + ".org",
    ],
)
def test_what_programs_could_read_in_two_ways_is_no_host(written: str) -> None:
    with pytest.raises(InvalidArgument, match="net"):
        Profile(net=[written])


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("/work//repo/", "/work/repo"),
        ("//work/./repo", "/work/repo"),
        ("/work/[a]*?", "/work/[a]*?"),
        ("/work/a\nb", "/work/a\nb"),
        (b"/work/\xff", "/work/\udcff"),
        (Path("/work/repo"), "/work/repo"),
        ("/work/~", "/work/~"),
    ],
)
def test_a_root_has_one_spelling_and_its_characters_mean_themselves(written: str, meant: str) -> None:
    assert Profile(roots=[written]).roots == (meant,)
    assert Profile.from_json(Profile(roots=[written]).to_text()).roots == (meant,)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("", "roots"),
        (".", "absolute"),
        ("repo", "absolute"),
        ("~/repo", "absolute"),
        ("/", "below"),
        ("//./", "below"),
        ("/work/../etc", r"\.\."),
        ("/work/a\0b", "NUL"),
        ("/work/\ud800", "encoded"),
        (5, "roots"),
    ],
)
def test_what_is_no_root_is_refused(written: str, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        Profile(roots=[written])


def test_one_path_is_no_list_of_its_letters() -> None:
    with pytest.raises(InvalidArgument, match="list"):
        Profile(roots="/work")
    with pytest.raises(InvalidArgument, match="list"):
        Profile(env="PATH")


def test_order_counts_for_roots_alone() -> None:
    assert Profile(protect=["b", "a", "b"]) == Profile(protect=["a", "b"])
    assert Profile(net=["b.org", "a.org"]) == Profile(net=["a.org", "b.org", "A.org"])
    assert Profile(env=["B", "A"]) == Profile(env=["A", "B"])
    assert Profile(roots=["/b", "/a", "/b"]).roots == ("/b", "/a")


def test_a_name_with_a_value_is_no_name_to_pass_on() -> None:
    with pytest.raises(InvalidArgument, match="env"):
        Profile(env=["A=B"])


def test_a_loopback_is_no_part_of_the_text() -> None:
    """It names something of this process: another process, or a file, has no use for it."""
    plain, shared = Profile("read-only"), Profile("read-only", loopback="one")
    assert shared != plain
    assert shared.digest == plain.digest
    assert Profile.from_json(shared.to_text()) == plain
    with pytest.raises(InvalidArgument, match="unknown field 'loopback'"):
        Profile.from_json({"loopback": "one"})
    with pytest.raises(InvalidArgument, match="loopback must be a name; got 1"):
        Profile(loopback=1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "network"),
    [
        ({}, ""),
        ({"loopback": "one"}, "one"),
        ({"loopback": "one", "net": "on"}, None),
        ({"loopback": "one", "net": ["b.example", "a.example"]}, "one\na.example\nb.example"),
        ({"loopback": "one", "name": "full-access"}, None),
    ],
)
def test_the_network_of_a_profile(fields: dict[str, Any], network: str | None) -> None:
    assert Profile(**fields).network == network
