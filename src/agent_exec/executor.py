"""The executor: commands by whitelist and blacklist, a few at once. See docs/executor.md."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.executor.config import CommandExecutorConfig as CommandExecutorConfig
    from agent_exec.faces.executor.errors import CommandExecutionError as CommandExecutionError
    from agent_exec.faces.executor.errors import CommandValidationError as CommandValidationError
    from agent_exec.faces.executor.errors import ToolTypeError as ToolTypeError
    from agent_exec.faces.executor.executor import CommandExecutor as CommandExecutor
    from agent_exec.faces.executor.lists import CommandLists as CommandLists
    from agent_exec.faces.executor.result import CommandExecutionResult as CommandExecutionResult
    from agent_exec.faces.executor.result import CommandMetadata as CommandMetadata
    from agent_exec.faces.executor.result import CommandValidationResult as CommandValidationResult
    from agent_exec.faces.executor.toolhandler import ToolHandler as ToolHandler
    from agent_exec.model.choices import Logger as Logger
    from agent_exec.model.choices import OnLimit as OnLimit
    from agent_exec.model.choices import Status as Status

_HOMES = {
    "faces.executor.config": "CommandExecutorConfig",
    "faces.executor.errors": "CommandExecutionError CommandValidationError ToolTypeError",
    "faces.executor.executor": "CommandExecutor",
    "faces.executor.lists": "CommandLists",
    "faces.executor.result": "CommandExecutionResult CommandMetadata CommandValidationResult",
    "faces.executor.toolhandler": "ToolHandler",
    "model.choices": "Logger OnLimit Status",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from agent_exec.model.lazy import public

        return public(__name__, name, _HOMES)

    def __dir__() -> list[str]:
        return __getattr__("__all__")
