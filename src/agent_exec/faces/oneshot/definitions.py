"""What a model is told about each tool; the texts are the contract's own."""

from agent_exec.faces.hints import hints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Definition = dict[str, Any]

TOOL_DEFINITIONS: "dict[str, Definition]" = {
    "exec_command": {
        "name": "exec_command",
        "description": "Runs a command once in the workspace and returns stdout, stderr, and exit code.",
        "parameters": {
            "type": "object",
            "properties": {
                "cwd": {
                    "type": "string",
                    "description": "Working directory path in workspace.",
                },
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
                "stdin": {
                    "type": "string",
                    "description": "UTF-8 stdin text.",
                },
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
    },
    "git_status_summary": {
        "name": "git_status_summary",
        "description": "Returns the repository root, the branch, and the raw output of git status.",
        "parameters": {
            "type": "object",
            "properties": {
                "cwd": {
                    "type": "string",
                    "description": "Directory path in workspace (default: workspace root).",
                },
            },
            "required": [],
        },
    },
}


def annotations(name: str, *, reads_only: bool = False, open_world: bool = True) -> "dict[str, bool]":
    """Give what a client may want to know before it lets a tool be called; only hints, and never a wall.

    `reads_only` says that no command can change anything, `open_world` that
    some may reach a network. The contract's own definitions do without them.
    """
    reads = name == "git_status_summary" or reads_only
    opens = name not in ("git_status_summary", "apply_patch") and open_world
    return hints(reads=reads, destroys=not reads, repeats=name == "git_status_summary", opens=opens)


def for_openai(definition: "Definition") -> "Definition":
    """Give a definition as the OpenAI interface takes it."""
    return {"type": "function", "function": copied(definition)}


def for_anthropic(definition: "Definition") -> "Definition":
    """Give a definition as the Anthropic interface takes it."""
    return _with_schema(definition, "input_schema")


def for_mcp(definition: "Definition") -> "Definition":
    """Give a definition as a Model Context Protocol server lists it."""
    return _with_schema(definition, "inputSchema")


def copied(value: "Any") -> "Any":
    """Give a copy that shares nothing that could be changed."""
    if isinstance(value, dict):
        return {key: copied(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [copied(one) for one in value]
    return value


def _with_schema(definition: "Definition", name: str) -> "Definition":
    return {
        "name": definition["name"],
        "description": definition["description"],
        name: copied(definition["parameters"]),
    }


PROVIDERS = {"openai": for_openai, "anthropic": for_anthropic, "mcp": for_mcp}
