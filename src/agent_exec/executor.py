"""The executor: commands by whitelist and blacklist, a few at once. See docs/executor.md."""

from agent_exec.model.lazy import loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.executor.config import CommandExecutorConfig
    from agent_exec.faces.executor.errors import CommandExecutionError, CommandValidationError, ToolTypeError
    from agent_exec.faces.executor.executor import CommandExecutor
    from agent_exec.faces.executor.lists import CommandLists
    from agent_exec.faces.executor.result import (
        CommandExecutionResult,
        CommandMetadata,
        CommandValidationResult,
    )
    from agent_exec.faces.executor.toolhandler import ToolHandler
    from agent_exec.model.choices import Logger, OnLimit, Status

__all__ = [
    "CommandExecutionError",
    "CommandExecutionResult",
    "CommandExecutor",
    "CommandExecutorConfig",
    "CommandLists",
    "CommandMetadata",
    "CommandValidationError",
    "CommandValidationResult",
    "Logger",
    "OnLimit",
    "Status",
    "ToolHandler",
    "ToolTypeError",
]

_HOMES = {
    "CommandExecutionError": "faces.executor.errors",
    "CommandExecutionResult": "faces.executor.result",
    "CommandExecutor": "faces.executor.executor",
    "CommandExecutorConfig": "faces.executor.config",
    "CommandLists": "faces.executor.lists",
    "CommandMetadata": "faces.executor.result",
    "CommandValidationError": "faces.executor.errors",
    "CommandValidationResult": "faces.executor.result",
    "Logger": "model.choices",
    "OnLimit": "model.choices",
    "Status": "model.choices",
    "ToolHandler": "faces.executor.toolhandler",
    "ToolTypeError": "faces.executor.errors",
}

__getattr__ = loader(__name__, _HOMES, "agent_exec")
