"""What is raised: typed, coded, and whole after a journey to another process."""

import copy
import pickle

import pytest

from agent_exec.faces.executor.errors import (
    CODES,
    CommandExecutionError,
    CommandValidationError,
    ToolTypeError,
)


def test_c26_an_error_has_a_message_a_code_and_details() -> None:
    bare = CommandExecutionError("went wrong")
    assert (bare.message, bare.code, bare.details, str(bare)) == ("went wrong", None, None, "went wrong")
    full = CommandExecutionError("went wrong", "TIMEOUT", ["anything"])
    assert (full.code, full.details) == ("TIMEOUT", ["anything"])
    assert CommandExecutionError("m", code="TIMEOUT", details={}).details == {}


def test_c26_the_codes_are_the_contracts() -> None:
    assert set(CODES) == {
        "COMMAND_NOT_FOUND",
        "COMMAND_BLACKLISTED",
        "COMMAND_NOT_WHITELISTED",
        "EXECUTION_FAILED",
        "TIMEOUT",
        "OUTPUT_SIZE_EXCEEDED",
        "CONCURRENT_LIMIT_EXCEEDED",
    }


@pytest.mark.parametrize("kind", [CommandExecutionError, CommandValidationError, ToolTypeError])
def test_errors_travel(kind: type[CommandExecutionError]) -> None:
    assert issubclass(kind, CommandExecutionError)
    error = kind("message", "CODE", {"command": "x"})
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is kind
        assert (twin.message, twin.code, twin.details, str(twin)) == (
            "message",
            "CODE",
            {"command": "x"},
            "message",
        )


def test_only_the_limit_may_be_tried_again() -> None:
    assert [code for code in CODES if CommandExecutionError("", code).retryable] == [
        "CONCURRENT_LIMIT_EXCEEDED"
    ]
