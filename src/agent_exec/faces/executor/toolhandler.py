"""The tool `execute_command` as an agent calls it: by name, with one object of arguments."""

from agent_exec.faces.executor.config import TIMEOUT_MS, milliseconds
from agent_exec.faces.executor.definitions import definition
from agent_exec.faces.executor.errors import TOOL_NOT_FOUND, ToolTypeError
from agent_exec.tools.schema import Wording, check

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agent_exec.faces.executor.executor import CommandExecutor
    from agent_exec.faces.executor.result import CommandExecutionResult
    from agent_exec.model.cancel import Cancel

TOOLS = ("execute_command",)
_SCHEMA = definition()["parameters"]
_SCHEMA["properties"]["timeout"] = {"type": "number", "minimum": 0}
_SCHEMA["properties"]["cwd"] = {}  # a caller in Python may have a path


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
        if hasattr(args, "items"):
            args = {name: value for name, value in args.items() if value is not None}
        asked = check(tool, _SCHEMA, args, Wording())
        asked["timeout"] = asked.get("timeout") or self.command_timeout_ms
        return {**asked, "on_limit": "queue"}
