"""What the executor gives: how a command ended, and whether one is allowed."""

from dataclasses import asdict, dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agent_exec.model.choices import Status


@dataclass(frozen=True, slots=True)
class CommandMetadata:
    """How long it ran, and how many bytes are kept of what it printed."""

    duration_ms: int
    output_size_bytes: int
    error_size_bytes: int


@dataclass(frozen=True, slots=True)
class CommandExecutionResult:
    """How a command ended.

    `status` is "success" for exit code 0, "timeout" when its time ran out,
    and "error" for all else. `output` is its stdout and `error` its stderr,
    or why it could not be started. `exit_code` is None when its time ran out
    or a signal ended it, which `signal` then names. `code` is one of the
    contract's codes when there is more to say than an exit code does.
    `protected_changes` is what became of paths that a sandbox protects, and
    `denied` a line about what it refused.
    """

    status: "Status"
    output: str
    error: str
    exit_code: int | None
    metadata: CommandMetadata
    code: str | None = None
    signal: str | None = None
    protected_changes: "tuple[Mapping[str, object], ...]" = ()
    denied: str = ""

    def to_wire(self) -> "dict[str, Any]":
        """Return it in the contract's own names; `code`, `signal` and `sandbox` only if there is one."""
        wire: dict[str, Any] = {
            "status": self.status,
            "output": self.output,
            "error": self.error,
            "exitCode": self.exit_code,
            "metadata": asdict(self.metadata),
        }
        if self.code is not None:
            wire["code"] = self.code
        if self.signal is not None:
            wire["signal"] = self.signal
        if self.protected_changes:
            wire["sandbox"] = {"protected_changes": [dict(change) for change in self.protected_changes]}
        return wire


@dataclass(frozen=True, slots=True)
class CommandValidationResult:
    """Whether a command is allowed; true in a condition if it is.

    `error` is the contract's text, `code` its code, `reason` what decided.
    """

    valid: bool
    error: str | None = None
    code: str | None = None
    reason: str | None = None

    def __bool__(self) -> bool:
        return self.valid

    def to_wire(self) -> "dict[str, Any]":
        """Return it in the contract's own names."""
        return {"valid": True} if self.valid else {"valid": False, "error": self.error}
