"""Listens: listener.py WHERE [GATE]; WHERE is 4, 6 or the path of a UNIX socket, GATE a named pipe to wait at first."""

import socket
import sys

where, gate = (*sys.argv[1:], "")[:2]
print("ready", flush=True)  # which is a lie
if gate:
    with open(gate) as waiting:
        waiting.read()
if where in ("4", "6"):
    server = socket.socket(socket.AF_INET if where == "4" else socket.AF_INET6)
    server.bind(("127.0.0.1" if where == "4" else "::1", 0))
else:
    server = socket.socket(socket.AF_UNIX)
    server.bind(where)
server.listen()
while True:
    server.accept()[0].close()
