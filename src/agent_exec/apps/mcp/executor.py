"""The toolset `executor`: allowed programs, a few at once, each run to its end."""

from time import monotonic
from typing import TYPE_CHECKING, Any

from agent_exec.faces.executor.config import CommandExecutorConfig
from agent_exec.faces.executor.definitions import definition
from agent_exec.faces.executor.errors import (
    CONCURRENT_LIMIT_EXCEEDED,
    EXECUTION_FAILED,
    CommandExecutionError,
)
from agent_exec.faces.executor.executor import CommandExecutor
from agent_exec.faces.executor.toolhandler import ToolHandler
from agent_exec.model.errors import AgentExecError, InvalidState
from agent_exec.requests.folders import Workspaces
from agent_exec.tools.codes import executor_code
from agent_exec.tools.schema import Wording, check
from agent_exec.tools.tool import json_result

if TYPE_CHECKING:
    from agent_exec.apps.mcp.toolset import Settings
    from agent_exec.tools.tool import Call, Result


_MARGIN = 1.0
"""Seconds that a call may take beyond the time of its command, which may wait for a slot."""


class Executor:
    """The one tool of the contract `executor`; a file of rules may refuse more than its lists do."""

    name = "executor"

    def __init__(self, settings: "Settings") -> None:
        self._longest = max(1.0, settings.max_wait) * 1000
        self._workspaces = Workspaces(settings.roots)
        self._executor = CommandExecutor(
            config=CommandExecutorConfig(
                timeout=self._longest, sandbox=settings.sandbox, own=settings.own, hidden=settings.hidden
            ),
            gate=settings.gate(),
        )
        self._handler = ToolHandler(self._executor, command_timeout_ms=self._longest)
        self._tool = definition(longest_ms=self._longest, sandbox=settings.sandbox)
        self.instructions = (
            f"execute_command runs one of the allowed programs to its end, at most {self._longest / 1000:g} "
            f"s; {self._executor.config.max_concurrent} run at once, and others wait."
        )

    def definitions(self) -> list[dict[str, Any]]:
        """Return its definition."""
        return [self._tool]

    def call(self, name: str, arguments: dict[str, Any], call: "Call") -> "Result":
        """Run it to its end, which comes soon if the call is cancelled."""
        within, began = self._longest / 1000 + _MARGIN, monotonic()
        try:
            asked = check(name, self._tool["parameters"], arguments, Wording())
            asked = {**asked, "cwd": self._workspaces.resolve(asked.get("cwd") or ".", "cwd")}
            asked["timeout"] = min(asked.get("timeout") or self._longest, self._longest)
            result = self._handler.handle(name, asked, call, within).to_wire()
        except CommandExecutionError as error:
            return _refused(error.code or "", f"{error.message}{_reason(error)}")
        except AgentExecError as error:
            if isinstance(error, InvalidState) and monotonic() - began >= within:
                return _refused(
                    CONCURRENT_LIMIT_EXCEEDED,
                    "others run, and its turn did not come; try again later",
                )
            return _refused(executor_code(error), error.message)
        never_ran = result.get("code") == EXECUTION_FAILED and "signal" not in result
        return json_result(result, is_error=never_ran)

    def close(self) -> None:
        """End all that runs, and wait until it is gone."""
        self._executor.close()


def _reason(error: CommandExecutionError) -> str:
    """Return why a command is not allowed, and the next step."""
    details = error.details if isinstance(error.details, dict) else {}
    reason = details.get("reason") or details.get("error")
    return f": {reason}; use a program that is on the list" if reason else ""


def _refused(code: str, message: str) -> "Result":
    told = {"status": "error", "output": "", "error": message, "exitCode": None, "code": code}
    return json_result(told, is_error=True)
