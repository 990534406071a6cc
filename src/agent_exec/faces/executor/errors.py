"""What the executor raises, and the codes of its contract.

CommandExecutionError       (message, code, details)
  CommandValidationError      refused; nothing was started
  ToolTypeError               there is no such tool

They stand beside the tree of our own errors: the codes are the contract's,
and belong to the error, not to its class. Errors outside of the contract,
such as InvalidArgument, are our own.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

COMMAND_NOT_FOUND = "COMMAND_NOT_FOUND"
COMMAND_BLACKLISTED = "COMMAND_BLACKLISTED"
COMMAND_NOT_WHITELISTED = "COMMAND_NOT_WHITELISTED"
EXECUTION_FAILED = "EXECUTION_FAILED"
TIMEOUT = "TIMEOUT"
OUTPUT_SIZE_EXCEEDED = "OUTPUT_SIZE_EXCEEDED"
CONCURRENT_LIMIT_EXCEEDED = "CONCURRENT_LIMIT_EXCEEDED"
TOOL_NOT_FOUND = "TOOL_NOT_FOUND"

CODES = (
    COMMAND_NOT_FOUND,
    COMMAND_BLACKLISTED,
    COMMAND_NOT_WHITELISTED,
    EXECUTION_FAILED,
    TIMEOUT,
    OUTPUT_SIZE_EXCEEDED,
    CONCURRENT_LIMIT_EXCEEDED,
)
"""The codes of the contract, which has none for an unknown tool."""


class CommandExecutionError(Exception):
    """The executor did not do what was asked; `code` says why, `details` is whatever helps."""

    def __init__(self, message: str, code: str | None = None, details: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.details: Any = details

    @property
    def retryable(self) -> bool:
        """True if the same request may succeed later."""
        return self.code == CONCURRENT_LIMIT_EXCEEDED

    def __reduce__(self) -> "tuple[object, ...]":
        return type(self), (self.message, self.code, self.details)


class CommandValidationError(CommandExecutionError):
    """What was asked is refused; nothing was started."""


class ToolTypeError(CommandExecutionError):
    """There is no such tool."""
