"""Where in the transcript lies what an answer does not show: exactly, or within which range.

Reference §1.10 (cuts are counted), §7 (8) (9); issue 6, better 2.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest

from agent_exec.faces.session.answer import bytes_kept, cut_middle
from agent_exec.faces.session.definitions import definitions
from agent_exec.sessions.transcript import joined
from faces.session.calling import Caller

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="real shells of POSIX")
MARK = "tokens truncated…"


def ends(output: str) -> tuple[str, str]:
    """The two ends of an output that was cut."""
    body = output.partition("\n\n")[2] if output.startswith("Warning: ") else output
    head, _, rest = body.partition("…")
    return head, rest.partition(MARK)[2]


def missing(call: Caller, located: dict[str, Any]) -> str:
    """What an answer leaves out, read by what it says itself."""
    asked = {"session_id": located["session_id"], "from": located["from"]}
    return str(call.told("read_output", **asked, max_bytes=located["to"] - located["from"])["output"])


@pytest.mark.parametrize(
    ("cmd", "given"),
    [
        ("seq 2000", {}),
        ("seq 2000; printf é; seq 2000", {"render": "raw"}),
        ("for i in $(seq 900); do printf 'é%s€' $i; done", {}),
        ("seq 300; seq 300 >&2", {"separate_streams": True}),
        ("stty -opost; seq 2000", {"tty": True, "render": "raw"}),
    ],
)
@pytest.mark.parametrize("tokens", [0, 1, 3, 50, 501])
def test_what_is_missing_can_be_read(call: Caller, cmd: str, given: dict[str, Any], tokens: int) -> None:
    """§1.10: both ends and what read_output gives between them are all of it."""
    told = call.run(cmd, wait_for="exit", yield_time_ms=30_000, max_output_tokens=tokens, **given)
    (located,) = told["omitted"]
    assert "session_id" not in told  # it has ended; only this names it
    assert set(located) == {"session_id", "from", "to"}
    head, tail = ends(told["output"])
    whole = call.told("read_output", session_id=located["session_id"], max_bytes=1 << 20)["output"]
    assert head + missing(call, located) + tail == whole
    fastjsonschema.compile(definitions()["exec_command"]["output_schema"])(told)


def test_what_is_missing_of_later_answers(call: Caller, work: Path) -> None:
    """§1.10: offsets are those of all output, not of this answer's."""
    os.mkfifo(work / "go")
    number = call.run(
        "seq 1000; read x < go; seq 1000 3000", wait_for="match:1000", tty=True, yield_time_ms=20_000
    )["session_id"]
    (work / "go").write_text("\n")
    waiting = {"session_id": number, "wait_for": "exit", "yield_time_ms": 20_000}
    told = call.told("write_stdin", **waiting, max_output_tokens=20, render="raw")
    (located,) = told["omitted"]
    assert located["from"] > 1000
    head, tail = ends(told["output"])
    read = call.told("read_output", session_id=number, max_bytes=1 << 20)["output"]
    assert read.endswith(head + missing(call, located) + tail)


def test_more_than_is_held(call: Caller) -> None:
    """§1.10: with both cuts, one range tells of both."""
    told = call.run("seq 1000000", wait_for="exit", yield_time_ms=30_000, max_output_tokens=100)
    (located,) = told["omitted"]
    head, tail = ends(told["output"])
    assert (located["from"], told["cursor"] - located["to"]) == (len(head), len(tail))


def test_rendered_text_names_its_source_range(call: Caller) -> None:
    """§1.10: of interpreted text, the range that the answer covers."""
    told = call.run(
        "seq 2000", tty=True, wait_for="exit", yield_time_ms=30_000, max_output_tokens=10, render="text"
    )
    (located,) = told["omitted"]
    assert located["exact"] is False
    assert (located["from"], located["to"]) == (0, told["cursor"])
    assert "1999\r\n2000" in missing(call, located)
    fastjsonschema.compile(definitions()["exec_command"]["output_schema"])(told)


def test_the_last_output_again(call: Caller, work: Path) -> None:
    """Issue 6, better 2: a tombstone's last output may be cut too."""
    os.mkfifo(work / "go")
    number = call.background("read x < go; seq 2000", wait_for="idle:1")
    (work / "go").write_text("\n")
    call.told("write_stdin", session_id=number, wait_for="exit", yield_time_ms=20_000)
    told = call.told("write_stdin", session_id=number, max_output_tokens=5)
    (located,) = told["omitted"]
    head, tail = ends(told["output"])
    assert len(head + missing(call, located) + tail) == 4000


def test_what_fits_has_nothing_to_locate(call: Caller) -> None:
    assert "omitted" not in call.run("seq 10")


def test_the_text_is_the_contracts(call: Caller) -> None:
    """§1.11, §1.10: no line more than before."""
    result = call("exec_command", cmd="seq 2000", max_output_tokens=100)
    assert "Note: " not in result.text
    assert "Output:\nWarning: truncated output (original token count: " in result.text


@pytest.mark.parametrize("omitted", [0, 7])
@pytest.mark.parametrize(
    ("head", "tail"),
    [
        (b"a" * 50, b"b" * 50),
        ("é€𝄞".encode() * 9, "ß𝄞".encode() * 9),
        (b"\xff\xfea\xe2\x82b\xf0\x9f\x98" * 9, b"\x80\x80\xe2A\xe2\xff\xc3" * 9),
        (bytes(range(256)) * 20, bytes(range(256)) * 20),
        (b"", b"abc\xff" * 9),
    ],
)
@pytest.mark.parametrize("tokens", [0, 1, 2, 5, 11, 700])
def test_every_byte_has_its_place(head: bytes, tail: bytes, omitted: int, tokens: int) -> None:
    """What is left of both ends decodes to what is shown of them, whatever the bytes."""
    if omitted:
        text = joined(head.decode(errors="replace"), tail.decode(errors="replace"), omitted)
    else:
        text = (head + tail).decode(errors="replace")
    cut = cut_middle(text, tokens)
    if cut == text:
        return
    before, after = bytes_kept(text, tokens, head, tail, omitted)
    first, rest = cut.rsplit("…", 2)[0], cut.rsplit("…", 1)[1]
    whole = head if omitted else head + tail
    assert whole[:before].decode(errors="replace").startswith(first[: len(head.decode(errors="replace"))])
    ending = tail if omitted else head + tail
    shown = ending[len(ending) - after :].decode(errors="replace")
    assert rest.endswith(shown)
    assert len(shown) == min(len(rest), len(ending.decode(errors="replace")))


def test_a_character_on_the_seam(call: Caller, work: Path) -> None:
    """Half a mebibyte is held apart from what follows; no character breaks there."""
    (work / "data").write_bytes(b"x" + "é".encode() * 300_000)
    told = call.run("cat data", wait_for="exit", yield_time_ms=30_000, max_output_tokens=1_000_000)
    assert told["output"] == "x" + "é" * 300_000


def test_a_call_by_the_tools_own_schema(opened: Callable[..., Caller]) -> None:
    """What is located can be passed on as it stands, but for its length."""
    call = opened()
    (located,) = call.run("seq 20000", max_output_tokens=100)["omitted"]
    fastjsonschema.compile(definitions()["read_output"]["parameters"])(
        {name: located[name] for name in ("session_id", "from")}
    )
