"""What a model is told about the tool `execute_command`."""

from agent_exec.faces.executor.config import TIMEOUT_MS
from agent_exec.faces.hints import hints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

_ABOUT = """\
Runs an allowed program with its arguments, to its end; no shell reads them. One that is not on the list of \
allowed programs is refused."""


def definition(
    *, longest_ms: float = TIMEOUT_MS, reads_only: bool = False, open_world: bool = True
) -> "Schema":
    """Give the tool: `name`, `description`, `annotations`, and `parameters` and `output_schema`.

    `longest_ms` is how long a command may run. `reads_only` says that none
    can change anything, `open_world` that some may reach a network.
    """
    return {
        "name": "execute_command",
        "description": _ABOUT,
        "parameters": {
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The name of the program, such as git."},
                "args": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": 'Its arguments, such as ["status", "--short"].',
                },
                "timeout": {
                    "type": "integer",
                    "minimum": 0,
                    "description": "End it after so many milliseconds "
                    f"(at most {longest_ms:.0f}, the default; more is lowered).",
                },
                "cwd": {"type": "string", "description": "Folder to run it in; by default the workspace."},
            },
            "required": ["command"],
            "additionalProperties": False,
        },
        "output_schema": _result(),
        "annotations": hints(reads=reads_only, destroys=not reads_only, opens=open_world),
    }


def _result() -> "Schema":
    text = {"type": "string"}
    count = {"type": "integer"}
    return {
        "type": "object",
        "properties": {
            "status": {"enum": ["success", "error", "timeout"]},
            "output": {"type": "string", "description": "What it printed."},
            "error": {"type": "string", "description": "What it printed on stderr, or why it was not run."},
            "exitCode": {"type": ["integer", "null"]},
            "code": {"type": "string", "description": "Why not, if there is more to say than exitCode does."},
            "signal": text,
            "metadata": {
                "type": "object",
                "properties": {
                    "duration_ms": count,
                    "output_size_bytes": count,
                    "error_size_bytes": count,
                },
            },
        },
        "required": ["status", "output", "error", "exitCode"],
    }
