"""Connections one after the other, from a box through its proxy, or directly: wayout WAY ROOT BYTES.

WAY is direct or proxy. BYTES come over each connection. The server is a
process of its own, as the hosts that are reached are elsewhere; the proxy is
in this one. The client, the same program both ways, holds the clock.
"""

import atexit
import json
import os
import subprocess
import sys

import agent_exec
from agent_exec.engine import engine
from agent_exec.model.errors import SandboxUnavailable
from bench.worker import require, serve

_SERVER = """
import select, socket, sys
piece = memoryview(bytes(1 << 20))
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
    sock = listener.accept()[0]
    with sock:
        try:
            left = int.from_bytes(sock.recv(8, socket.MSG_WAITALL), "big")
            while left:
                left -= sock.send(piece[:left])
        except OSError:
            continue
"""

_CLIENT = """
import os, socket, sys
from base64 import b64encode
from time import perf_counter
from urllib.parse import urlsplit
way, port, count, size = sys.argv[1], *map(int, sys.argv[2:])
address, greeting = ("127.0.0.1", port), b""
if way == "proxy":
    proxy = urlsplit(os.environ["HTTPS_PROXY"])
    address = proxy.hostname, proxy.port
    user = b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
    greeting = f"CONNECT 127.0.0.1:{port} HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n"
    greeting = f"{greeting}Proxy-Authorization: Basic {user}\\r\\n\\r\\n".encode()
buffer = bytearray(1 << 20)
seconds = []
for _ in range(count):
    start = perf_counter()
    sock = socket.create_connection(address)
    if greeting:
        sock.sendall(greeting)
        answer = b""
        while not answer.endswith(b"\\r\\n\\r\\n"):
            more = sock.recv(4096)
            assert more, answer
            answer += more
        assert answer.startswith(b"HTTP/1.1 200"), answer
    sock.sendall(size.to_bytes(8, "big"))
    left = size
    while left:
        more = sock.recv_into(buffer)
        assert more, f"{left} bytes are missing"
        left -= more
    seconds.append(perf_counter() - start)
    sock.close()
print(seconds)
"""


def main(way: str, root: str, size: str) -> None:
    server = subprocess.Popen(
        [sys.executable, "-IS", "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert server.stdin is not None
    assert server.stdout is not None
    atexit.register(server.wait)
    atexit.register(server.stdin.close)
    port = int(server.stdout.readline())
    # Not the link in an environment, which may lie in a /tmp that is hidden.
    python = os.path.realpath(sys.executable)
    profile = agent_exec.Profile(roots=[root], net=[f"127.0.0.1:{port}"])

    def block(count: int) -> dict[str, object]:
        words = [python, "-IS", "-c", _CLIENT, way, str(port), str(count), size]
        try:
            plan = engine.warm(profile, 1) if way == "proxy" else None
        except SandboxUnavailable as error:
            return {"seconds": [], "missing": error.message}
        done = agent_exec.run(words, cwd=root, sandbox=plan)
        require(done.ok, f"the client ended with {done.exit_code}: {done.stderr_text[-300:]}")
        return {"seconds": json.loads(done.stdout)}

    serve(block)


if __name__ == "__main__":
    main(*sys.argv[1:])
