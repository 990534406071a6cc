"""The definition of the tool `execute_command`."""

from agent_exec.faces.executor.config import TIMEOUT_MS
from agent_exec.tools.define import define, integer, string, strings
from agent_exec.tools.hints import command_hints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.sandbox.profile import Profile

    Schema = dict[str, Any]

_ABOUT = """\
Runs an allowed program with its arguments, to its end; no shell reads them. One that is not on the list of \
allowed programs is refused."""


def definition(*, longest_ms: float = TIMEOUT_MS, sandbox: "Profile | None" = None) -> "Schema":
    """Return the tool: `name`, `description`, `annotations`, and `parameters` and `output_schema`.

    `longest_ms` is how long a command may run; `sandbox` confines it.
    """
    fields = {
        "command": string("The name of the program, such as git."),
        "args": strings('Its arguments, such as ["status", "--short"].'),
        "timeout": integer(
            f"End it after so many milliseconds (at most {longest_ms:.0f}, the default; more is lowered).", 0
        ),
        "cwd": string("Folder to run it in; by default the workspace."),
    }
    return define("execute_command", _ABOUT, fields, ("command",), _result(), command_hints(sandbox))


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
