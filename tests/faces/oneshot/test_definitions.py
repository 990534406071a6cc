"""What models are told."""

import json
from pathlib import Path
from typing import Any

import pytest

from agent_exec.faces.oneshot.definitions import TOOL_DEFINITIONS
from agent_exec.faces.oneshot.kit import ToolCatalog, Toolkit, create_agent_toolkit
from agent_exec.model.errors import InvalidArgument

LITERAL = {
    "name": "exec_command",
    "description": "Runs a command once in the workspace and returns stdout, stderr, and exit code.",
    "parameters": {
        "type": "object",
        "properties": {
            "cwd": {"type": "string", "description": "Working directory path in workspace."},
            "command": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Only the target command tokens to run (e.g. bun run dev).",
            },
            "shell_mode": {
                "type": "string",
                "enum": ["default", "direct"],
                "default": "default",
                "description": "Use default to apply OS shell wrapper automatically (default: default).",
            },
            "stdin": {"type": "string", "description": "UTF-8 stdin text."},
            "timeout_ms": {
                "type": "number",
                "default": 30000,
                "description": "Execution timeout in milliseconds (default: 30000).",
            },
            "max_output_chars": {
                "type": "number",
                "default": 200000,
                "description": "Per-stream output char limit (default: 200000).",
            },
        },
        "required": ["cwd", "command"],
    },
}


def test_e34_the_definition_is_the_literal_of_the_contract() -> None:
    """E34: also in the order of its keys, and in what it does not have."""
    assert TOOL_DEFINITIONS["exec_command"] == LITERAL
    assert json.dumps(TOOL_DEFINITIONS["exec_command"]) == json.dumps(LITERAL)


def test_e61_it_is_in_the_catalogue_and_in_the_definitions() -> None:
    assert list(ToolCatalog) == list(TOOL_DEFINITIONS) == ["exec_command", "git_status_summary"]
    for name, tool in ToolCatalog.items():
        assert tool.name == name
        assert tool.definition == TOOL_DEFINITIONS[name]


def test_e24_e53_nothing_runs_in_the_background_and_nothing_patches(kit: Toolkit) -> None:
    """E24: services are another family of tools. E53: a patch is not a command."""
    for name in ("spawn_service", "list_services", "get_service_logs", "stop_service", "apply_patch"):
        assert name not in TOOL_DEFINITIONS
        assert not hasattr(kit, name)
        assert kit.invoke(name, {})["error"]["code"] == "TOOL_NOT_FOUND"


def test_only_what_is_allowed_is_offered_and_in_order(root: Path) -> None:
    def names(policy: dict[str, object]) -> list[str]:
        return [tool["name"] for tool in create_agent_toolkit(root, policy).allowed_tools()]

    assert names({"default_policy": "allow"}) == ["exec_command", "git_status_summary"]
    assert names({"tools": {"git_status_summary": "allow", "exec_command": "allow"}}) == list(
        TOOL_DEFINITIONS
    )
    assert names({"tools": {"exec_command": "allow", "unknown": "allow"}}) == ["exec_command"]
    assert names({"tools": {"exec_command": "deny"}, "default_policy": "allow"}) == ["git_status_summary"]
    assert names({}) == []
    assert create_agent_toolkit(root).allowed_tools() == []


def test_the_forms_of_the_providers(root: Path) -> None:
    kit = create_agent_toolkit(root, {"tools": {"exec_command": "allow"}})
    head = {"name": LITERAL["name"], "description": LITERAL["description"]}
    assert kit.allowed_tools() == [LITERAL]
    assert kit.tools_for("openai") == [{"type": "function", "function": LITERAL}]
    assert kit.tools_for("anthropic") == [{**head, "input_schema": LITERAL["parameters"]}]
    assert kit.tools_for("mcp") == [{**head, "inputSchema": LITERAL["parameters"]}]


@pytest.mark.parametrize("provider", ["OpenAI", "", None, 1, ["mcp"]])
def test_an_unknown_provider_is_the_programmers_mistake(kit: Toolkit, provider: Any) -> None:
    with pytest.raises(InvalidArgument, match="openai, anthropic, mcp"):
        kit.tools_for(provider)


def test_changing_an_answer_changes_no_internal_state(kit: Toolkit) -> None:
    before = json.dumps([kit.allowed_tools(), kit.tools_for("openai"), kit.tools_for("mcp")])
    kit.allowed_tools()[0]["parameters"]["properties"].clear()
    kit.tools_for("openai")[0]["function"]["parameters"]["required"].append("x")
    kit.tools_for("anthropic")[0]["input_schema"]["properties"]["cwd"]["type"] = "number"
    kit.tools_for("mcp")[0]["inputSchema"]["properties"].clear()
    assert json.dumps([kit.allowed_tools(), kit.tools_for("openai"), kit.tools_for("mcp")]) == before
    assert TOOL_DEFINITIONS["exec_command"] == LITERAL
