"""Terminals over WebSockets: each message, viewers that are cut off, and viewers with bad intentions."""

import json
import random
import shutil
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the server's libraries are not installed")
pytest.importorskip("websockets", reason="the server's libraries are not installed")

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

import agent_exec
from agent_exec.apps.serve.tokens import Scope, issue
from agent_exec.faces.remote_terminal import RemoteTerminal
from apps.serve.serving import Served, served
from apps.serve.viewing import FULL_SCREEN, PROGRESS, begin, cut, talk
from cli import Cli
from support import wait_until

SENT = 8 << 20
"""Bytes that one viewer does not read: more than the buffers between it and the server hold."""


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("terminals") / "work"
    folder.mkdir()
    return folder


@pytest.fixture(scope="module")
def server(work: Path) -> Iterator[Served]:
    with served(Cli(work.with_name("jobs"), work)) as running:
        yield running


@pytest.fixture
def cat(server: Served) -> Iterator[int]:
    """A session of a program that prints what it reads."""
    number = begin(server, "stty -echo; exec cat", yield_time_ms=1000)
    yield number
    server("DELETE", f"/v1/sessions/{number}")


def attached(server: Served, session: object, **asked: Any) -> RemoteTerminal:
    return agent_exec.connect(server.url, server.token).attach(str(session), **asked)


def opened(
    server: Served,
    session: object = 1000,
    *,
    token: str = "",
    headers: "dict[str, str] | None" = None,
    protocols: "list[str] | None" = None,
    host: str = "127.0.0.1",
) -> ClientConnection:
    """Open a WebSocket as any program does, under the name that a host is called by."""
    head = {"Authorization": f"Bearer {token}"} if token else {}
    return connect(
        f"ws://{host}:{server.port}/v1/sessions/{session}/terminal",
        sock=socket.create_connection(("127.0.0.1", server.port)),
        additional_headers={**head, **(headers or {})},
        subprotocols=protocols,  # type: ignore[arg-type]
        compression=None,
        proxy=None,
        max_size=None,
    ).__enter__()


def refused(server: Served, session: object = 1000, **asked: Any) -> tuple[int, str]:
    """Return status and code of the answer to a WebSocket that is not opened."""
    with pytest.raises(InvalidStatus) as error:
        opened(server, session, **asked)
    response = error.value.response
    told = json.loads(response.body or b"{}")
    return response.status_code, told["code"]


def until(terminal: RemoteTerminal, kind: str) -> dict[str, Any]:
    """Read until an object of this type has come, and return it."""
    while True:
        message = terminal.read(60)
        assert message is not None
        if isinstance(message, dict) and message["type"] == kind:
            return message


def output(terminal: RemoteTerminal, text: bytes) -> bytes:
    """Read until a text was printed; return all output that was read for that."""
    found = bytearray()
    seen = 0
    while found.find(text, max(0, seen - len(text))) < 0:
        seen = len(found)
        message = terminal.read(60)
        assert message is not None
        found += message if isinstance(message, bytes) else b""
    return bytes(found)


