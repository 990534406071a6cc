"""Hosts and ports have one reading, and what could be read in two ways is refused."""

import pytest

from agent_exec.sandbox.hosts import BadName, authority, canonical, host_of, shown


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("example.org", "example.org"),
        ("EXAMPLE.Org", "example.org"),
        ("example.org.", "example.org"),
        ("a_b.example.org", "a_b.example.org"),
        ("localhost", "localhost"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("127.0.0.1", "127.0.0.1"),
        ("127.0.0.1.", "127.0.0.1"),
        ("127.1", "127.0.0.1"),
        ("127.0.1", "127.0.0.1"),
        ("0x7f.1", "127.0.0.1"),
        ("0X7F.1", "127.0.0.1"),
        ("017700000001", "127.0.0.1"),
        ("0177.0.0.01", "127.0.0.1"),
        ("2130706433", "127.0.0.1"),
        ("0x7f000001", "127.0.0.1"),
        ("0", "0.0.0.0"),
        ("[::1]", "::1"),
        ("[0:0:0:0:0:0:0:1]", "::1"),
        ("[::ffff:127.0.0.1]", "127.0.0.1"),
        ("[::FFFF:7f00:1]", "127.0.0.1"),
        ("[2001:DB8::0:7]", "2001:db8::7"),
        ("3com.example", "3com.example"),
        ("0xa.example", "0xa.example"),
        ("a" * 63 + ".example", "a" * 63 + ".example"),
    ],
)
def test_one_spelling(given: str, name: str) -> None:
    assert canonical(given).name == name
    assert canonical(given.encode()).name == name
    assert canonical(canonical(given).text) == canonical(given)


@pytest.mark.parametrize(
    "given",
    [
        "",
        ".",
        "..",
        ".example.org",
        "example..org",
        "example.org..",
        "evil.com\0.allowed.com",
        "allowed.com%00",
        "allowed.com%00.evil.com",
        "allowed.com@evil.com",
        "allowed.com/evil.com",
        "allowed.com\\evil.com",
        "allowed.com evil.com",
        " allowed.com",
        "allowed.com ",
        "allowed.com\t",
        "allowed.com\r\nX: y",
        "allowed.com\x7f",
        "allowed.com#",
        "allowed.com?",
        "allowed.com:80",
        "*.allowed.com",
        "allowed。com",
        "allowed．com",  # noqa: RUF001 - a full-width dot
        "allowed｡com",
        "ａllowed.com",  # noqa: RUF001 - a full-width letter
        "allowe\u00ad d.com",
        "allowe\u00add.com",
        "allowed.\u212aom",
        "straße.example",
        "-a.example",
        "a-.example",
        "a" * 64 + ".example",
        ".".join(["a" * 60] * 5),
        "a" * 5000,
        "é" * 300,
        "1.2.3.4.5",
        "256.1.1.1",
        "1.2.3.256",
        "1.2.65536",
        "4294967296",
        "08.1.1.1",
        "0x",
        "0x.0x",
        "1.0x",
        "foo.1",
        "foo.0x1",
        "1..2",
        "[]",
        "[",
        "[::1",
        "::1",
        "[::1%lo]",
        "[::1%25lo]",
        "[127.0.0.1]",
        "[allowed.com]",
        "[::1].",
        "[[::1]]",
        "[::ffff:127.1]",
        "[:::1]",
        "[1:2:3:4:5:6:7:8:9]",
    ],
)
def test_refused(given: str) -> None:
    with pytest.raises(BadName):
        canonical(given)
    with pytest.raises(BadName):
        canonical(given.encode())


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(BadName):
        canonical(b"allowed\xff.com")


@pytest.mark.parametrize(
    ("given", "host", "port"),
    [
        ("example.org:443", "example.org", 443),
        ("example.org", "example.org", 80),
        ("[::1]:8080", "::1", 8080),
        ("[::1]", "::1", 80),
        ("127.1:65535", "127.0.0.1", 65535),
    ],
)
def test_host_and_port(given: str, host: str, port: int) -> None:
    read, number = authority(given, 80)
    assert (read.name, number) == (host, port)


@pytest.mark.parametrize(
    "port",
    [
        "",
        "0",
        "0443",
        "+443",
        "-443",
        "443 ",
        " 443",
        "65536",
        "99999",
        "4_43",
        "\uff14\uff14\uff13",
        "0x1bb",
        "443:80",
        "443.",
        "443@e.com",
        "443/",
    ],
)
def test_ports_are_plain(port: str) -> None:
    with pytest.raises(BadName):
        authority(f"example.org:{port}")
    with pytest.raises(BadName):
        authority(f"[::1]:{port}")


def test_a_port_must_be_named_where_there_is_no_default() -> None:
    with pytest.raises(BadName):
        authority("example.org")


def test_an_address_in_other_clothes_is_the_address() -> None:
    assert host_of("::ffff:10.0.0.1") == canonical("10.1")
    assert host_of(bytes(15) + b"\1") == canonical("[::1]")


def test_what_is_shown_is_printable_and_short() -> None:
    assert shown("evil\0\r\n。") == r"evil\x00\r\n\u3002"
    assert shown(b"a\xff") == r"a\xff"
    assert len(shown("\0" * 1000)) <= 255
