"""TLS in a tunnel: its greeting must name the host that the tunnel was asked for, however it is sent."""

import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_exec.sandbox.hosts import Host
from agent_exec.sandbox.proxy.framing import Problem
from agent_exec.sandbox.proxy.hello import MAX_HELLO, REFUSED, Hello
from sandbox.proxy.world import AUTH, Origin, Served, echo, origin, read_all, read_exactly, served
from support import wait_until

GOOD, EVIL = "good.example", "evil.example"


def real_hello(name: str | None) -> bytes:
    """Return the greeting of a real client."""
    context = ssl.create_default_context()
    context.check_hostname = False
    out = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return out.read()


def sized(width: int, data: bytes) -> bytes:
    return len(data).to_bytes(width) + data


def server_name(*names: bytes, kind: int = 0) -> tuple[int, bytes]:
    return 0, sized(2, b"".join(bytes([kind]) + sized(2, name) for name in names))


GREASE = (0x3A3A, b"\0")
ECH = (0xFE0D, b"\0" + b"x" * 200)
EARLY = (42, b"")


def body(*extensions: tuple[int, bytes], after: bytes = b"") -> bytes:
    """Return a greeting with these extensions, as a message."""
    fields = b"".join(kind.to_bytes(2) + sized(2, data) for kind, data in extensions)
    hello = b"\x03\x03" + bytes(32) + sized(1, bytes(32)) + sized(2, b"\x13\x01\x0a\x0a") + sized(1, b"\0")
    return b"\x01" + sized(3, hello + sized(2, fields) + after)


def record(data: bytes, kind: int = 22) -> bytes:
    return bytes([kind]) + b"\x03\x01" + sized(2, data)


def hello(*extensions: tuple[int, bytes]) -> bytes:
    return record(body(*extensions))


def to_loopback(name: str, port: int) -> Sequence[str]:
    return ["127.0.0.1"]


@contextmanager
def tunnels(*names: str) -> Iterator[tuple[Origin, Served, list[bytes]]]:
    """An origin that several names lead to, a proxy that lets these be dialled, and what the origin heard."""
    heard: list[bytes] = []

    def note(client: socket.socket) -> None:
        while data := client.recv(65536):
            heard.append(data)
            client.sendall(data)

    with origin(note) as server:
        rules = [f"{name}:{server.port}" for name in (*names, "127.0.0.1")]
        with served(*rules, resolve=to_loopback) as proxy:
            yield server, proxy, heard


def test_the_name_of_the_tunnel_is_passed_on() -> None:
    with tunnels(GOOD) as (server, proxy, _):
        for said in (
            real_hello(GOOD),
            real_hello(GOOD.upper()),
            hello(GREASE, server_name(GOOD.encode()), ECH),
        ):
            with proxy.opened(GOOD, server.port) as client:
                client.sendall(said)
                assert read_exactly(client, len(said)) == said
                client.sendall(b"and more")
                assert read_exactly(client, 8) == b"and more"
        assert not proxy.denials()


def test_another_name_is_refused_and_reported() -> None:
    with tunnels(GOOD, "also.good.example") as (server, proxy, heard):
        for name in (EVIL, "also.good.example", f"x.{GOOD}", None):
            with proxy.opened(GOOD, server.port) as client:
                client.sendall(real_hello(name))
                assert read_all(client) == REFUSED
        server.wait_until_served()
        assert heard == []
        told = [one for one in proxy.told if not one.allowed]
        assert [(one.host, one.rule) for one in told] == [(GOOD, None)] * 4
        (denial,) = [one for one in proxy.denials() if EVIL in one["rule"]]
        assert (denial["evidence"], denial["host"]) == ("exact", GOOD)
        assert denial["rule"] == f"the TLS greeting names another host: {EVIL}"


def test_what_comes_with_the_request_is_read_too() -> None:
    with tunnels(GOOD) as (server, proxy, heard):
        with proxy.connect() as client:
            head = f"CONNECT {GOOD}:{server.port} HTTP/1.1\r\nHost: {GOOD}:{server.port}\r\n"
            client.sendall(f"{head}{AUTH}\r\n".encode() + real_hello(EVIL))
            assert b" 403 " in read_all(client)
        server.wait_until_served()
        assert heard == []


