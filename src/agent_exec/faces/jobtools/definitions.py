"""The definitions of the tools of jobs; their schemas validate the calls."""

import os

from agent_exec.faces import defaults
from agent_exec.jobs.record import STATES
from agent_exec.tools.define import choice, command_hints, define, hints, integer, string

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.sandbox.profile import Profile

    Schema = dict[str, Any]

TOOLS = ("run", "status", "tail", "wait", "kill", "list")
UNTIL = 10
"""How long `run` waits by default, in seconds."""

_RUN = """\
Starts a command as a durable job and watches it for a while. Answers when the command has ended, or after \
`until` seconds; the job goes on then, even without this server. No shell reads the command: for a shell \
line, give ["sh", "-c", LINE]."""

_RUN_FIELDS: "Schema" = {
    "command": {
        "type": "array",
        "items": {"type": "string", "minLength": 1},
        "minItems": 1,
        "description": 'The program and its arguments, such as ["make", "-j8"].',
    },
    "cwd": string("Folder to run it in; by default the workspace."),
    "env": {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "Variables to set, by name; only their names are kept.",
    },
    "timeout": integer("End the job after so many seconds (0: never, the default).", 0),
    "until": {},  # depends on the server
    "stdin": string("Its input, as text; - is a dash."),
    "stdin_file": string("A file of the workspace that is its input; not together with stdin."),
}
_TAIL_FIELDS: "Schema" = {
    "lines": integer(
        f"At most so many lines of each stream ({defaults.TAIL_LINES}; since a cursor, and for 0: all).", 0
    ),
    "max_bytes": integer(f"At most so many bytes of each stream ({defaults.MAX_BYTES}).", 1),
    "cursor": string("Only what came since the answer that had this cursor."),
}
_LIST_FIELDS: "Schema" = {
    "cwd": string("Only jobs of this folder; by default those of the whole workspace."),
    "state": choice("Only jobs in this state.", STATES),
    "tag": string("Only jobs with this tag; ns.* is ns and all below it."),
    "limit": integer(f"At most so many jobs ({defaults.LIST_LIMIT}; 0: all).", 0),
}


def definitions(
    *, longest: float, usual: float | None = None, sandbox: "Profile | None" = None
) -> "list[Schema]":
    """Return each tool: `name`, `description`, `annotations`, and `parameters` and `output_schema`.

    `longest` is how many seconds a call may wait, `usual` how many it waits
    by default. `sandbox` confines the commands.
    """
    answers = _answers()
    job = {"job_id": string("The id of the job, or the last 8 characters of it.") | {"minLength": 1}}
    looks = hints(reads=True, repeats=True)

    def until(default: float) -> "Schema":
        most = min(default if usual is None else usual, longest)
        bounds = f"(default {most:g}, at most {longest:g}; more is cut)"
        return {"until": integer(f"Answer after so many seconds at the latest {bounds}.", 0)}

    told = {
        "run": (_RUN, _RUN_FIELDS | until(UNTIL), command_hints(sandbox)),
        "status": ("Tells all about a job but its output.", job, looks),
        "tail": ("Shows the end of a job's output, or what came since a cursor.", job | _TAIL_FIELDS, looks),
        "wait": (
            "Waits for the end of a job, and shows the end of its output.",
            job | until(defaults.WAIT),
            looks,
        ),
        "kill": (
            "Ends a job with all its processes: politely, then by force.",
            job,
            hints(destroys=True, repeats=True),
        ),
        "list": ("Lists jobs, the newest first.", _LIST_FIELDS, looks),
    }
    return [
        define(name, about, fields, [*{"command", "job_id"} & fields.keys()], answers[name], dict(hints))
        for name, (about, fields, hints) in told.items()
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
