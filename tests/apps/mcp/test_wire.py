"""The wire itself: what is no message, and every way in which a conversation can end."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from apps.mcp.talking import FAKE, bare
from support import wait_until

BUSY = "busy: this machine does not have room for another thread; try again when less runs"


def test_a_line_that_is_no_message_is_answered(tmp_path: Path) -> None:
    with bare(*FAKE, tmp_path) as server:
        server.greet()
        for line, code, of in (
            (b"{not json", -32700, None),
            (b"\xff\xfe", -32700, None),
            (b"[" * 100_000, -32700, None),
            (b"[]", -32600, None),
            (b'{"id": 7, "method": "tools/list"}', -32600, 7),
            (b'{"id": true}', -32600, None),
            (b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}', -32600, None),
            (b'{"jsonrpc": "2.0", "id": "\xed\xa0\x80", "method": "ping"}', -32600, None),
            (b'{"jsonrpc": "2.0", "id": "a\\n", "method": "\\ud800"}', -32600, "a\n"),
            (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600, None),
            (b'{"jsonrpc": "2.0", "id": 1e999, "method": "ping"}', -32600, None),
            (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600, None),
        ):
            server.say(line)
            answer = server.hear()
            assert (answer["id"], answer["error"]["code"]) == (of, code), line
        server.say(b"\r")
        server.say(b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"id": "id"}}')
        server.send("ping")
        assert server.hear()["result"] == {}
        server.send("tools/call", {"name": "say", "arguments": 5})
        assert server.hear()["error"]["code"] == -32602
        server.send("no/such")
        assert server.hear()["error"]["code"] == -32601


def test_a_machine_without_a_thread_to_give_ends_no_server(tmp_path: Path) -> None:
    with bare(*FAKE, tmp_path) as server:
        server.greet()
        server.call("wait", seconds=600)
        wait_until((tmp_path / "waits").exists)
        (tmp_path / "full").touch()
        for _ in range(5):
            server.call("say", text="x")
            server.call("say", text="y")
        told = [server.hear() for _ in range(10)]
        texts = {one["result"]["content"][0]["text"] for one in told}
        assert texts <= {
            "x",
            "y",
            BUSY,
        }
        assert len({one["id"] for one in told}) == 10
        server.send("resources/list")
        assert server.hear()["result"] == {"resources": []}
        (tmp_path / "full").unlink()
        server.call("say", text="again")
        assert server.hear()["result"]["content"][0]["text"] == "again"
        (tmp_path / "full").touch()
        server.hang_up()
        assert server.process.wait(20) == 0
        assert (tmp_path / "closed").exists()


def test_a_batch_is_refused_as_a_whole(tmp_path: Path) -> None:
    with bare(*FAKE, tmp_path) as server:
        server.greet()
        server.say(b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]')
        answer = server.hear()
        assert (answer["id"], answer["error"]["code"]) == (None, -32600)
        assert "there are no batches" in answer["error"]["message"]
        server.send("ping")
        assert server.hear()["result"] == {}


def test_parameters_of_the_wrong_kind_are_refused(tmp_path: Path) -> None:
    with bare(*FAKE, tmp_path) as server:
        server.greet()
        for method, params in (
            ("tools/call", {}),
            ("tools/call", {"name": 5}),
            ("tools/call", {"name": "say", "arguments": []}),
            ("tools/call", {"name": "say", "_meta": 5}),
            ("tools/call", {"name": "say", "_meta": {"progressToken": []}}),
            ("tools/list", {"cursor": 5}),
            ("resources/read", {"uri": None}),
            ("resources/subscribe", {}),
            ("logging/setLevel", {"level": ["debug"]}),
            ("initialize", {"protocolVersion": "2025-11-25"}),
        ):
            server.send(method, params)
            answer = server.hear()
            assert (answer["id"], answer["error"]["code"]) == (server.last, -32602), answer
        server.send("ping", [])
        assert server.hear()["error"]["code"] == -32600


def test_the_first_request_decides_the_era(tmp_path: Path) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    with bare(*FAKE, tmp_path) as server:
        server.send("tools/list")
        assert server.hear()["error"]["code"] == -32602  # before the handshake
        server.send("ping")
        assert server.hear()["result"] == {}
        assert server.greet()["result"]["protocolVersion"] == "2025-11-25"
        server.send("server/discover", {"_meta": meta})
        assert server.hear()["error"]["code"] == -32601
    with bare(*FAKE, tmp_path) as server:
        server.send("server/discover", {"_meta": meta})
        assert server.hear()["result"]["supportedVersions"] == ["2026-07-28"]
        for method, params, code in (
            ("initialize", {"protocolVersion": "2025-11-25"}, -32022),
            ("ping", {"_meta": meta}, -32601),
            ("resources/subscribe", {"_meta": meta, "uri": "x"}, -32601),
            ("tools/list", {}, -32602),
            ("tools/list", {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}, -32602),
            ("tools/list", {"_meta": meta | {"io.modelcontextprotocol/logLevel": "all"}}, -32602),
            (
                "tools/list",
                {"_meta": meta | {"io.modelcontextprotocol/protocolVersion": "2099-01-01"}},
                -32022,
            ),
            ("subscriptions/listen", {"_meta": meta}, -32602),
            (
                "subscriptions/listen",
                {"_meta": meta, "notifications": {"resourceSubscriptions": [{}]}},
                -32602,
            ),
        ):
            server.send(method, params)
            error = server.hear()["error"]
            assert error["code"] == code, (method, error)
            if code == -32022:
                assert error["data"]["supported"] == ["2026-07-28"]


def test_a_client_that_floods_and_never_reads_is_not_kept_in_memory() -> None:
    from agent_exec.apps.mcp.transport import stdio

    class Stuck:
        def write(self, _line: bytes) -> None:
            held.acquire()
            raise BrokenPipeError

    held = threading.Lock()
    held.acquire()
    stuck: Any = Stuck()
    ended: list[bool] = []
    writer = stdio.Writer(stuck, lambda: ended.append(True))

    def send() -> None:
        for _ in range(20):
            writer.send({"text": "x" * (8 << 20)})

    writes = threading.Thread(target=writer.run, daemon=True)
    sends = threading.Thread(target=send, daemon=True)
    writes.start()
    sends.start()
    wait_until(lambda: writer._size >= stdio.LONGEST)
    assert writer._size < stdio.LONGEST + (9 << 20)
    assert sends.is_alive()
    held.release()  # now it is gone
    for thread in (sends, writes):
        thread.join(20)
        assert not thread.is_alive()
    assert ended == [True]


def test_messages_may_come_in_pieces_and_together(tmp_path: Path) -> None:
    with bare(*FAKE, tmp_path) as server:
        server.greet()
        long = "é" * 1_000_000
        server.call("say", text=long)
        server.call("say", text="short")
        told = {
            answer["id"]: answer["result"]["content"][0]["text"] for answer in (server.hear(), server.hear())
        }
        assert told == {2: long, 3: "short"}


def test_a_line_without_end_is_refused_and_not_kept() -> None:
    from agent_exec.apps.mcp.transport import stdio

    lines = stdio.Lines()
    chunk = b"x" * (1 << 20)
    for _ in range(100):
        assert list(lines.take(chunk)) == []
    (line,) = lines.take(b"\n")
    assert stdio.LONGEST < len(line) <= stdio.LONGEST + len(chunk)
    assert list(lines.take(b"a\nb\n\nc")) == [b"a", b"b", b""]
    assert list(lines.take(b"d\n")) == [b"cd"]


def test_the_end_of_input_ends_the_server(tmp_path: Path) -> None:
    with bare(*FAKE, tmp_path) as server:
        server.greet()
        server.call("wait")
        wait_until((tmp_path / "waits").exists)
        server.hang_up()
        assert server.process.wait(20) == 0
        assert (tmp_path / "closed").exists()
        assert (tmp_path / "cancelled").exists()


def test_no_client_at_all(tmp_path: Path) -> None:
    out = subprocess.run(
        [sys.executable, *FAKE, tmp_path], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    assert (out.returncode, out.stdout, out.stderr) == (0, b"", b"")
    assert (tmp_path / "closed").exists()


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_ends_the_server(tmp_path: Path, name: str) -> None:
    number = getattr(signal, name)
    with bare(*FAKE, tmp_path) as server:
        server.greet()
        server.call("wait")
        wait_until((tmp_path / "waits").exists)
        server.process.send_signal(number)
        assert server.process.wait(20) == 128 + number
        assert (tmp_path / "closed").exists()
        assert server.process.stderr is not None
        assert server.process.stderr.read() == b""


def test_a_client_that_is_gone_ends_the_server(tmp_path: Path) -> None:
    """Its end of stdout is closed, while it still holds our stdin."""
    with bare(*FAKE, tmp_path) as server:
        server.greet()
        assert server.process.stdout is not None
        server.process.stdout.close()
        server.send("ping")
        assert server.process.wait(20) == 0
        assert (tmp_path / "closed").exists()


def test_a_client_that_does_not_read_cannot_hold_the_server(tmp_path: Path) -> None:
    with bare(*FAKE, tmp_path) as server:
        server.greet()
        for _ in range(3):
            server.call("say", text="x" * 1_000_000)
        server.call("wait")
        wait_until((tmp_path / "waits").exists)
        server.hang_up()
        assert server.process.wait(20) == 0
        assert (tmp_path / "closed").exists()


def test_descriptors_that_do_not_block(tmp_path: Path) -> None:
    """Whoever shares them with us may have set them so."""
    ours, theirs = os.pipe()
    answers, writer = os.pipe()
    for end in (ours, writer):
        fcntl.fcntl(end, fcntl.F_SETFL, fcntl.fcntl(end, fcntl.F_GETFL) | os.O_NONBLOCK)
    with subprocess.Popen([sys.executable, *FAKE, str(tmp_path)], stdin=ours, stdout=writer) as process:
        os.close(ours)
        os.close(writer)
        ask = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
        with open(answers, "rb") as stream:
            for _ in range(2):
                os.write(theirs, ask)
                assert b'"id":1' in stream.readline()
            os.close(theirs)
        assert process.wait(20) == 0
