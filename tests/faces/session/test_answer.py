"""What tools answer, as text and as objects, and what they say when they fail."""

import pickle

import pytest

from agent_exec.faces.session.answer import Answer
from agent_exec.faces.session.failures import ToolFailure, failure, not_run

FULL = Answer(
    chunk_id="a1b2c3",
    wall_time_seconds=1.23456,
    session_id=1000,
    original_token_count=9,
    output="name: ",
    awaiting_input=True,
    evidence="exact",
    echo=False,
    omitted=[(5, 9)],
    notes=["careful"],
    cursor=77,
)


def test_a_command_that_ended() -> None:
    """Seed §3.5; reference §1.11: lines and their order."""
    ended = Answer(
        chunk_id="00ff00", wall_time_seconds=0.5, exit_code=3, original_token_count=2, output="a\nb\n"
    )
    assert ended.text() == (
        "Chunk ID: 00ff00\n"
        "Wall time: 0.5000 seconds\n"
        "Process exited with code 3\n"
        "Original token count: 2\n"
        "Output:\n"
        "a\nb\n"
    )
    assert list(ended.structured().items()) == [
        ("chunk_id", "00ff00"),
        ("wall_time_seconds", 0.5),
        ("exit_code", 3),
        ("original_token_count", 2),
        ("output", "a\nb\n"),
    ]


def test_a_command_that_runs() -> None:
    """Seed §3.5; reference §1.11."""
    runs = Answer(
        chunk_id="abcdef", wall_time_seconds=10, session_id=99999, original_token_count=0, output=""
    )
    assert runs.text() == (
        "Chunk ID: abcdef\n"
        "Wall time: 10.0000 seconds\n"
        "Process running with session ID 99999\n"
        "Original token count: 0\n"
        "Output:\n"
    )


def test_an_intercepted_patch() -> None:
    """Reference §1.11: no chunk id, wall time 0.0000, then `Output:`."""
    patch = Answer(wall_time_seconds=0, output="Exit code: 0")
    assert patch.text() == "Wall time: 0.0000 seconds\nOutput:\nExit code: 0"
    assert patch.structured() == {"wall_time_seconds": 0, "output": "Exit code: 0"}


def test_a_command_that_waits_for_input() -> None:
    """Issue 6, better 1: our line after the session's, notes before the output."""
    assert FULL.text() == (
        "Chunk ID: a1b2c3\n"
        "Wall time: 1.2346 seconds\n"
        "Process running with session ID 1000\n"
        "Process is waiting for input\n"
        "Original token count: 9\n"
        "Note: careful\n"
        "Note: what is typed now is not echoed; the program may be asking for a secret\n"
        "Note: bytes 5 to 9 of the output are not shown; read_output can give them\n"
        "Output:\n"
        "name: "
    )
    assert list(FULL.structured().items()) == [
        ("chunk_id", "a1b2c3"),
        ("wall_time_seconds", 1.23456),
        ("session_id", 1000),
        ("original_token_count", 9),
        ("output", "name: "),
        ("awaiting_input", True),
        ("evidence", "exact"),
        ("echo", False),
        ("omitted", [{"from": 5, "to": 9}]),
        ("notes", ["careful"]),
        ("cursor", 77),
    ]


def test_a_command_that_was_ended() -> None:
    """Issue 6, better 3 and 5: timeouts; 128 + n."""
    ended = Answer(wall_time_seconds=1, exit_code=137, signal="SIGKILL", timed_out=True, output="")
    assert ended.text().splitlines()[1:] == [
        "Process exited with code 137",
        "Note: the command was ended because its time was over",
        "Note: the command was ended by SIGKILL",
        "Output:",
    ]
    assert ended.structured() == {
        "wall_time_seconds": 1,
        "exit_code": 137,
        "output": "",
        "signal": "SIGKILL",
        "timed_out": True,
    }


def test_streams_apart() -> None:
    """Issue 6, better 5: streams told apart when asked."""
    apart = Answer(
        wall_time_seconds=0, exit_code=0, output="oe", streams={"stdout": "o", "stderr": "e"}, cursor=0
    )
    assert apart.text().endswith("Output:\no\nStandard error:\ne")
    assert apart.structured()["streams"] == {"stdout": "o", "stderr": "e"}
    assert apart.structured()["cursor"] == 0
    assert apart.replace(streams={"stdout": "o", "stderr": ""}).text().endswith("Output:\no")


def test_an_answer_is_a_value() -> None:
    """Reference §1.11: equal by its fields."""
    assert FULL.replace() == FULL
    assert FULL.replace(output="") != FULL


@pytest.mark.parametrize(
    ("failed", "says"),
    [
        (
            failure("unknown_session", tool="write_stdin", session_id=1234),
            "write_stdin failed: Unknown process id 1234",
        ),
        (
            failure("unknown_session", tool="resize", session_id=5),
            "resize failed: Unknown process id 5",
        ),
        (
            failure("stdin_closed", tool="write_stdin"),
            (
                "write_stdin failed: stdin is closed for this session; "
                "rerun exec_command with tty=true to keep stdin open"
            ),
        ),
        (failure("write_failed", tool="write_stdin"), "write_stdin failed: failed to write to stdin"),
        (
            failure("process_failed", tool="write_stdin", problem="gone"),
            "write_stdin failed: Unified exec process failed: gone",
        ),
        (
            not_run("spawn_failed", ["/bin/sh", "-c", "a b"], "no such folder"),
            (
                "exec_command failed for `/bin/sh -c 'a b'`: "
                "Failed to create unified exec process: no such folder"
            ),
        ),
        (
            not_run("exec_failed", ["ls", "{x}"], "rejected by {user}"),
            "exec_command failed for `ls '{x}'`: rejected by {user}",
        ),
        (
            not_run("exec_failed", ["a" * 5000], "no"),
            f"exec_command failed for `{'a' * 1000} … 3000 characters … {'a' * 1000}`: no",
        ),
        (
            failure("escalation_refused", policy="never"),
            (
                "approval policy is never; reject command — "
                "you cannot ask for escalated permissions if the approval policy is never"
            ),
        ),
        (failure("aborted_exec", seconds=2.34), "Wall time: 2.3 seconds\naborted by user"),
        (failure("aborted_write", seconds=2.36), "aborted by user after 2.4s"),
        (failure("misread", problem="x"), "failed to parse function arguments: x"),
    ],
)
def test_what_a_model_reads_of_failures(failed: ToolFailure, says: str) -> None:
    """Reference §1.12, and §1.3 and §1.9 for escalation and aborts."""
    assert failed.message == str(failed) == says
    assert failed.code == "tool_failed"
    assert pickle.loads(pickle.dumps(failed)).message == says
