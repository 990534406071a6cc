"""A small web server, for previews: prints its port, and answers in ways that a proxy must get right."""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path.startswith("/ws"):
            self.send_response(101)
            self.send_header("Upgrade", "websocket")
            self.send_header("Connection", "Upgrade")
            self.send_header("Set-Cookie", "ws=1")
            self.end_headers()
            while data := self.connection.recv(4096):
                self.connection.sendall(data.upper())
            self.close_connection = True
        elif self.path == "/moved":
            self.answer(b"", 302, Location=f"http://localhost:{self.server.server_port}/there?x=1")  # type: ignore[attr-defined]
        elif self.path == "/away":
            self.answer(b"", 302, Location="https://example.com/")
        elif self.path == "/cookie":
            self.send_response(200)
            for cookie in ("a=1; Path=/sub; Domain=localhost", "agent_exec_preview=forged; Path=/"):
                self.send_header("Set-Cookie", cookie)
            for name in ("Service-Worker-Allowed", "Clear-Site-Data", "Strict-Transport-Security"):
                self.send_header(name, "*")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path == "/endless":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"5\r\nhello\r\n")
            except OSError:
                print("the reader has gone", flush=True)
        elif self.path == "/broken":
            self.wfile.write(b"this is no HTTP\r\n\r\n")
            self.close_connection = True
        else:
            self.answer(json.dumps({"path": self.path, "headers": dict(self.headers)}).encode())

    def do_POST(self) -> None:
        size = 0
        if self.headers.get("Transfer-Encoding") == "chunked":
            while length := int(self.rfile.readline(), 16):
                size += len(self.rfile.read(length))
                self.rfile.readline()
            self.rfile.readline()
        else:
            size = len(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(b"%d" % size)

    def answer(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


server = ThreadingHTTPServer((sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
