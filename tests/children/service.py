"""A tiny server: prints its name and its port, then answers every connection with its name."""

import os
import socket
import sys

name = sys.argv[1]
server = socket.create_server(("127.0.0.1", int(os.environ["PORT"])))
print(f"{name} listens on {os.environ['PORT']}", flush=True)
while True:
    client, _ = server.accept()
    client.sendall(name.encode())
    client.close()