def test_every_message_of_the_protocol_is_relayed(server: Served, cat: int) -> None:
    with attached(server, cat, name="ann") as ann, attached(server, cat, offset=0, name="bob") as bob:
        hello = ann.hello
        assert (hello["session"], hello["rows"], hello["columns"]) == (cat, 24, 80)
        assert (hello["running"], hello["tty"], hello["writer"]) == (True, True, None)
        assert until(ann, "snapshot")["offset"] == hello["offset"]
        bob.write(b"not mine\n")
        assert until(bob, "refused")["code"] == "not_writer"
        ann.take()
        assert until(ann, "writer")["writer"] == "you"
        assert until(bob, "writer") | {"asked_by": None} == {
            "type": "writer",
            "writer": "other",
            "name": "ann",
            "asked_by": None,
        }
        ann.write("hellö\n")
        for viewer in (ann, bob):
            assert output(viewer, b"\n") == "hellö\r\n".encode()
        assert ann.offset == bob.offset
        ann.resize(10, 40)
        assert [until(one, "resize") for one in (ann, bob)] == [
            {"type": "resize", "offset": ann.offset, "rows": 10, "columns": 40}
        ] * 2
        bob.take()
        assert until(ann, "writer")["asked_by"] == "bob"
        ann.give()
        until(bob, "writer")
        assert until(bob, "writer")["writer"] == bob.writer == "you"
        ann.pause()
        ann.take()
        until(ann, "writer")
        bob.write(b"again\n")
        assert output(bob, b"\n") == b"again\r\n"
        ann.resume()
        assert output(ann, b"\n") == b"again\r\n"
        told = server("POST", f"/v1/sessions/{cat}/write", {"chars": "x\n"})
        assert (told.status, "bob" in told.body["detail"]) == (422, True)
        bob.close()
        assert until(ann, "writer")["writer"] == "you"
        ann.kill()
        end = until(ann, "end")
        assert (end["offset"], end["signal"]) == (ann.offset, "SIGTERM")
        with pytest.raises(agent_exec.InvalidState, match="has ended"):
            ann.read()
    replayed = [one for one in talk(server, cat, "offset=0", 1 << 30) if isinstance(one, dict)]
    assert [one["type"] for one in replayed] == ["hello", "resize", "end"]


def test_what_the_agent_reads_says_that_a_person_typed(server: Served, cat: int) -> None:
    with attached(server, cat, name="ann") as ann:
        ann.take()
        ann.write(b"12345\n")
        output(ann, b"12345\r\n")
    told = server("POST", f"/v1/sessions/{cat}/write", {"chars": "x\n", "yield_time_ms": 1000}).body
    assert any("ann" in note and "6 bytes" in note for note in told["notes"]), told


def test_viewers_that_are_cut_off_anywhere_see_what_others_see(server: Served, work: Path) -> None:
    work.joinpath("text").write_text("".join(f"line {number} of 日本 text\n" for number in range(300)))
    work.joinpath("progress.py").write_text(PROGRESS)
    work.joinpath("full_screen.py").write_text(FULL_SCREEN)
    programs = [f"{sys.executable} progress.py", f"{sys.executable} full_screen.py"]
    programs += ["vim -u NONE -N -i NONE -n text"] if shutil.which("vim") else programs[1:]
    for program, drive in zip(programs, (watching, resizing, editing), strict=True):
        view, whole = cut(server, begin(server, f"exec {program}"), 17, 20, drive)
        assert view.end == whole.end
        assert view.state() == whole.state(), program


def watching(terminal: RemoteTerminal, _chance: random.Random) -> None:
    terminal.read(0.05)


def resizing(terminal: RemoteTerminal, chance: random.Random) -> None:
    while (message := terminal.read(60)) is not None and not isinstance(message, bytes):
        pass
    if chance.random() < 0.1:
        terminal.resize(chance.randint(12, 40), chance.randint(30, 120))
        for _ in range(20):  # some of it was drawn in the old size
            terminal.read(0.05)


KEYS = "ihello wörld\x1b|5j|5k|G|gg|dd|p|u|\x06|\x02|:set number\r|:split\r|:only\r|v3jy\x1b|/line 4\r|zz|\x0c|oa\tb\x1b"


def editing(terminal: RemoteTerminal, chance: random.Random) -> None:
    terminal.write(chance.choice(KEYS.split("|")))
    while terminal.read(0.02) is not None:
        pass
    if chance.random() < 0.15:
        terminal.resize(chance.randint(12, 40), chance.randint(40, 120))
        while terminal.read(0.1) is not None:
            pass


def test_a_token_is_a_subprotocol_or_a_header(server: Served, cat: int) -> None:
    with opened(server, cat, protocols=["agent-exec", f"bearer.{server.token}"]) as page:
        assert page.subprotocol == "agent-exec"
        assert json.loads(page.recv())["type"] == "hello"
    with opened(server, cat, token=issue(server.token, Scope())) as program:
        assert program.subprotocol is None
        assert json.loads(program.recv())["type"] == "hello"


