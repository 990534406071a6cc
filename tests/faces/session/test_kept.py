"""What an answer leaves out, and what is not kept: bounded, whole characters, and told."""

import errno
import os
import sys
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest

from agent_exec.faces.session.definitions import definitions
from agent_exec.sessions.transcript import Transcript
from faces.session.calling import Caller

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="real shells of POSIX")


@pytest.mark.parametrize(
    "more", [{}, {"separate_streams": True}, {"tty": True}, {"tty": True, "render": "raw"}]
)
@pytest.mark.parametrize("tokens", [50, 100, 200, 300, 1000, 10_000])
def test_a_budget_bounds_the_whole_answer(call: Caller, tokens: int, more: dict[str, Any]) -> None:
    """Reference §1.10: with all that stands around the output, the budget and a fifth."""
    cmd = "seq 100000; echo last; seq 100000 >&2; echo last >&2"
    given = {"wait_for": "exit", "yield_time_ms": 30_000, **more}
    result = call("exec_command", cmd=cmd, max_output_tokens=tokens, **given)
    assert len(result.text.encode()) <= max(tokens * 4 * 6 // 5, 280 if "separate_streams" in more else 0)
    for line in ("Chunk ID: ", "Wall time: ", "Process exited with code 0\n", "Original token count: "):
        assert line in result.text
    assert "tokens truncated…" in result.text
    if tokens > 100:
        assert "last" in result.text


@pytest.mark.parametrize("tokens", [0, 1, 30])
def test_what_is_always_said_is_short(call: Caller, tokens: int) -> None:
    result = call("exec_command", cmd="seq 100000", max_output_tokens=tokens)
    assert len(result.text) <= 160


def test_a_character_is_not_cut_in_two_by_an_answer(call: Caller, work: Path) -> None:
    for given in ({}, {"separate_streams": True}, {"tty": True, "render": "raw"}):
        (work / "go").unlink(missing_ok=True)
        os.mkfifo(work / "go")
        cmd = r"printf 'a\346\227'; read x < go; printf '\245b\360'"
        first = call.run(cmd, wait_for="output", yield_time_ms=20_000, **given)
        (work / "go").write_text("\n")
        second = call.told(
            "write_stdin", session_id=first["session_id"], wait_for="exit", yield_time_ms=20_000
        )
        assert (first["output"], second["output"]) == ("a", "日b\ufffd")
        assert (first["cursor"], second["cursor"]) == (1, 6)
        if "streams" in second:
            assert (first["streams"]["stdout"], second["streams"]["stdout"]) == ("a", "日b\ufffd")


def test_what_was_not_kept_is_reported(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than the quota: counts and offsets are true, and nothing is promised that is gone."""
    monkeypatch.setattr(
        "agent_exec.faces.session.running.Transcript", lambda folder: Transcript(folder, 1 << 20)
    )
    result = call("exec_command", cmd="seq 1000000", wait_for="exit", yield_time_ms=30_000)
    told = result.structured
    assert told is not None
    whole = "".join(f"{at}\n" for at in range(1, 1_000_001))
    assert told["cursor"] == len(whole)
    assert told["output_complete"] is False
    dropped = [(one["from"], one["to"]) for one in told["dropped"]]
    assert dropped
    number = told["omitted"][0]["session_id"]
    for one in told["omitted"]:
        most = min(1 << 20, one["to"] - one["from"])
        read = call.told("read_output", session_id=number, **{"from": one["from"]}, max_bytes=most)
        assert (read["from"], read["to"]) == (one["from"], one["from"] + most)
        assert read["output"] == whole[read["from"] : read["to"]]
    for start, end in dropped:
        assert f"bytes {start} to {end} of the output were not kept" in result.text
        read = call.told("read_output", session_id=number, **{"from": start}, max_bytes=100)
        assert (read["from"], read["output"]) == (end, whole[end : end + 100])
        assert read["output_complete"] is False
    fastjsonschema.compile(definitions()["exec_command"]["output_schema"])(told)


def test_what_a_full_disk_did_not_take_is_reported(call: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("agent_exec.logs.writing.create", full)
    told = call.run("seq 1000000", wait_for="exit", yield_time_ms=30_000)
    whole = "".join(f"{at}\n" for at in range(1, 1_000_001))
    assert told["output_complete"] is False
    ((start, end),) = [(one["from"], one["to"]) for one in told["dropped"]]
    number = told["omitted"][0]["session_id"]
    read = call.told("read_output", session_id=number, max_bytes=1 << 20)
    assert (read["from"], read["to"], read["output"]) == (0, start, whole[:start])
    read = call.told("read_output", session_id=number, **{"from": start}, max_bytes=1 << 20)
    assert (read["from"], read["to"], read["output"]) == (end, len(whole), whole[end:])
