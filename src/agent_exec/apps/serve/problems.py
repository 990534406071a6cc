"""Errors over HTTP: a status for each of our codes, and the object that says what is wrong (RFC 9457)."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agent_exec.model.errors import AgentExecError

KIND = "application/problem+json"

STATUS = {
    **dict.fromkeys(
        """
        invalid_argument invalid_tag ambiguous_job_id stdin_required refused config_error invalid_rules
        invalid_config patch_failed patch_malformed patch_unfit patch_implicit INVALID_ARGUMENT
        TOOL_NOT_FOUND
        """.split(),
        400,
    ),
    "unauthorized": 401,
    **dict.fromkeys(
        "command_denied approval_required patch_rejected forbidden POLICY_DENIED SANDBOX_VIOLATION".split(),
        403,
    ),
    **dict.fromkeys(
        "job_not_found group_not_found question_not_found missing no_such_path port_not_found".split(), 404
    ),
    "method_not_allowed": 405,
    "timed_out": 408,
    **dict.fromkeys(
        "busy invalid_state not_ready dependency_failed input_closed uncertain key_reused".split(), 409
    ),
    "range_not_satisfiable": 416,
    "stdin_too_large": 413,
    "too_large": 413,
    "not_json": 415,
    **dict.fromkeys(
        """
        command_not_found command_not_executable workdir_not_found not_a_directory workdir_forbidden
        launch_failed tool_failed not_a_file COMMAND_NOT_FOUND NOT_DIRECTORY
        """.split(),
        422,
    ),
    **dict.fromkeys(
        """
        internal internal_error broken keeper_lost store_failed config_failed patch_not_written
        patch_not_undone INTERNAL
        """.split(),
        500,
    ),
    "unsupported": 501,
    **dict.fromkeys("sandbox_unavailable interrupted full".split(), 503),
}
"""The status of each code: our own, those of the contract `oneshot`, and those of this interface."""


class HttpError(Exception):
    """A request that this interface refuses by itself; it has the fields of an AgentExecError."""

    retryable = False

    def __init__(self, code: str, message: str, **details: object) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


def problem(
    code: str,
    message: str,
    *,
    retryable: bool = False,
    details: "Mapping[str, object] | None" = None,
    answer: "Mapping[str, Any] | None" = None,
) -> "tuple[int, dict[str, Any]]":
    """Return the status and the object of an error; `answer` is what is known beside it."""
    status = STATUS.get(code, 500)
    return status, {
        "type": f"urn:agent-exec:error:{code}",
        "title": code.replace("_", " ").lower(),
        "status": status,
        "detail": message,
        "code": code,
        "retryable": retryable,
        **({"details": dict(details)} if details else {}),
        **({"answer": dict(answer)} if answer else {}),
    }


def of_error(error: "AgentExecError | HttpError") -> "tuple[int, dict[str, Any]]":
    """Return the status and the object of an error that was raised."""
    return problem(error.code, error.message, retryable=error.retryable, details=error.details)


def of_answer(answer: "Mapping[str, Any]") -> "tuple[int, dict[str, Any]]":
    """Return the status and the object of an answer that says itself that it failed."""
    error = answer["error"]
    return problem(
        error["code"],
        error["message"],
        retryable=error.get("retryable", False),
        details=error.get("details"),
        answer={name: value for name, value in answer.items() if name != "error"},
    )
