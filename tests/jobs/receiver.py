"""A receiver of webhooks that behaves as a test wants."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver:
    """What came, in order: the headers and the object of each request that was answered with 200."""

    def __init__(self) -> None:
        self.taken: list[tuple[dict[str, str], dict[str, Any], bytes]] = []
        self.asked = 0
        self.url = ""

    @property
    def ids(self) -> list[str]:
        return [headers["webhook-id"] for headers, _, _ in self.taken]


@contextmanager
def receiving(answer: "Callable[[Receiver, BaseHTTPRequestHandler], int]") -> Iterator[Receiver]:
    """Listen on a port of this machine; `answer` returns a status, or 0 if it has answered by itself."""
    receiver = Receiver()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            with lock:
                receiver.asked += 1
            status = answer(receiver, self)
            if status == 200 or not status:
                with lock:
                    headers = {name.lower(): value for name, value in self.headers.items()}
                    receiver.taken.append((headers, json.loads(body), body))
            if status:
                try:
                    self.send_response(status)
                    self.end_headers()
                except OSError:
                    pass  # the courier was killed

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = False
    server.block_on_close = True
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/hook?token=in-the-address"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
