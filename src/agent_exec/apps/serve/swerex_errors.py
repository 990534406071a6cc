"""The errors of the SWE-ReX protocol, as its clients raise them again."""

from typing import TYPE_CHECKING, Any

from agent_exec.apps.serve.problems import HttpError
from agent_exec.model.errors import AgentExecError, CommandNotFound, InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Mapping

STATUS = 511
"""The status of every answer that is an exception."""

_BUILTIN = {
    "missing": "FileNotFoundError",
    "not_a_file": "IsADirectoryError",
    "forbidden": "PermissionError",
    "too_large": "ValueError",
    "timed_out": "TimeoutError",
}


class SwerexError(Exception):
    """An exception that the client raises: `kind` is its class, in a module of its own."""

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        module: str = "swerex.exceptions",
        extra: "Mapping[str, object] | None" = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.module = module
        self.extra = dict(extra or {})

    def answer(self) -> "dict[str, Any]":
        """Return the object that tells the client."""
        told = {
            "message": self.message,
            "class_path": f"{self.module}.{self.kind}",
            "traceback": "",
            "extra_info": self.extra,
        }
        return {"swerexception": told}


def of_ours(error: Exception) -> SwerexError:
    """Return what an error of ours, or of the system, is to a client."""
    if isinstance(error, SwerexError):
        return error
    if isinstance(error, HttpError) and error.code in _BUILTIN:
        return _builtin(_BUILTIN[error.code], error.message)
    if isinstance(error, CommandNotFound):
        return _builtin("FileNotFoundError", error.message)
    if isinstance(error, InvalidArgument):
        return _builtin("ValueError", error.message)
    if isinstance(error, AgentExecError | HttpError):
        return SwerexError("SwerexException", f"{error.code}: {error.message}")
    return _builtin(type(error).__name__, str(error))


def _builtin(kind: str, message: str) -> SwerexError:
    return SwerexError(kind, message, module="builtins")
