"""What a model is told about the tools of jobs; the same objects check what it asks for."""

import os

from agent_exec.faces import defaults
from agent_exec.faces.hints import hints
from agent_exec.jobs.record import STATES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

TOOLS = ("run", "status", "tail", "wait", "kill", "list")
UNTIL = 10
"""How long `run` watches if nothing is asked, in seconds."""

_RUN = """\
Starts a command as a durable job and watches it for a while. Answers when the command has ended, or after \
`until` seconds; the job goes on then, even without this server. No shell reads the command: for a shell \
line, give ["sh", "-c", LINE]."""


def definitions(
    *, longest: float, usual: float | None = None, reads_only: bool = False, open_world: bool = True
) -> "list[Schema]":
    """Give each tool: `name`, `description`, `annotations`, and `parameters` and `output_schema`.

    `longest` is how many seconds a call may wait, `usual` how many it does if
    it asks for none. `reads_only` says that no command can change anything,
    `open_world` that some may reach a network.
    """
    answers = _answers()
    acts = hints(reads=reads_only, destroys=not reads_only, opens=open_world)
    looks = hints(reads=True, repeats=True)
    ends = hints(destroys=True, repeats=True)
    told = {
        "run": (_RUN, _run(longest, usual), ("command",), acts),
        "status": ("Tells all about a job but its output.", {"job_id": _job()}, ("job_id",), looks),
        "tail": (
            "Shows the end of a job's output, or what came since a cursor.",
            _tail(),
            ("job_id",),
            looks,
        ),
        "wait": (
            "Waits for the end of a job, and shows the end of its output.",
            {"job_id": _job(), "until": _until(longest, usual, defaults.WAIT)},
            ("job_id",),
            looks,
        ),
        "kill": (
            "Ends a job with all its processes: politely, then by force.",
            {"job_id": _job()},
            ("job_id",),
            ends,
        ),
        "list": ("Lists jobs, the newest first.", _list(), (), looks),
    }
    return [
        {
            "name": name,
            "description": about,
            "parameters": parameters(fields, required),
            "output_schema": answers[name],
            "annotations": dict(hints),
        }
        for name, (about, fields, required, hints) in told.items()
    ]


def parameters(fields: "Schema", required: tuple[str, ...]) -> "Schema":
    """Give the schema of an object with these fields and no others."""
    return {
        "type": "object",
        "properties": fields,
        "required": list(required),
        "additionalProperties": False,
    }


def _run(longest: float, usual: float | None) -> "Schema":
    return {
        "command": {
            "type": "array",
            "items": {"type": "string", "minLength": 1},
            "minItems": 1,
            "description": 'The program and its arguments, such as ["make", "-j8"].',
        },
        "cwd": _text("Folder to run it in; by default the workspace."),
        "env": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "Variables to set, by name; only their names are kept.",
        },
        "timeout": _number("End the job after so many seconds (0: never, the default)."),
        "until": _until(longest, usual, UNTIL),
        "stdin": _text("Its input, as text; - is a dash."),
        "stdin_file": _text("A file of the workspace that is its input; not together with stdin."),
    }


def _tail() -> "Schema":
    return {
        "job_id": _job(),
        "lines": _number(
            f"At most so many lines of each stream ({defaults.TAIL_LINES}; since a cursor, and for 0: all)."
        ),
        "max_bytes": _number(f"At most so many bytes of each stream ({defaults.MAX_BYTES}).", 1),
        "cursor": _text("Only what came since the answer that had this cursor."),
    }


def _list() -> "Schema":
    return {
        "cwd": _text("Only jobs of this folder; by default those of the whole workspace."),
        "state": {"type": "string", "enum": list(STATES), "description": "Only jobs in this state."},
        "tag": _text("Only jobs with this tag; ns.* is ns and all below it."),
        "limit": _number(f"At most so many jobs ({defaults.LIST_LIMIT}; 0: all)."),
    }


def _until(longest: float, usual: float | None, default: float) -> "Schema":
    most = min(default if usual is None else usual, longest)
    return _number(
        f"Answer after so many seconds at the latest (default {most:g}, at most {longest:g}; more is cut)."
    )


def _job() -> "Schema":
    return _text("The id of the job, or the last 8 characters of it.") | {"minLength": 1}


def _text(description: str) -> "Schema":
    return {"type": "string", "description": description}


def _number(description: str, least: int = 0) -> "Schema":
    return {"type": "integer", "minimum": least, "description": description}


def _answers() -> "dict[str, Schema]":
    """Give the schema of each answer, a refusal as well, as that of the program has it."""
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
    """Give what is said about a field without what it refers to: description and type, and those below it."""
    while "$ref" in value:
        value = known[value["$ref"].rpartition("/")[2]]
    told: Schema = {name: value[name] for name in ("description", "type", "enum", "const") if name in value}
    if isinstance(value.get("items"), dict):
        told["items"] = _plain(value["items"], known)
    if told.get("type") == "object" and "required" in value:
        told["required"] = value["required"]
    return told
