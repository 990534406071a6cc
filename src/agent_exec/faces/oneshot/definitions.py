"""The definitions of the tools; the texts are the contract's own."""

from agent_exec.tools.define import command_hints, hints, integer, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.sandbox.profile import Profile

    Definition = dict[str, Any]

SHELL_MODE = "default"
TIMEOUT_MS = 30_000
MAX_OUTPUT_CHARS = 200_000
LONGEST_TIMEOUT_MS = 120_000
LEAST_OUTPUT_CHARS = 1_000
MOST_OUTPUT_CHARS = 1_000_000

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
                    "default": SHELL_MODE,
                    "description": "Use default to apply OS shell wrapper automatically (default: default).",
                },
                "stdin": {
                    "type": "string",
                    "description": "UTF-8 stdin text.",
                },
                "timeout_ms": {
                    "type": "number",
                    "default": TIMEOUT_MS,
                    "description": "Execution timeout in milliseconds (default: 30000).",
                },
                "max_output_chars": {
                    "type": "number",
                    "default": MAX_OUTPUT_CHARS,
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
"""The definition of each tool that every kit has, by name."""


BOUNDS: "dict[str, Definition]" = {
    "command": {"minItems": 1},
    "stdin": {"type": ["string", "null"]},
    "timeout_ms": {"type": "integer", "minimum": 1, "maximum": LONGEST_TIMEOUT_MS},
    "max_output_chars": {"type": "integer", "minimum": LEAST_OUTPUT_CHARS, "maximum": MOST_OUTPUT_CHARS},
}
"""What the contract demands of the arguments of exec_command beyond what its definition tells models."""


_TEXT = {"type": "string"}
_DATA = {
    "exec_command": record(
        {
            "cwd": _TEXT,
            "command": {"type": "array", "items": _TEXT},
            "exit_code": integer("124 if the time was over."),
            "stdout": _TEXT,
            "stderr": _TEXT,
            "stdout_truncated": {"type": "boolean"},
            "stderr_truncated": {"type": "boolean"},
            "timed_out": {"type": "boolean"},
            "duration_ms": {"type": "integer"},
            "sandbox": {"type": "object", "description": "What it was kept from, if it was confined."},
            "notes": {
                "type": "array",
                "items": {"type": "string"},
                "description": "What else is known of its end.",
            },
        }
    ),
    "git_status_summary": record(
        {"repository_root": _TEXT, "branch": {"type": ["string", "null"]}, "raw": _TEXT}
    ),
}


def served(definition: "Definition", sandbox: "Profile | None") -> "Definition":
    """Return a definition of the contract with what servers add: a schema of the answer, and hints.

    A refusal matches the schema too. `sandbox` confines the commands.
    """
    name = definition["name"]
    told = {
        "status": {"enum": ["success", "denied", "failure"]},
        "data": _DATA.get(name, {}),
        "reason": {"enum": ["policy", "sandbox", "runtime"]},
        "message": _TEXT,
        "error": {"type": "object"},
    }
    annotations = command_hints(sandbox) | ({"open_world_hint": False} if name == "apply_patch" else {})
    if name == "git_status_summary":
        annotations = hints(reads=True, repeats=True)
    return {
        **definition,
        "parameters": {**definition["parameters"], "additionalProperties": False},
        "output_schema": record(told, ("status",)),
        "annotations": annotations,
    }
