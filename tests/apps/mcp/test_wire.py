"""The wire itself: what is no message, and every way in which a conversation can end."""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

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
