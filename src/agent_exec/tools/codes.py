"""The error codes of each contract: the rows are our own codes, the columns the contracts."""

from errno import E2BIG

from agent_exec.model.errors import AgentExecError

OWN = ""
"""The contract has no word for this error, which is raised; on the wire it keeps our own code."""

CODES = {
    # our own code: (oneshot, executor)
    **dict.fromkeys(
        """
        internal missing job_not_found ambiguous_job_id group_not_found question_not_found broken
        launch_failed keeper_lost input_closed sandbox_unavailable unsupported store_failed not_ready
        config_failed interrupted tool_failed
        """.split(),
        ("INTERNAL", "EXECUTION_FAILED"),
    ),
    **dict.fromkeys(
        """
        refused invalid_state stdin_too_large stdin_required busy dependency_failed invalid_rules
        invalid_config config_error
        """.split(),
        ("INTERNAL", OWN),
    ),
    **dict.fromkeys(
        """
        invalid_argument invalid_tag patch_failed patch_malformed patch_unfit patch_implicit patch_not_written
        patch_not_undone
        """.split(),
        ("INVALID_ARGUMENT", OWN),
    ),
    **dict.fromkeys(("command_denied", "approval_required"), ("POLICY_DENIED", OWN)),
    "patch_rejected": ("SANDBOX_VIOLATION", OWN),
    "command_not_found": ("COMMAND_NOT_FOUND", "COMMAND_NOT_FOUND"),
    "command_not_executable": ("COMMAND_NOT_FOUND", "EXECUTION_FAILED"),
    **dict.fromkeys(
        ("workdir_not_found", "not_a_directory", "workdir_forbidden"), ("NOT_DIRECTORY", "EXECUTION_FAILED")
    ),
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
