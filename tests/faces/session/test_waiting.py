"""Calls that wait: for their turn, and for one of several conditions; a caller that has gone is not kept.

Reference §1.9 (aborted by user), §1.13 (one exchange at a time), §7 (1); issue 6, better 3.
"""

import re
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from agent_exec.engine.run import Run
from agent_exec.model.cancel import Cancel
from agent_exec.tools.tool import Result
from faces.session.calling import Caller, in_turn
from support import wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="real shells of POSIX")


class Held:
    """A call in a thread of its own, which can be cancelled."""

    def __init__(self, call: Caller, name: str, **given: Any) -> None:
        self.cancelled = Cancel()
        self.answers: list[Result] = []
        self._thread = threading.Thread(
            target=lambda: self.answers.append(call.tools.call(name, given, self.cancelled))
        )
        self._thread.start()

    def cancel(self) -> Result:
        """Cancel it, and return its answer."""
        self.cancelled.set()
        return self.answer()

    def answer(self) -> Result:
        self._thread.join(20)
        assert self.answers, "it still waits"
        return self.answers[0]


def holding(call: Caller, number: int) -> Held:
    """A call that has its turn, and keeps it."""
    held = Held(call, "write_stdin", session_id=number, wait_for="exit", yield_time_ms=300_000)
    session = call.tools.sessions.find(number, "test")
    wait_until(lambda: in_turn(session))
    return held


def test_a_wait_for_a_turn_can_be_cancelled(call: Caller) -> None:
    """§1.9, the text of an aborted write_stdin; §1.13, serialised."""
    number = call.background("cat", tty=True)
    first = holding(call, number)
    second = Held(call, "write_stdin", session_id=number, chars="never typed\n")
    result = second.cancel()
    assert result.is_error
    assert re.fullmatch(r"aborted by user after \d+\.\ds", result.text)
    assert not first.answers
    assert first.cancel().text.startswith("aborted by user after ")
    call.type(number, "typed\n", wait_for="match:typed\r\ntyped", yield_time_ms=20_000)
    assert "never typed" not in call.told("read_output", session_id=number)["output"]


def test_a_turn_comes_when_the_other_goes(call: Caller) -> None:
    """§1.13: who waits and stays gets its turn."""
    number = call.background("cat", tty=True)
    first = holding(call, number)
    second = Held(
        call, "write_stdin", session_id=number, chars="typed\n", wait_for="output", yield_time_ms=20_000
    )
    first.cancel()
    assert "typed" in second.answer().text
    assert call.told("kill_session", session_id=number)["signal"]


def test_a_kill_does_not_wait_for_a_waiting_call(call: Caller) -> None:
    number = call.background("sleep 600")
    first = holding(call, number)
    assert call.told("kill_session", session_id=number)["exit_code"] == 143
    assert first.answer().structured is not None


@pytest.mark.parametrize("said", ["alpha", "BETA", "12 12"])
def test_each_of_several_patterns_counts(call: Caller, said: str) -> None:
    """§7 (1): a regex as a condition; with flags and references of its own each."""
    began = monotonic()
    told = call.run(
        f"echo {said}; sleep 600",
        wait_for=["match:alpha", "match:(?i)beta", r"match:(\d+) \1"],
        yield_time_ms=30_000,
    )
    assert monotonic() - began < 20
    assert told["output"] == f"{said}\n"


def test_none_of_several_patterns(call: Caller) -> None:
    told = call.run("echo gamma; sleep 600", wait_for=["match:alpha", "match:beta"], yield_time_ms=400)
    assert told["wall_time_seconds"] >= 0.4


def test_the_shortest_silence_counts(call: Caller) -> None:
    """Issue 6, better 3: every condition of a list, whatever their order."""
    began = monotonic()
    call.run("sleep 600", wait_for=["idle:50", "idle:29000"], yield_time_ms=30_000)
    call.run("sleep 600", wait_for=["idle:29000", "idle:50"], yield_time_ms=30_000)
    assert monotonic() - began < 20


@pytest.mark.parametrize("order", [1, -1])
def test_each_of_several_ports_counts(call: Caller, order: int) -> None:
    """Issue 6, better 3."""
    with socket.create_server(("127.0.0.1", 0)) as listening, socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        ports = [listening.getsockname()[1], deaf.getsockname()[1]][::order]
        began = monotonic()
        call.run("sleep 600", wait_for=[f"port:{port}" for port in ports], yield_time_ms=30_000)
        assert monotonic() - began < 20


def test_a_program_does_not_wait_for_what_is_on_its_way_to_it(
    call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is typed right after a resize goes through the engine's thread, which may be late."""
    number = call.asked("read x; echo got; read x")
    post = Run._post

    def late(run: Run, act: Callable[..., object]) -> None:
        threading.Timer(0.3, post, (run, act)).start()

    monkeypatch.setattr(Run, "_post", late)
    call.told("resize", session_id=number, rows=24, columns=40)
    told = call.type(number, "\n", yield_time_ms=20_000)
    assert "got" in told["output"], told


def test_lines_are_wrapped_where_the_terminal_is(opened: Callable[..., Caller], work: Path) -> None:
    """Issue 6, better 4: after a resize, text is read as the program has written it."""
    call = opened()
    (work / "draw").write_text(
        "stty -echo\nread x\nprintf 'above\\n%050d\\033[A\\r>>' 0; echo; echo; echo end; read x\n"
    )
    number = call.asked("bash draw")
    call.told("resize", session_id=number, rows=24, columns=40)
    told = call.type(number, "\n", wait_for="match:end", yield_time_ms=20_000)
    assert ">>" + "0" * 48 in told["output"], told["output"]


def test_a_match_is_shown_without_what_a_screen_obeys(call: Caller) -> None:
    told = call.run("printf 'found\\r\\033[2Jexit code 0\\n'", wait_for="match:found")
    (note,) = [note for note in told["notes"] if "matched" in note]
    assert note == r"matched at byte 0: found\r\x1b[2Jexit code 0"


@pytest.mark.parametrize("after", ["cat", "true"])
def test_a_match_is_shown_with_its_offset_however_small_the_answer(call: Caller, after: str) -> None:
    line = "seq 1 30000; echo 'the test FAILED here'; seq 1 30000; "
    told = call.run(line + after, tty=after == "cat", wait_for="match:FAILED", max_output_tokens=50)
    (note,) = [note for note in told["notes"] if "matched" in note]
    place, shown = note.removeprefix("matched at byte ").split(": ")
    assert shown == "the test FAILED here"
    number = told.get("session_id")
    if number is None:
        (number,) = call.listed()
    again = call.told("read_output", session_id=number, **{"from": int(place), "max_bytes": 11})
    assert again["output"] == "FAILED here"
    if "session_id" in told:
        call.told("kill_session", session_id=number)
