"""The toolset `oneshot`: the tools of one workspace, each call a command that runs to its end."""

import json
from typing import TYPE_CHECKING, Any

from agent_exec.apps.cli.usage import here
from agent_exec.apps.mcp.toolset import Result
from agent_exec.engine.engine import close_shared
from agent_exec.faces.oneshot.definitions import annotations
from agent_exec.faces.oneshot.kit import ToolCatalog, create_agent_toolkit

if TYPE_CHECKING:
    from agent_exec.apps.mcp.toolset import Cancelled, Settings

_TEXT = {"type": "string"}
_DATA: dict[str, dict[str, Any]] = {
    "exec_command": {
        "type": "object",
        "properties": {
            "cwd": _TEXT,
            "command": {"type": "array", "items": _TEXT},
            "exit_code": {"type": "integer", "description": "124 if the time was over."},
            "stdout": _TEXT,
            "stderr": _TEXT,
            "stdout_truncated": {"type": "boolean"},
            "stderr_truncated": {"type": "boolean"},
            "timed_out": {"type": "boolean"},
            "duration_ms": {"type": "integer"},
            "sandbox": {"type": "object", "description": "What it was kept from, if it was confined."},
        },
    },
    "git_status_summary": {
        "type": "object",
        "properties": {"repository_root": _TEXT, "branch": {"type": ["string", "null"]}, "raw": _TEXT},
    },
}


class Oneshot:
    """The tools of the contract `oneshot`, all of them allowed."""

    name = "oneshot"

    def __init__(self, settings: "Settings") -> None:
        profile = settings.sandbox
        self._reads_only = profile is not None and profile.name == "read-only"
        self._kit = create_agent_toolkit(
            settings.workspace or here(),
            {"tools": dict.fromkeys(ToolCatalog, "allow")},
            "read-only" if self._reads_only else "workspace-write",
            rules=settings.rules,
            approval_policy=settings.approval,
            sandbox=profile,
            own=settings.own,
        )
        self._open_world = profile is None or profile.name == "full-access" or profile.net != "off"
        confined = "not confined" if profile is None else f"confined by the sandbox profile {profile.name}"
        self.instructions = (
            f"Runs commands in the workspace {self._kit.workspace_root}, each to its end; "
            f"they are {confined}. A command that fails is no error: see exit_code."
        )

    def definitions(self) -> list[dict[str, Any]]:
        """Give what the contract tells models, with what the protocol adds."""
        return [
            {
                **tool,
                "parameters": {**tool["parameters"], "additionalProperties": False},
                "output_schema": _output(tool["name"]),
                "annotations": annotations(
                    tool["name"], reads_only=self._reads_only, open_world=self._open_world
                ),
            }
            for tool in self._kit.allowed_tools()
        ]

    def call(self, name: str, arguments: dict[str, Any], cancelled: "Cancelled") -> Result:
        """Run it to its end, which comes soon if it is cancelled."""
        answer = self._kit.invoke(name, arguments, cancelled)
        return Result(json.dumps(answer, ensure_ascii=False), answer, answer["status"] != "success")

    def close(self) -> None:
        """End all that runs, and wait until it is gone."""
        self._kit.close()
        close_shared()


def _output(name: str) -> dict[str, Any]:
    """Give the schema of an answer, a refusal as well."""
    return {
        "type": "object",
        "properties": {
            "status": {"enum": ["success", "denied", "failure"]},
            "data": _DATA.get(name, {}),
            "reason": {"enum": ["policy", "sandbox", "runtime"]},
            "message": {"type": "string"},
            "error": {"type": "object"},
        },
        "required": ["status"],
    }