def test_no_terminal_is_shown_without_a_valid_token(server: Served, cat: int) -> None:
    expired = issue(server.token, Scope(expires=int(time.time()) - 1))
    for token in ("wrong", expired, f"{server.token}x"):
        assert refused(server, cat, token=token) == (401, "unauthorized")
        assert refused(server, cat, protocols=["agent-exec", f"bearer.{token}"]) == (401, "unauthorized")
    for protocols in (None, ["agent-exec"], ["bearer."], [f"bearer.{server.token}", "bearer.x"]):
        assert refused(server, cat, protocols=protocols) == (401, "unauthorized")
    both = {"token": "wrong", "protocols": [f"bearer.{server.token}"]}
    assert refused(server, cat, **both) == (401, "unauthorized")
    assert server("GET", "/v1/info", headers={"authorization": None}).status == 401
    one_job = issue(server.token, Scope(job="01ABC"))
    assert refused(server, cat, token=one_job) == (403, "forbidden")


def test_other_pages_and_names_open_no_terminal(server: Served, cat: int) -> None:
    for origin in ("http://evil.example", "null", f"https://127.0.0.1:{server.port}", "http://127.0.0.1"):
        headers = {"Origin": origin}
        assert refused(server, cat, token=server.token, headers=headers) == (403, "forbidden"), origin
    rebound = {"Origin": f"http://evil.example:{server.port}"}
    for headers in ({}, rebound):
        told = refused(server, cat, token=server.token, headers=headers, host="evil.example")
        assert told == (403, "forbidden")
    own = {"Origin": f"http://127.0.0.1:{server.port}"}
    opened(server, cat, token=server.token, headers=own).close()


def test_a_read_only_token_watches_and_changes_nothing(server: Served, cat: int) -> None:
    token = issue(server.token, Scope(read_only=True))
    with agent_exec.connect(server.url, token).attach(cat) as viewer, attached(server, cat) as person:
        acts: list[tuple[Callable[..., None], tuple[object, ...]]] = [
            (viewer.write, (b"x",)),
            (viewer.take, ()),
            (viewer.give, ()),
            (viewer.kill, ()),
            (viewer.resize, (5, 5)),
        ]
        for act, given in acts:
            act(*given)
            assert until(viewer, "refused")["code"] == "read_only"
        person.take()
        person.write(b"seen\n")
        output(viewer, b"seen\r\n")
    assert server("GET", f"/v1/sessions/{cat}/output", token=token).status == 200
    for method, path in (("POST", "write"), ("POST", "resize"), ("DELETE", "")):
        reply = server(method, f"/v1/sessions/{cat}/{path}".rstrip("/"), token=token)
        assert reply.status in (400, 403), path


def test_a_terminal_ends_with_the_token_that_opened_it(server: Served, cat: int) -> None:
    token = issue(server.token, Scope(expires=int(time.time()) + 2))
    with opened(server, cat, token=token) as viewer, pytest.raises(ConnectionClosed) as error:
        while True:
            viewer.recv(60)
    assert error.value.rcvd is not None
    assert (error.value.rcvd.code, "expired" in error.value.rcvd.reason) == (1008, True)


def test_there_is_no_terminal_at_other_ids_and_paths(server: Served) -> None:
    for session in (
        "1",
        "..",
        "%2e%2e",
        "%00",
        "-1",
        "1.2.3",
        "nowhere.1000",
        "..%2f1.1",
        "%D9%A1",
        "x" * 5000,
    ):
        assert refused(server, session, token=server.token)[0] in (400, 404), session
    for query in ("offset=-1", "offset=x", "skip=0", "rows=5", "offset=1&offset=2"):
        assert refused(server, f"1000/terminal?{query}&name=", token=server.token)[0] in (400, 404), query
    reply = server("GET", "/v1/sessions/1000/terminal")
    assert (reply.status, "WebSocket" in reply.body["detail"]) == (400, True)
    for path in (
        "/v1/jobs",
        "/v1/info",
        "/openapi.json",
        "/v1/exec",
        "/mcp",
        "/nothing",
        "/v1/files?path=text",
    ):
        with pytest.raises(InvalidStatus) as error:
            connect(
                f"ws://127.0.0.1:{server.port}{path}",
                additional_headers={"Authorization": f"Bearer {server.token}"},
                proxy=None,
            ).__enter__()
        assert error.value.response.status_code in (400, 404), path