def test_by_address_there_is_no_name_or_an_allowed_one() -> None:
    with tunnels(GOOD) as (server, proxy, heard):
        for name, fine in ((None, True), (GOOD, True), (EVIL, False)):
            said = real_hello(name)
            with proxy.opened("127.0.0.1", server.port) as client:
                client.sendall(said)
                assert (read_exactly(client, len(said)) == said) is fine
        server.wait_until_served()
        assert len(heard) == 2


@pytest.mark.parametrize("size", [1, 3, 5, 100])
@pytest.mark.parametrize("name", [GOOD, EVIL])
def test_a_greeting_in_pieces(size: int, name: str) -> None:
    """In segments and in records of any size."""
    message = body(GREASE, server_name(name.encode()))
    said = b"".join(record(message[at : at + size]) for at in range(0, len(message), size))
    with tunnels(GOOD) as (server, proxy, heard), proxy.opened(GOOD, server.port) as client:
        for at in range(0, len(said), 7 * size):
            try:
                client.sendall(said[at : at + 7 * size])
            except ConnectionError:
                break
        if name == GOOD:
            assert read_exactly(client, len(said)) == said
        else:
            assert read_all(client) == REFUSED
            assert heard == []


def test_a_second_greeting_is_read_too() -> None:
    """A server may ask for one, and take the name from that."""
    first = hello(server_name(GOOD.encode()))
    change = record(b"\1", 20)
    finished = record(b"\1" + bytes(39), 22)  # encrypted: it only looks like one
    warning = record(b"\1\x5a", 21)  # which servers pass over
    for between in (b"", change, change + change, warning, change + warning):
        with tunnels(GOOD) as (server, proxy, heard):
            with proxy.opened(GOOD, server.port) as client:
                client.sendall(first)
                assert read_exactly(client, len(first)) == first
                client.sendall(between + hello(server_name(EVIL.encode())))
                assert REFUSED in read_all(client)
            assert EVIL.encode() not in b"".join(heard)
            for second in (first, finished, record(b"\x10\0\0\1x"), record(b"data", 23)):
                said = first + between + second + b"noise"
                with proxy.opened(GOOD, server.port) as client:
                    client.sendall(said)
                    assert read_exactly(client, len(said)) == said


def test_a_second_greeting_behind_early_data() -> None:
    first, early = hello(server_name(GOOD.encode()), EARLY), record(b"x" * 1000, 23)
    with tunnels(GOOD) as (server, proxy, heard):
        with proxy.opened(GOOD, server.port) as client:
            client.sendall(first + early * 8 + hello(server_name(EVIL.encode())))
            assert read_all(client).endswith(REFUSED)
        assert EVIL.encode() not in b"".join(heard)
        with proxy.opened(GOOD, server.port) as client:
            said = first + early * 100
            client.sendall(said)
            assert read_exactly(client, len(said)) == said


@pytest.mark.parametrize(
    "said",
    [
        hello(server_name(GOOD.encode()), server_name(EVIL.encode())),
        hello(server_name(GOOD.encode(), EVIL.encode())),
        hello(server_name(GOOD.encode(), kind=1)),
        hello(server_name(b"")),
        hello(server_name(GOOD.encode() + b"\0" + EVIL.encode())),
        hello(server_name("gооd.example".encode())),  # noqa: RUF001 - that is what it is about
        hello((0, b"")),
        hello(server_name(GOOD.encode()), (5, b""), (5, b"")),
        record(body(server_name(GOOD.encode()), after=b"x")),
        record(body(server_name(GOOD.encode())) + body(server_name(EVIL.encode()))),
        record(b"\x02" + sized(3, b"x")),
        record(b"\x01" + sized(3, b"x" * 10)),
        record(b"\x01" + sized(3, bytes(34) + b"\xff")),
        record(b"\x01" + (MAX_HELLO + 1).to_bytes(3) + bytes(100)),
        record(b"\x01\0\1\0") + record(b"\1", 20),
        record(b"\1\x5a", 21) + hello(server_name(EVIL.encode())),
        record(b"\1", 20) + hello(server_name(EVIL.encode())),
        record(b""),
        b"\x16\x03\x01\xff\xff" + bytes(100),
        b"\x80\x2e\x01\x03\x03" + bytes(44),
    ],
)
def test_what_can_be_read_in_two_ways_is_refused(said: bytes) -> None:
    with tunnels(GOOD) as (server, proxy, heard):
        with proxy.opened(GOOD, server.port) as client:
            client.sendall(said)
            assert read_all(client) == REFUSED
        server.wait_until_served()
        assert heard == []


