"""Promise 2: input is fed while output flows, ends when it should, and never blocks anyone."""

import pytest

import agent_exec
from agent_exec.model.errors import InputClosed
from support import python, wait_until

MIB = 1 << 20


def test_a_mebibyte_through_cat_both_ways() -> None:
    data = bytes(range(256)) * (MIB // 256)
    out = agent_exec.run(["cat"], stdin=data)
    assert out.stdout == data
    assert out.ok


def test_eight_mebibytes_through_a_slow_reader() -> None:
    code = """
import os, time
total = 0
while chunk := os.read(0, 4096):
    total += len(chunk)
    os.write(1, chunk)
    os.write(2, chunk)
"""
    data = b"0123456789abcdef" * (8 * MIB // 16)
    out = agent_exec.run(python(code), stdin=data, keep=agent_exec.Head(16 * MIB))
    assert out.stdout == data
    assert out.stderr == data


def test_a_child_that_closes_its_input_early_is_no_error() -> None:
    out = agent_exec.run(["head", "-c", "3"], stdin=b"abc" * MIB)
    assert (out.stdout, out.exit_code, out.cause) == (b"abc", 0, None)
    assert agent_exec.run(["true"], stdin=b"x" * (4 * MIB)).ok
    assert agent_exec.run(["sh", "-c", "exec <&-; echo on"], stdin=b"x" * (4 * MIB)).stdout == b"on\n"


def test_no_input_is_dev_null() -> None:
    assert agent_exec.run(["readlink", "/proc/self/fd/0"]).stdout == b"/dev/null\n"
    assert agent_exec.run(["cat"]).stdout == b""


def test_empty_input_ends_at_once() -> None:
    assert agent_exec.run(["wc", "-c"], stdin=b"").stdout.strip() == b"0"


def test_interactive_input_stays_open_until_it_is_ended() -> None:
    seen: list[bytes] = []
    with agent_exec.Engine() as engine:
        run = engine.start(
            agent_exec.Command(
                ["cat"], stdin=b"first\n", interactive=True, on_output=lambda _, chunk: seen.append(chunk)
            )
        )
        wait_until(lambda: b"".join(seen) == b"first\n")
        run.write(b"second\n")
        wait_until(lambda: b"".join(seen) == b"first\nsecond\n")
        assert not run.done
        run.write(b"third")
        run.end_input()
        run.end_input()
        out = run.outcome()
        assert out.stdout == b"first\nsecond\nthird"
        assert out.ok


def test_writing_where_no_input_is_taken_is_refused() -> None:
    with agent_exec.Engine() as engine:
        run = engine.start(agent_exec.Command(["sleep", "60"]))
        with pytest.raises(InputClosed, match="interactive=True"):
            run.write(b"x")
        run.stop()
        run.outcome()
        over = engine.start(agent_exec.Command(["true"], interactive=True))
        over.outcome()
        with pytest.raises(InputClosed, match="ended"):
            over.write(b"x")
        over.end_input()


def test_writing_to_a_child_that_closed_its_input_is_no_error() -> None:
    with agent_exec.Engine() as engine:
        run = engine.start(
            agent_exec.Command(["sh", "-c", "exec <&-; echo closed; sleep 60"], interactive=True)
        )
        wait_until(lambda: run.stdout == b"closed\n")
        for _ in range(3):
            run.write(b"x" * MIB)
        run.stop()
        assert run.outcome().cause == "stopped"


def test_what_is_written_while_queued_arrives_in_order() -> None:
    with agent_exec.Engine(slots=1) as engine:
        blocker = engine.start(agent_exec.Command(["cat"], interactive=True))
        queued = engine.start(agent_exec.Command(["cat"], interactive=True))
        queued.write(b"a")
        queued.write(b"b")
        queued.end_input()
        assert queued.phase == "queued"
        blocker.end_input()
        assert queued.outcome().stdout == b"ab"
