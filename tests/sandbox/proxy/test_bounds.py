"""Nobody takes more than their share: of time, of bytes, of connections."""

import resource
import socket
import threading
import time

import pytest

from agent_exec.sandbox.proxy.log import KEPT, KEPT_DENIALS, NO_TOKEN, Decision, Log
from agent_exec.sandbox.proxy.server import Limits
from sandbox.proxy.world import AUTH, echo, origin, read_all, served
from support import wait_until


def test_a_head_that_never_ends_is_cut_off() -> None:
    with served("a.com") as proxy, proxy.connect() as client:
        client.sendall(b"GET http://a.com/ HTTP/1.1\r\n" + b"X-Flood: yes\r\n" * 20000)
        assert client.recv(12) == b"HTTP/1.1 431"
        assert not proxy.told[0].allowed


def test_a_slow_head_is_cut_off_however_it_drips() -> None:
    with served("a.com", limits=Limits(head_seconds=0.5)) as proxy, proxy.connect() as client:
        client.sendall(b"GET http://a.com/ HTTP/1.1\r\nX: ")
        client.settimeout(0.05)
        heard = b""
        for _ in range(200):
            client.sendall(b"y")
            try:
                heard = client.recv(100)
                break
            except TimeoutError:
                continue
        assert heard.startswith(b"HTTP/1.1 408 ")


def test_a_silent_client_is_disconnected() -> None:
    with served("a.com", limits=Limits(head_seconds=0.2)) as proxy, proxy.connect() as client:
        assert read_all(client) == b""
        assert proxy.told == []


def test_a_tunnel_in_which_nothing_moves_is_ended() -> None:
    with (
        origin(echo) as server,
        served(f"127.0.0.1:{server.port}", limits=Limits(idle_seconds=1)) as proxy,
        proxy.opened("127.0.0.1", server.port) as client,
    ):
        for _ in range(8):
            client.sendall(b"x")
            assert client.recv(1) == b"x"
            time.sleep(0.2)
        with pytest.raises(ConnectionResetError):
            client.recv(1)


def test_a_host_that_does_not_answer_is_said() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
            fillers.append(filler)
        limits = Limits(dial_seconds=0.3, connect_seconds=0.6)
        with served(f"127.0.0.1:{port}", limits=limits) as proxy:
            client, head = proxy.tunnel("127.0.0.1", port)
            client.close()
            assert head.startswith(b"HTTP/1.1 504 ")
            assert proxy.told[0].reason == "no answer from 127.0.0.1"
        for filler in fillers:
            filler.close()


def test_a_resolver_that_hangs_is_said_and_blocks_nothing() -> None:
    go = threading.Event()
    done = threading.Event()

    def hang(name: str, port: int) -> list[str]:
        if name == "slow.com":
            go.wait(20)
            done.set()
        return ["127.0.0.1"]

    with origin(echo) as server:
        rules = (f"slow.com:{server.port}", f"fast.com:{server.port}", f"127.0.0.1:{server.port}")
        with served(*rules, resolve=hang, limits=Limits(connect_seconds=0.5)) as proxy:
            client = proxy.connect()
            client.sendall(f"CONNECT slow.com:{server.port} HTTP/1.1\r\nHost: x\r\n{AUTH}\r\n".encode())
            proxy.opened("fast.com", server.port).close()
            with client:
                assert read_all(client).startswith(b"HTTP/1.1 504 ")
            go.set()
            assert done.wait(20)
            proxy.opened("fast.com", server.port).close()
    _no_lookup_left()


def test_close_does_not_wait_for_the_resolver() -> None:
    go = threading.Event()
    with served("slow.com", resolve=lambda *_: ["8.8.8.8"] if go.wait(20) else []) as proxy:
        with proxy.connect() as client:
            client.sendall(f"CONNECT slow.com:443 HTTP/1.1\r\nHost: x\r\n{AUTH}\r\n".encode())
            wait_until(lambda: any(t.name == "agent-exec-lookup" for t in threading.enumerate()))
            proxy.proxy.close()
            with pytest.raises(ConnectionResetError):
                client.recv(1)
        assert [(decision.host, decision.reason) for decision in proxy.told] == [("slow.com", "given up")]
    go.set()
    _no_lookup_left()


def test_one_too_many_waits_until_there_is_room() -> None:
    with origin(echo) as server, served(f"127.0.0.1:{server.port}", limits=Limits(connections=2)) as proxy:
        first, second = (proxy.opened("127.0.0.1", server.port) for _ in range(2))
        third = proxy.connect()
        third.sendall(f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\nHost: x\r\n{AUTH}\r\n".encode())
        third.settimeout(0.5)
        with pytest.raises(TimeoutError):
            third.recv(1)
        first.close()
        third.settimeout(20)
        assert third.recv(12) == b"HTTP/1.1 200"
        second.close()
        third.close()


def test_one_box_does_not_take_the_places_of_another() -> None:
    """All proxies of a process share its descriptors, and each has some places that no other can take."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with (
        origin(echo) as server,
        served(f"127.0.0.1:{server.port}", limits=Limits(head_seconds=1000)) as greedy,
        served(f"127.0.0.1:{server.port}") as other,
    ):
        rule = ("127.0.0.1", server.port)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 512), hard))
        try:
            held = [greedy.connect() for _ in range(80)]
            held += [other.opened(*rule) for _ in range(4)]
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            for client in held:
                client.close()


def test_decisions_are_taken_once_in_order() -> None:
    with served() as proxy:
        for index in range(130):
            for _ in range(2):
                with proxy.tunnel(f"h{index}.com", 443)[0]:
                    pass
        assert len(proxy.told) == 260
        assert [one["host"] for one in proxy.proxy.take()] == [one.host for one in proxy.told]
        assert proxy.proxy.take() == []


def test_the_log_is_bounded_and_keeps_each_of_the_first_denials() -> None:
    log = Log()
    for index in range(130):
        for _ in range(2):
            log.add(Decision("connect", "", allowed=False, host=f"h{index}.com", reason="not in allow-list"))
    for _ in range(KEPT):
        log.add(Decision("connect", "", allowed=True, host="a.com"))
        log.add(Decision("connect", "", allowed=False, host="a.com", reason=NO_TOKEN))
    denied = [one.host for one in log.take() if not one.allowed]
    assert denied == [f"h{index}.com" for index in range(KEPT_DENIALS)]
    assert log.take() == []


def _no_lookup_left() -> None:
    wait_until(lambda: not any(thread.name == "agent-exec-lookup" for thread in threading.enumerate()))
