"""The tool `execute_command` as an agent calls it: by name, with one object of arguments."""

import os
from dataclasses import replace
from time import monotonic

from agent_exec.faces.executor.config import TIMEOUT_MS, milliseconds
from agent_exec.faces.executor.errors import (
    CONCURRENT_LIMIT_EXCEEDED,
    EXECUTION_FAILED,
    TOOL_NOT_FOUND,
    CommandExecutionError,
    ToolTypeError,
)
from agent_exec.faces.executor.lists import DEFAULT_LISTS, allowed
from agent_exec.model.errors import AgentExecError, InvalidState
from agent_exec.requests.folders import Workspace
from agent_exec.requests.variables import secret_values
from agent_exec.sandbox.report.report import said
from agent_exec.tools.codes import executor_code
from agent_exec.tools.define import command_hints, define, integer, record, string, strings
from agent_exec.tools.schema import check, present
from agent_exec.tools.tool import Result, answer_text, ending, seconds
from agent_exec.views.reader import mask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from agent_exec.faces.executor.executor import CommandExecutor
    from agent_exec.faces.executor.result import CommandExecutionResult
    from agent_exec.model.cancel import Cancel
    from agent_exec.policy.policy import Policy
    from agent_exec.sandbox.profile import Profile

TOOLS = ("execute_command",)
MARGIN = 1.0
"""Seconds that a call may take beyond the time of its command, which may wait for a slot."""
_ABOUT = "Run one of these programs to its end, without a shell: {}."

_RESULT = record(
    {
        "status": {"enum": ["success", "error", "timeout"]},
        "output": string("What it printed."),
        "error": string("What it printed on stderr, or why it was not run."),
        "exitCode": {"type": ["integer", "null"]},
        "code": string("Why not, if there is more to say than exitCode does."),
        "signal": {"type": "string"},
        "metadata": {
            "type": "object",
            "properties": {
                name: {"type": "integer"} for name in ("duration_ms", "output_size_bytes", "error_size_bytes")
            },
        },
    },
    ("status", "output", "error", "exitCode"),
)


def definition(
    *, longest_ms: float = TIMEOUT_MS, sandbox: "Profile | None" = None, policy: "Policy" = DEFAULT_LISTS
) -> "dict[str, Any]":
    """Return the tool: `name`, `description`, `annotations`, and `parameters` and `output_schema`.

    `longest_ms` is how long a command may run; `sandbox` confines it; `policy` are the lists.
    """
    fields = {
        "command": string("The program."),
        "args": strings("Its arguments."),
        "timeout": integer(f"Milliseconds to live (at most {longest_ms:.0f}).", 0),
        "cwd": string("Folder (default: the workspace)."),
    }
    about = _ABOUT.format(allowed(policy))
    return define("execute_command", about, fields, ("command",), _RESULT, command_hints(sandbox))


_SCHEMA = definition()["parameters"]
_SCHEMA["properties"]["timeout"] = {"type": "number", "minimum": 0}
_SCHEMA["properties"]["cwd"] = {}  # a caller in Python may have a path


class ToolHandler:
    """Takes calls of tools and returns their results; beyond the executor's limit they wait, in order.

    `command_timeout_ms` is for calls that name no timeout of their own. A server calls it as a toolset:
    `definitions`, `call`. No command of a server's call runs longer than that, nor outside of `roots`, if
    there are any, and its result shows no secret of the environment.
    """

    __slots__ = ("_executor", "_roots", "_tool", "command_timeout_ms")
    name = "executor"

    def __init__(
        self,
        executor: "CommandExecutor",
        *,
        command_timeout_ms: float | None = TIMEOUT_MS,
        roots: "Sequence[str]" = (),
    ) -> None:
        self._executor = executor
        self.command_timeout_ms = milliseconds("command_timeout_ms", command_timeout_ms) or TIMEOUT_MS
        self._roots = Workspace(*roots) if roots else None
        config = executor.config
        self._tool = definition(
            longest_ms=self.command_timeout_ms, sandbox=config.sandbox, policy=config.policy
        )

    @property
    def instructions(self) -> str:
        """The text about the tool for a model."""
        return (
            "execute_command runs one of the allowed programs to its end, at most "
            f"{self.command_timeout_ms / 1000:g} s; {self._executor.config.max_concurrent} run at once, "
            "and others wait."
        )

    def definitions(self) -> "list[dict[str, Any]]":
        """Return the definition of the tool."""
        return [self._tool]

    def call(self, name: str, arguments: "dict[str, Any]", call: "Cancel") -> "Result":
        """Call a tool for a server; a refusal is an answer too, which comes soon if the call is cancelled."""
        longest = self.command_timeout_ms
        within, began = longest / 1000 + MARGIN, monotonic()
        try:
            asked = check(name, self._tool["parameters"], present(self._tool["parameters"], arguments))
            if self._roots is not None:
                asked["cwd"] = self._roots.resolve(asked.get("cwd") or ".", "cwd")
            asked["timeout"] = min(asked.get("timeout") or longest, longest)
            done = _masked(self.handle(name, asked, call, within))
        except CommandExecutionError as error:
            return _refused(error.code or "", f"{error.message}{self._reason(error)}")
        except AgentExecError as error:
            if isinstance(error, InvalidState) and monotonic() - began >= within:
                return _refused(
                    CONCURRENT_LIMIT_EXCEEDED, "others run, and its turn did not come; try again later"
                )
            return _refused(executor_code(error), error.message)
        if done.code == EXECUTION_FAILED and done.signal is None:
            return Result(f"{done.code}: {done.error}", done.to_wire(), is_error=True)
        return Result(_text(done), done.to_wire())

    def close(self) -> None:
        """End all that runs, and wait until it is gone; harmless when repeated."""
        self._executor.close()

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
        given = dict(args) if hasattr(args, "items") else args
        asked = check(tool, _SCHEMA, present(_SCHEMA, given))
        asked["timeout"] = asked.get("timeout") or self.command_timeout_ms
        return {**asked, "on_limit": "queue"}

    def _reason(self, error: CommandExecutionError) -> str:
        """Return why a command is not allowed, and the next step."""
        details = error.details if isinstance(error.details, dict) else {}
        reason = details.get("reason") or details.get("error")
        programs = allowed(self._executor.config.policy)
        return f": {reason}; use a program that is on the list: {programs}" if reason else ""


def _masked(done: "CommandExecutionResult") -> "CommandExecutionResult":
    """Return a result in which each byte of a secret of the environment is `*`."""
    secrets = secret_values(os.environ)
    output, error = (
        mask(text.encode(), secrets).decode(errors="replace") for text in (done.output, done.error)
    )
    return replace(done, output=output, error=error)


def _text(done: "CommandExecutionResult") -> str:
    """Return a result as a model reads it."""
    status = "timed out" if done.status == "timeout" else ending(done.exit_code, done.signal)
    return answer_text(
        f"{status}, {seconds(done.metadata.duration_ms)}",
        done.output,
        done.error,
        notes=(done.denied, said(done.protected_changes)),
    )


def _refused(code: str, message: str) -> "Result":
    told = {"status": "error", "output": "", "error": message, "exitCode": None, "code": code}
    return Result(f"{code}: {message}", told, is_error=True)
