"""The tool `execute_command` as an agent calls it: by name, with one object of arguments."""

from agent_exec.faces.executor.config import TIMEOUT_MS, milliseconds
from agent_exec.faces.executor.errors import TOOL_NOT_FOUND, ToolTypeError
from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agent_exec.faces.executor.executor import CommandExecutor
    from agent_exec.faces.executor.result import CommandExecutionResult
    from agent_exec.model.cancel import Cancel

TOOLS = ("execute_command",)
ARGUMENTS = ("command", "args", "timeout", "cwd")


class ToolHandler:
    """Takes calls of tools and gives their results; beyond the executor's limit they wait, in order.

    `command_timeout_ms` is for calls that name no timeout of their own.
    """

    __slots__ = ("_executor", "command_timeout_ms")

    def __init__(self, executor: "CommandExecutor", *, command_timeout_ms: float | None = TIMEOUT_MS) -> None:
        self._executor = executor
        self.command_timeout_ms = milliseconds("command_timeout_ms", command_timeout_ms) or TIMEOUT_MS

    def handle(
        self,
        tool: str,
        args: "Mapping[str, object]",
        cancelled: "Cancel | None" = None,
        within: float | None = None,
    ) -> "CommandExecutionResult":
        """Call a tool and wait for its result; raise ToolTypeError if there is none of this name.

        See `CommandExecutor.execute_command` for `cancelled` and `within`.
        """
        asked = self._request(tool, args)
        return self._executor.execute_command(**asked, cancelled=cancelled, within=within)

    async def handle_async(self, tool: str, args: "Mapping[str, object]") -> "CommandExecutionResult":
        """Call a tool as `handle` does, and await its result."""
        return await self._executor.execute_command_async(**self._request(tool, args))

    def execute_command(self, args: "Mapping[str, object]") -> "CommandExecutionResult":
        """Call the tool `execute_command`."""
        return self.handle("execute_command", args)

    def _request(self, tool: str, args: "Mapping[str, object]") -> "dict[str, Any]":
        """Turn a call into the executor's own arguments."""
        if tool not in TOOLS:
            known = ", ".join(TOOLS)
            raise ToolTypeError(f"Unknown tool: {tool!r}; there is {known}", TOOL_NOT_FOUND, {"tool": tool})
        if not hasattr(args, "keys") or not set(args) <= set(ARGUMENTS) or "command" not in args:
            names = ", ".join(ARGUMENTS)
            raise InvalidArgument(f"{tool} takes an object with command, and may have {names}; got {args!r}")
        asked: dict[str, Any] = dict(args)
        asked["timeout"] = asked.get("timeout") or self.command_timeout_ms
        return {**asked, "on_limit": "queue"}
