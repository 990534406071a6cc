"""The listener comes from a network of its own, from which there is no other way out."""

import socket
import subprocess
import sys
from array import array
from contextlib import closing

import pytest

from agent_exec.sandbox.proxy.server import serve
from sandbox.proxy.world import AUTH, echo, origin

INSIDE = r"""
import ctypes, fcntl, socket, struct, sys
control, port, auth = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2]), sys.argv[3]
if ctypes.CDLL(None, use_errno=True).unshare(0x10000000 | 0x40000000):
    sys.exit(99)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))
listener = socket.create_server(("127.0.0.1", 0))
where = listener.getsockname()
socket.send_fds(control, [b"x"], [listener.fileno()])
listener.close()
control.recv(1)
try:
    socket.create_connection(("127.0.0.1", port), timeout=5)
    sys.exit("the host is reached directly")
except ConnectionRefusedError:
    pass
with socket.create_connection(where, timeout=20) as client:
    client.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\n{auth}\r\n\r\nhello".encode())
    got = b""
    while not got.endswith(b"hello"):
        got += client.recv(100)
control.send(b"x")
control.recv(1)
try:
    socket.create_connection(where, timeout=5)
    sys.exit("somebody answers")
except ConnectionRefusedError:
    pass
"""


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
def test_a_listener_passed_out_of_a_network_namespace() -> None:
    ours, theirs = socket.socketpair()
    with ours, origin(echo) as server:
        words = [str(theirs.fileno()), str(server.port), AUTH.strip()]
        child = subprocess.Popen([sys.executable, "-c", INSIDE, *words], pass_fds=[theirs.fileno()])
        theirs.close()
        ours.settimeout(20)
        try:
            _, fds, _, _ = socket.recv_fds(ours, 1, 1)
            if not fds:
                assert child.wait(20) == 99
                pytest.skip("no namespaces here")
            with closing(serve(array("i", fds)[0], [f"127.0.0.1:{server.port}"], "s3cret")) as proxy:
                ours.send(b"x")
                assert ours.recv(1) == b"x"
                assert [decision["allowed"] for decision in proxy.take()] == [True]
            ours.send(b"x")
            assert child.wait(20) == 0
        finally:
            child.kill()
            child.wait()
