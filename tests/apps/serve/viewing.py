"""Viewers of terminals: one that is cut off at any byte and goes on, and one that sees the whole stream."""

import json
import random
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

import agent_exec
from agent_exec.faces.remote_terminal import RemoteTerminal
from agent_exec.terminal.screen import Screen
from apps.serve.serving import Served

Message = bytes | dict[str, Any]
State = tuple[object, ...]

PROGRESS = r"""
import sys, time
for turn in range(100000):
    done = turn % 60
    bar = "\033[3%dm%s\033[0m%s" % (turn % 7 + 1, "█" * done, "░" * (60 - done))
    sys.stdout.write("\r\033[K%3d%% %s 進捗" % (done, bar))
    if done == 59:
        sys.stdout.write("\r\n\033[1mphase %d é done\033[0m\r\n" % turn)
    sys.stdout.flush()
    time.sleep(0.004)
"""
FULL_SCREEN = r"""
import os, random, signal, sys, time
random.seed(7)
size = os.get_terminal_size()
def resized(*_):
    global size
    size = os.get_terminal_size()
    sys.stdout.write("\033[2J\033[1;1Hnow %dx%d" % size)
signal.signal(signal.SIGWINCH, resized)
sys.stdout.write("\033[?1049h\033[?25l\033[2;10r")
while True:
    row, column = random.randint(1, size.lines), random.randint(1, size.columns)
    style = random.choice(["\033[0m", "\033[7m", "\033[1;4;31m", "\033[48;5;%dm" % random.randint(0, 255)])
    text = random.choice(["load", "日本", "e\u0301", "─┼─", "\033(0qqxx\033(B", "\033[K", "\033[L", "\n", "\033M", "\033[1J"])
    sys.stdout.write("\033[%d;%dH%s%s" % (row, column, style, text))
    sys.stdout.flush()
    time.sleep(0.004)
"""


class View:
    """The screen of a viewer, made from the messages that it got."""

    def __init__(self) -> None:
        self.screen: Screen | None = None
        self.offset = 0
        self.end: dict[str, Any] | None = None

    def show(self, message: Message) -> None:
        """Do what a message says."""
        if isinstance(message, bytes):
            assert self.screen is not None
            self.screen.feed(message)
            self.offset += len(message)
            return
        kind = message["type"]
        if kind == "snapshot" or (kind == "hello" and self.screen is None):
            self.screen = Screen(message["rows"], message["columns"])
            self.screen.feed(message.get("data", "").encode())
            self.offset = message["offset"]
        elif kind in ("hello", "resize"):
            assert self.screen is not None
            assert kind == "hello" or message["offset"] == self.offset
            if (self.screen.rows, self.screen.columns) != (message["rows"], message["columns"]):
                self.screen.resize(message["rows"], message["columns"])
        elif kind == "end":
            assert message["offset"] == self.offset
            self.end = message
        else:
            assert kind == "writer", message

    def state(self) -> State:
        """Return all that the screen shows, and what changes how it goes on."""
        screen = self.screen
        assert screen is not None
        rows = tuple(tuple(screen.spans(row)) for row in range(screen.rows))
        modes = screen.alternate, screen.cursor_shown, screen.application_keys, screen.bracketed_paste
        return screen.rows, screen.columns, screen.cursor, modes, screen.text(), rows


def talk(server: Served, session: object, query: str, limit: int) -> Iterator[Message]:
    """Yield the messages of a terminal, until so many bytes have come or it ends; then hang up hard."""
    protocol = ClientProtocol(
        parse_uri(f"ws://127.0.0.1:{server.port}/v1/sessions/{session}/terminal?{query}")
    )
    request = protocol.connect()
    request.headers["Authorization"] = f"Bearer {server.token}"
    protocol.send_request(request)
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as wire:
        wire.sendall(b"".join(protocol.data_to_send()))
        while limit > 0 and (data := wire.recv(min(limit, 65536))):
            limit -= len(data)
            protocol.receive_data(data)
            if answer := b"".join(protocol.data_to_send()):
                wire.sendall(answer)
            for event in protocol.events_received():
                if isinstance(event, Response):
                    assert event.status_code == 101, event.body
                elif isinstance(event, Frame) and event.opcode is Opcode.BINARY:
                    yield bytes(event.data)
                elif isinstance(event, Frame) and event.opcode is Opcode.TEXT:
                    yield json.loads(bytes(event.data))
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def begin(server: Served, cmd: str, **fields: object) -> int:
    """Start a command in a session with a terminal; return its number."""
    asked = {"cmd": cmd, "tty": True, "login": False, "yield_time_ms": 250, **fields}
    reply = server("POST", "/v1/sessions", asked)
    assert reply.status == 200, reply.body
    number: int = reply.body["session_id"]
    return number


def cut(
    server: Served,
    session: int,
    cuts: int,
    seed: int,
    drive: Callable[[RemoteTerminal, random.Random], object],
) -> tuple[View, View]:
    """Watch a session and be cut off so often; return that view and one of the whole stream, at its end.

    `drive` is called with a terminal that has the keyboard, again and again; after
    the last cut the session is killed.
    """
    chance = random.Random(seed)
    enough = threading.Event()

    def person() -> None:
        remote = agent_exec.connect(server.url, server.token)
        with remote.attach(session, name="driver") as terminal:
            terminal.take()
            while terminal.writer != "you":
                terminal.read(60)
            while not enough.is_set():
                drive(terminal, random.Random(chance.random()))
            terminal.kill()
            while terminal.end is None:
                terminal.read(60)

    driver = threading.Thread(target=person, daemon=True)
    driver.start()
    view = View()
    done = 0
    try:
        while view.end is None:
            fresh = view.screen is None or chance.random() < 0.2
            limit = chance.randint(300, 2500) if done < cuts else 1 << 40
            for message in talk(server, session, "" if fresh else f"offset={view.offset}", limit):
                if fresh and isinstance(message, dict) and message["type"] == "hello":
                    continue  # the snapshot follows
                view.show(message)
            done += view.end is None
            if done >= cuts:
                enough.set()
    finally:
        enough.set()
        driver.join(60)
    assert not driver.is_alive()
    whole = View()
    for message in talk(server, session, "offset=0", 1 << 40):
        whole.show(message)
    return view, whole
