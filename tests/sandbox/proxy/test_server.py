"""The proxy as its owner sees it."""

import os
import socket
import subprocess
import sys

import pytest

from agent_exec.model.errors import InvalidArgument
from agent_exec.sandbox.proxy.server import serve, variables
from sandbox.proxy.world import AUTH, echo, mirror, origin, read_all, served
from support import wait_until


def test_the_variables_that_lead_to_it() -> None:
    plain, local = "http://agent-exec:t0k@127.0.0.1:3128", "localhost,127.0.0.1,::1"
    upper = {"HTTP_PROXY": plain, "HTTPS_PROXY": plain, "ALL_PROXY": plain, "NO_PROXY": local}
    lower = {name.lower(): value for name, value in upper.items()}
    assert variables(3128, "t0k") == upper | lower | {"NODE_USE_ENV_PROXY": "1"}
    assert variables(1, "")["HTTP_PROXY"] == "http://127.0.0.1:1"


@pytest.mark.parametrize("token", ["a b", "a:b", "a@b", "é", "x" * 256, "a\n"])
def test_a_token_must_fit_into_an_address(token: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(InvalidArgument):
        serve(listener.fileno(), [], token)


def test_it_needs_a_listening_socket() -> None:
    with socket.socket() as idle, pytest.raises(InvalidArgument):
        serve(idle.fileno(), [], "t")
    reader, writer = os.pipe()
    with pytest.raises(InvalidArgument):
        serve(reader, [], "t")
    os.close(reader)
    os.close(writer)
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(InvalidArgument):
        serve(listener.fileno(), ["https://a.com"], "t")


def test_a_copy_of_the_listener_delays_no_client() -> None:
    with socket.create_server(("127.0.0.1", 0)) as copy:
        proxy = serve(copy.dup().detach(), [], "t")
        proxy.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(copy.getsockname(), timeout=5)


def test_it_may_be_closed_from_its_own_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    with served() as proxy, proxy.connect() as client:
        monkeypatch.setattr(proxy.proxy.log, "add", lambda _: proxy.proxy.close())
        client.sendall(f"CONNECT a.com:443 HTTP/1.1\r\nHost: x\r\n{AUTH}\r\n".encode())
        try:
            read_all(client)
        except ConnectionResetError:
            pass
        wait_until(lambda: not proxy.proxy.alive)


def test_an_error_of_our_own_ends_one_connection_and_allows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with origin(echo) as server, served(f"127.0.0.1:{server.port}") as proxy:
        with monkeypatch.context() as patch:
            patch.setattr("agent_exec.sandbox.proxy.connection.Flow", None)
            with proxy.connect() as client:
                client.sendall(f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\nHost: x\r\n{AUTH}\r\n".encode())
                with pytest.raises(ConnectionResetError):
                    client.recv(1)
        assert proxy.told[-1].reason == "an error of the proxy itself: TypeError"
        proxy.opened("127.0.0.1", server.port).close()


def test_plain_http_for_an_old_client() -> None:
    with origin(mirror) as server, served(f"127.0.0.1:{server.port}") as proxy:
        answer = proxy.ask(f"GET http://127.0.0.1:{server.port} HTTP/1.0\r\n{AUTH}\r\n".encode())
        assert b"\r\n\r\nGET / HTTP/1.0\r\nHost: 127.0.0.1:" in answer
        assert b"Connection: close" in answer


def test_it_costs_nothing_unless_used() -> None:
    code = "import sys, agent_exec.sandbox; sys.exit(any('proxy' in name for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(("net", "loaded"), [("'off'", False), ("'on'", False), ("['example.org']", True)])
def test_the_grammar_of_hosts_is_loaded_for_hosts_only(net: str, loaded: bool) -> None:
    code = (
        f"import sys; from agent_exec.sandbox.profile import Profile; Profile(net={net});"
        "print('agent_exec.sandbox.hosts' in sys.modules, any('.proxy' in name for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(loaded), "False"]
