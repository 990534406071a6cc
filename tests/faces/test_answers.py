"""How answers are put together: the parts that need no job."""

import errno
import os

import pytest

from agent_exec.faces import answers, verbs
from agent_exec.jobs.output import Piece, cut
from agent_exec.logs.stream import STREAMS
from agent_exec.model.errors import AgentExecError, JobNotFound, LaunchFailed
from agent_exec.model.jsonline import dump
from cli import check, validator

OUT, ERR = STREAMS


def shown(pieces: list[Piece], lines: int) -> list[tuple[str, str]]:
    before = sum(len(piece.data) for piece in pieces)
    gone = cut(pieces, lines) if lines else {}
    assert sum(gone.values()) == before - sum(len(piece.data) for piece in pieces)
    return [(entry["stream"], entry["text"]) for entry in answers.merged(pieces, final=False)]


def test_an_error_of_the_system_says_what_to_do() -> None:
    full = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    error = answers.of_the_system(full)
    assert error.retryable
    assert error.message == (
        "the system refused: Too many open files; end what is not needed any more, and try again"
    )
    with pytest.raises(FileNotFoundError) as missing:
        os.stat("/no/such/file")
    error = answers.of_the_system(missing.value)
    assert error.message.endswith(" (/no/such/file)")
    assert not error.retryable


def test_a_refusal_says_why() -> None:
    assert answers.refusal(JobNotFound("no such job", job_id="X")) == {
        "schema_version": "0.1",
        "ok": False,
        "type": "error",
        "error": {
            "code": "job_not_found",
            "message": "no such job",
            "retryable": False,
            "details": {"job_id": "X"},
        },
    }
    assert "details" not in answers.refusal(JobNotFound("none"))["error"]
    assert answers.refusal(LaunchFailed("later"))["error"]["retryable"] is True


def test_an_unexpected_error_is_an_internal_error() -> None:
    told = answers.refusal(AgentExecError("a bug"))
    assert check(dump(told) + "\n")["error"]["code"] == "internal_error"


@pytest.mark.parametrize(
    ("lines", "texts"),
    [
        (0, ["1\n2\n", "3\n", "4\n5\n"]),
        (9, ["1\n2\n", "3\n", "4\n5\n"]),
        (5, ["1\n2\n", "3\n", "4\n5\n"]),
        (4, ["2\n", "3\n", "4\n5\n"]),
        (3, ["3\n", "4\n5\n"]),
        (2, ["4\n5\n"]),
        (1, ["5\n"]),
    ],
)
def test_merged_pieces_are_cut_to_the_last_lines(lines: int, texts: list[str]) -> None:
    pieces = [Piece(1.0, OUT, b"1\n2\n"), Piece(2.0, ERR, b"3\n"), Piece(3.0, OUT, b"4\n5\n")]
    assert [text for _, text in shown(pieces, lines)] == texts


def test_a_line_may_be_unfinished_or_of_several_pieces() -> None:
    def pieces() -> list[Piece]:
        return [Piece(1.0, OUT, b"1\n2"), Piece(2.0, OUT, b"2\n3")]

    assert shown(pieces(), 2) == [(OUT, "2"), (OUT, "2\n3")]
    assert shown(pieces(), 1) == [(OUT, "3")]


def test_an_unfinished_character_at_the_very_end_is_reported() -> None:
    told = answers.merged([Piece(1.0, OUT, b"a\xc3")], final=True)
    assert [entry["text"] for entry in told] == ["a", "\ufffd"]


def test_a_character_in_two_pieces_is_whole() -> None:
    pieces = [Piece(1.0, OUT, b"\xc3"), Piece(2.0, ERR, b"\xa9"), Piece(3.0, OUT, b"\xa9")]
    assert shown(pieces, 0) == [(ERR, "\ufffd"), (OUT, "é")]


def test_a_time_that_is_not_known_is_null() -> None:
    told = answers.merged([Piece(None, OUT, b"x"), Piece(1_700_000_000.25, OUT, b"y")], final=True)
    assert [entry["time"] for entry in told] == [None, "2023-11-14T22:13:20.250Z"]


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ({"state": "running"}, 124),
        ({"state": "created"}, 124),
        ({"state": "exited", "exit_code": 0}, 0),
        ({"state": "exited", "exit_code": 3}, 3),
        ({"state": "killed", "exit_code": 0, "signal": None}, 0),
        ({"state": "killed", "exit_code": None, "signal_number": 15}, 143),
        ({"state": "failed", "exit_code": None, "reason": "spawn_failed"}, 127),
        ({"state": "failed", "exit_code": None, "reason": "supervisor_lost"}, 125),
    ],
)
def test_the_exit_code_that_an_answer_stands_for(told: dict[str, object], code: int) -> None:
    assert verbs.exit_code(told) == code


def test_the_schema_is_an_answer() -> None:
    validator()(verbs.schema())
