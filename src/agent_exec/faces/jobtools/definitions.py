"""The definitions of the tools of jobs; their schemas validate the calls."""

import os

from agent_exec.faces import defaults
from agent_exec.jobs.record import STATES
from agent_exec.requests.shells import find
from agent_exec.tools.define import choice, command_hints, define, hints, integer, string, view
from agent_exec.tools.tool import PATIENCE
from agent_exec.views.wanted import USEFUL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.sandbox.profile import Profile

    Schema = dict[str, Any]

TOOLS = ("run", "status", "tail", "wait", "kill", "list")
UNTIL = 10
"""How long `run` waits for a client that shows progress, in seconds."""
NEW = "new"
"""The cursor that means the last answer."""

_ABOUT = {
    "run": "Run a background job (build, test, server) that outlives this server; go on with wait, tail, "
    'kill. A shell line is ["SHELL", "-c", LINE]. wait_for="listen" answers once it listens.',
    "status": "Show all about a background job of run but its output.",
    "tail": "Show the end of the log of a background job of run, or what is new in it.",
    "wait": "Wait for the end of a background job of run, and show the end of its log.",
    "kill": "End a background job of run with all its processes.",
    "list": "List the background jobs of run, the newest first, to find one again.",
}


def _wait_for() -> "Schema":
    """Return the field for conditions: one text, or many."""
    text = {"type": "string"}
    said = "Answer once one holds: listen[:PORT], http=URL[,STATUS], match=REGEX, file=PATH, idle=TIME."
    return {"anyOf": [{"type": "array", "items": text}, text], "description": said}


_RUN_FIELDS: "Schema" = {
    "command": {
        "type": "array",
        "items": {"type": "string", "minLength": 1},
        "minItems": 1,
        "description": "Program and arguments.",
    },
    "cwd": string("Folder (default: the workspace)."),
    "env": {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "Variables to set.",
    },
    "timeout": integer("Seconds to live.", 0),
    "until": {},  # depends on the server
    "wait_for": _wait_for(),
    "after": string("Start after JOB[:any|ready]."),
    "restart": string("on-failure, always, or N retries."),
    "stdin": string("Its input."),
    "stdin_file": string("Or a file of input."),
    "view": view(),
}
_TAIL_FIELDS: "Schema" = {
    "lines": integer(f"Most lines ({defaults.TAIL_LINES}; 0: all).", 0),
    "max_bytes": integer(f"Most bytes ({defaults.MAX_BYTES}).", 1),
    "view": string(USEFUL),
    "cursor": string(f'Only what came since; "{NEW}": since the last answer.'),
}
_LIST_FIELDS: "Schema" = {
    "cwd": string("Only of this folder."),
    "state": choice("Only in this state.", STATES),
    "tag": string("Only with this tag."),
    "limit": integer(f"Most jobs ({defaults.LIST_LIMIT}; 0: all).", 0),
}


def definitions(
    *, longest: float, usual: float | None = None, sandbox: "Profile | None" = None
) -> "list[Schema]":
    """Return each tool: `name`, `description`, `annotations`, and `parameters` and `output_schema`.

    `longest` is how many seconds a call may wait, `usual` how many it waits
    by default. `sandbox` confines the commands.
    """
    answers = _answers()
    job = {"job_id": string("The job's ID.") | {"minLength": 1}}
    looks = hints(reads=True, repeats=True)
    default = min(PATIENCE if usual is None else usual, longest)
    until = {"until": integer(f"Seconds to wait ({default:g}, most {longest:g}).", 0)}
    told = {
        "run": (_RUN_FIELDS | until, command_hints(sandbox)),
        "status": (job, looks),
        "tail": (job | _TAIL_FIELDS, looks),
        "wait": (job | until | {"wait_for": _wait_for()} | {"view": view()}, looks),
        "kill": (job, hints(destroys=True, repeats=True)),
        "list": (_LIST_FIELDS, looks),
    }
    about = _ABOUT | {"run": _ABOUT["run"].replace("SHELL", "bash" if find("bash") else "sh")}
    return [
        define(
            name, about[name], fields, [*{"command", "job_id"} & fields.keys()], answers[name], dict(hints)
        )
        for name, (fields, hints) in told.items()
    ]


def _answers() -> "dict[str, Schema]":
    """Return the schema of each answer, made from that of the program; it covers refusals."""
    from agent_exec.model.jsonline import load

    file = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "verbs.schema.json")
    with open(file, encoding="utf-8") as text:
        known = load(text.read())["definitions"]
    refusal = known["error_answer"]["properties"]
    found: dict[str, Schema] = {}
    for name in TOOLS:
        fields = known[f"{name}_answer"]["properties"]
        told = {field: _plain(value, known) for field, value in {**refusal, **fields}.items()}
        told["ok"] = {"type": "boolean", "description": "Whether the request was done."}
        told["type"] = {"enum": [name, "error"]}
        found[name] = {
            "type": "object",
            "properties": told,
            "required": ["schema_version", "ok", "type"],
        }
    return found


def _plain(value: "Schema", known: "Schema") -> "Schema":
    """Return the description and type of a field, with references resolved."""
    while "$ref" in value:
        value = known[value["$ref"].rpartition("/")[2]]
    told: Schema = {name: value[name] for name in ("description", "type", "enum", "const") if name in value}
    if isinstance(value.get("items"), dict):
        told["items"] = _plain(value["items"], known)
    if told.get("type") == "object" and "required" in value:
        told["required"] = value["required"]
    return told