def test_messages_that_are_none_are_refused(server: Served, cat: int) -> None:
    for text in ("", "{", "[]", '"take"', "[" * 100_000):
        with opened(server, cat, token=server.token) as viewer:
            viewer.send(text)
            kinds = []
            while "refused" not in kinds:
                message = viewer.recv(60)
                kinds += [json.loads(message)["type"]] if isinstance(message, str) else []
    for message, code in (('{"type":"fly"}', 1000), ("x" * (2 << 20), 1009), (b"x" * (2 << 20), 1009)):
        with opened(server, cat, token=server.token) as viewer, pytest.raises(ConnectionClosed) as error:
            viewer.send(message)
            while True:
                viewer.recv(60)
        if code == 1000 or error.value.rcvd is not None:  # a client cut off while it sends may read nothing
            assert error.value.rcvd is not None
            assert error.value.rcvd.code == code
    with attached(server, cat) as person:
        person.take()
        person.write(b"still here\n")
        output(person, b"still here\r\n")


def test_a_hundred_viewers_see_the_same(server: Served, cat: int) -> None:
    viewers = [attached(server, cat, offset=0) for _ in range(100)]
    try:
        first = viewers[0]
        first.take()
        first.write(b"to all\n")
        for viewer in viewers:
            assert output(viewer, b"to all\r\n").endswith(b"to all\r\n")
        [listed] = [one for one in server("GET", "/v1/sessions").body["sessions"] if one["session_id"] == cat]
        assert listed["viewers"] == 100
    finally:
        for viewer in viewers:
            viewer.close()

    def left() -> int:
        found = server("GET", "/v1/sessions").body["sessions"]
        return sum(one.get("viewers", 0) for one in found)

    wait_until(lambda: left() == 0)


def test_a_viewer_that_never_reads_is_dropped_and_holds_nothing_up(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    code = "from agent_exec.apps.web import server; server.READ_PATIENCE = 1.0"
    with served(Cli(tmp_path / "jobs", work), before=code) as server:
        waits = "until [ -e go ]; do sleep 0.01; done"
        number = begin(server, f"{waits}; yes | head -c {SENT}; exec sleep 600", tty=False)
        with attached(server, number, offset=0) as person, socket.socket() as wire:
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            wire.connect(("127.0.0.1", server.port))
            wire.sendall(
                f"GET /v1/sessions/{number}/terminal?offset=0 HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
                "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
                f"Authorization: Bearer {server.token}\r\n\r\n".encode()
            )
            wait_until(lambda: viewers(server) == 2)
            work.joinpath("go").touch()
            while person.offset < SENT:
                assert person.read(60) is not None
            wait_until(lambda: viewers(server) == 1)
            assert wire.recv(16).startswith(b"HTTP/1.1 101")


def viewers(server: Served) -> int:
    return int(server("GET", "/v1/sessions").body["sessions"][0].get("viewers", 0))


def test_output_is_a_stream_of_events_with_offsets(server: Served, cat: int) -> None:
    with attached(server, cat) as person:
        person.take()
        person.write("ä€\n")
        with server.stream(f"/v1/sessions/{cat}/output") as events:
            first = next(events)
            assert (first.name, first.data["text"], first.cursor) == ("output", "ä€\r\n", "7")
        with server.stream(f"/v1/sessions/{cat}/output", last="2") as events:
            assert next(events).data == {"from": 2, "to": 7, "text": "€\r\n"}
            person.resize(10, 40)
            assert next(events).data == {"offset": 7, "rows": 10, "columns": 40}
            person.write(b"more\n")
            assert next(events).data["text"] == "more\r\n"
            person.kill()
            last = next(events)
            assert (last.name, last.data["signal"], last.cursor) == ("end", "SIGTERM", "13")
            assert next(events, None) is None
    for last_seen in ("x", "-1", "9" * 30):
        reply = server(
            "GET",
            f"/v1/sessions/{cat}/output",
            headers={"accept": "text/event-stream", "last-event-id": last_seen},
        )
        assert reply.status == 400
    missing = server("GET", "/v1/sessions/1/output", headers={"accept": "text/event-stream"})
    assert missing.status == 404