def test_half_a_greeting_and_the_end() -> None:
    with tunnels(GOOD) as (server, proxy, heard):
        with proxy.opened(GOOD, server.port) as client:
            client.sendall(real_hello(GOOD)[:50])
            client.shutdown(socket.SHUT_WR)
            assert read_all(client) == REFUSED
        with proxy.opened(GOOD, server.port) as client:
            client.shutdown(socket.SHUT_WR)
            assert read_all(client) == b""
        server.wait_until_served()
        assert heard == []


def test_what_is_not_tls_is_passed_on_at_once() -> None:
    with tunnels(GOOD) as (server, proxy, _), proxy.opened(GOOD, server.port) as client:
        for said in (b"\x17", b"\x16", b"SSH-2.0\r\n"):
            client.sendall(said)
            assert read_exactly(client, len(said)) == said
    for said in (b"\x16\x02", b"\x80\x00\x02\x00", b"x"):
        with tunnels(GOOD) as (server, proxy, _), proxy.opened(GOOD, server.port) as client:
            client.sendall(said)
            assert read_exactly(client, len(said)) == said


def test_port_443_is_for_tls_unless_it_is_named() -> None:
    """The dialled port is another here: what counts is the port that was asked for."""
    strict = Hello(lambda name: name == Host(GOOD), must=True)
    with pytest.raises(Problem, match="this is not TLS; list the host with its port"):
        strict.feed(b"GET / HTTP/1.1\r\n")
    strict = Hello(lambda name: name == Host(GOOD), must=True)
    said = real_hello(GOOD)
    assert strict.feed(said) == said


def test_names_without_a_dot_need_not_be_said() -> None:
    with tunnels("intranet") as (server, proxy, _):
        said = real_hello(None)
        with proxy.opened("intranet", server.port) as client:
            client.sendall(said)
            assert read_exactly(client, len(said)) == said
        with proxy.opened("intranet", server.port) as client:
            client.sendall(real_hello(EVIL))
            assert read_all(client) == REFUSED


def test_a_whole_conversation_in_tls() -> None:
    """With a real server, which has no certificate."""
    ciphers = "AECDH:@SECLEVEL=0"

    def context(side: int) -> ssl.SSLContext:
        made = ssl.SSLContext(side)
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
        made.maximum_version = ssl.TLSVersion.TLSv1_2
        try:
            made.set_ciphers(ciphers)
        except ssl.SSLError:
            pytest.skip("this OpenSSL needs a certificate")
        return made

    here, there = context(ssl.PROTOCOL_TLS_CLIENT), context(ssl.PROTOCOL_TLS_SERVER)

    def talk(client: socket.socket) -> None:
        with there.wrap_socket(client, server_side=True) as wire:
            echo(wire)

    with (
        origin(talk) as server,
        served(f"{GOOD}:{server.port}", f"127.0.0.1:{server.port}", resolve=to_loopback) as proxy,
    ):
        with here.wrap_socket(proxy.opened(GOOD, server.port), server_hostname=GOOD) as wire:
            data = bytes(range(256)) * 1000
            wire.sendall(data)
            got = b""
            while len(got) < len(data):
                got += wire.recv(65536)
            assert got == data
        with pytest.raises(ssl.SSLError, match=r"(?i)unrecognized.name"):
            here.wrap_socket(proxy.opened(GOOD, server.port), server_hostname=EVIL)
        wait_until(lambda: len(proxy.denials()) == 1)


@given(st.binary(max_size=300), st.lists(st.integers(0, 320), max_size=6))
def test_any_bytes_in_any_pieces_are_passed_on_exactly_or_refused(noise: bytes, cuts: list[int]) -> None:
    for said in (noise, hello(server_name(GOOD.encode())) + noise, b"\x16\x03" + noise):
        frame = Hello(lambda name: name == Host(GOOD))
        ends = [0, *sorted(min(cut, len(said)) for cut in cuts), len(said)]
        out = b""
        try:
            for begin, end in pairwise(ends):
                piece = said[begin:end]
                out += piece if frame.free else frame.feed(piece)
        except Problem:
            assert not frame.free
        else:
            assert not frame.free or out == said
        assert said.startswith(out)
