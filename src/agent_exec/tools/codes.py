"""The error codes of each contract: one row for each of our own codes, one column for each contract."""

from errno import E2BIG

from agent_exec.model.errors import AgentExecError

OWN = ""
"""The contract has no word for this error, which is raised; on the wire it keeps our own code."""

_FAILED = ("INTERNAL", "EXECUTION_FAILED")
_REFUSED = ("INTERNAL", OWN)

CODES = {
    # our own code: (oneshot, executor)
    "internal": _FAILED,
    "refused": _REFUSED,
    "invalid_argument": ("INVALID_ARGUMENT", OWN),
    "invalid_state": _REFUSED,
    "stdin_too_large": _REFUSED,
    "busy": _REFUSED,
    "command_denied": ("POLICY_DENIED", OWN),
    "approval_required": ("POLICY_DENIED", OWN),
    "invalid_rules": _REFUSED,
    "invalid_config": _REFUSED,
    "missing": _FAILED,
    "command_not_found": ("COMMAND_NOT_FOUND", "COMMAND_NOT_FOUND"),
    "command_not_executable": ("COMMAND_NOT_FOUND", "EXECUTION_FAILED"),
    "workdir_not_found": ("NOT_DIRECTORY", "EXECUTION_FAILED"),
    "not_a_directory": ("NOT_DIRECTORY", "EXECUTION_FAILED"),
    "workdir_forbidden": ("NOT_DIRECTORY", "EXECUTION_FAILED"),
    "job_not_found": _FAILED,
    "ambiguous_job_id": _FAILED,
    "broken": _FAILED,
    "launch_failed": _FAILED,
    "keeper_lost": _FAILED,
    "input_closed": _FAILED,
    "sandbox_unavailable": _FAILED,
    "unsupported": _FAILED,
    "store_failed": _FAILED,
    "config_failed": _FAILED,
    "interrupted": _FAILED,
    "tool_failed": _FAILED,
    "patch_failed": ("INVALID_ARGUMENT", OWN),
    "patch_malformed": ("INVALID_ARGUMENT", OWN),
    "patch_unfit": ("INVALID_ARGUMENT", OWN),
    "patch_rejected": ("SANDBOX_VIOLATION", OWN),
    "patch_implicit": ("INVALID_ARGUMENT", OWN),
    "patch_not_written": ("INVALID_ARGUMENT", OWN),
    "patch_not_undone": ("INVALID_ARGUMENT", OWN),
}

_TOO_LONG = (E2BIG, 206)  # an argv that is too long, on POSIX and on Windows


def oneshot_code(error: AgentExecError) -> str:
    """Return the code of the contract `oneshot` for an error."""
    if error.code == "launch_failed":
        if "cwd" in error.details:
            return "NOT_DIRECTORY"
        if error.details.get("errno") in _TOO_LONG:
            return "INVALID_ARGUMENT"
    return CODES[error.code][0]


def executor_code(error: AgentExecError) -> str:
    """Return the code of the contract `executor` for an error, or our own for a request that it refuses."""
    return CODES[error.code][1] or error.code
