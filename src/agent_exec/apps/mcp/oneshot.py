"""The toolset `oneshot`: the tools of one workspace, each call a command that runs to its end."""

import json
from typing import TYPE_CHECKING, Any

from agent_exec.apps.mcp.toolset import Result
from agent_exec.engine.engine import close_shared
from agent_exec.faces.oneshot.apply_patch import APPLY_PATCH
from agent_exec.faces.oneshot.definitions import annotations
from agent_exec.faces.oneshot.kit import ToolCatalog, create_agent_toolkit
from agent_exec.faces.oneshot.validate import LONGEST_TIMEOUT_MS, TIMEOUT_MS
from agent_exec.requests.folders import Workspace

if TYPE_CHECKING:
    from agent_exec.apps.mcp.call import Call
    from agent_exec.apps.mcp.toolset import Settings
    from agent_exec.faces.oneshot.kit import Toolkit
    from agent_exec.requests.gate import Gate

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
    """The tools of the contract `oneshot`, all of them allowed; a kit for each workspace."""

    name = "oneshot"

    def __init__(self, settings: "Settings") -> None:
        self._settings = settings
        self._longest = int(max(1.0, settings.max_wait) * 1000)
        gate = settings.gate()  # one for all workspaces: a yes for this session holds in each
        self._kits = [(Workspace(root), _kit(root, settings, gate)) for root in settings.roots]
        profile = settings.sandbox
        first, *others = (workspace.root for workspace, _ in self._kits)
        more = f" (or {', '.join(others)}, where cwd says so)" if others else ""
        confined = (
            "not confined"
            if profile.name == "full-access"
            else f"confined by the sandbox profile {profile.name}"
        )
        self.instructions = (
            f"Runs commands in the workspace {first}{more}, each to its end, for at most "
            f"{min(self._longest, LONGEST_TIMEOUT_MS) / 1000:g} s; they are {confined}. "
            "A command that fails is no error: see exit_code."
        )

    def definitions(self) -> list[dict[str, Any]]:
        """Give what the contract tells models, with what the protocol adds."""
        return [
            {
                **tool,
                "parameters": {**tool["parameters"], "additionalProperties": False},
                "output_schema": _output(tool["name"]),
                "annotations": annotations(
                    tool["name"],
                    reads_only=self._settings.reads_only,
                    open_world=self._settings.open_world,
                ),
            }
            for tool in self._kits[0][1].allowed_tools()
        ]

    def call(self, name: str, arguments: dict[str, Any], call: "Call") -> Result:
        """Run it to its end, which comes soon if it is cancelled."""
        answer = self._kit_of(arguments).invoke(name, self._within(name, arguments), call)
        return Result(json.dumps(answer, ensure_ascii=False), answer, answer["status"] != "success")

    def close(self) -> None:
        """End all that runs, and wait until it is gone."""
        for _, kit in self._kits:
            kit.close()
        close_shared()

    def _kit_of(self, arguments: dict[str, Any]) -> "Toolkit":
        """Give the kit of the workspace that a call is for: the first, unless its folder is in another."""
        cwd = arguments.get("cwd")
        if len(self._kits) > 1 and isinstance(cwd, str) and "\0" not in cwd:
            real = self._kits[0][0].real(cwd)
            for workspace, kit in self._kits:
                if workspace.holds(real):
                    return kit
        return self._kits[0][1]

    def _within(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Give the arguments, with no more time than a call may take."""
        if name != "exec_command":
            return arguments
        asked = arguments.get("timeout_ms", TIMEOUT_MS)
        if isinstance(asked, int) and self._longest < asked <= LONGEST_TIMEOUT_MS:
            return {**arguments, "timeout_ms": self._longest}
        return arguments


def _kit(root: str, settings: "Settings", gate: "Gate") -> "Toolkit":
    return create_agent_toolkit(
        root,
        {"tools": dict.fromkeys((*ToolCatalog, APPLY_PATCH.name), "allow")},
        "read-only" if settings.reads_only else "workspace-write",
        gate=gate,
        sandbox=settings.sandbox,
        tools=[APPLY_PATCH],
        own=settings.own,
        hidden=settings.hidden,
    )


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
