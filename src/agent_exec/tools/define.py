"""The definition of a tool: JSON schemas of its fields, hints, and the forms of providers."""

from agent_exec.model.errors import InvalidArgument
from agent_exec.views.wanted import SYNTAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from agent_exec.sandbox.profile import Profile

    Schema = dict[str, Any]
    Definition = dict[str, Any]

_BOUNDS = ("default", "minLength", "minItems", "minimum", "maximum")
_OBVIOUS = frozenset(
    """
    args cmd columns command cwd env from idle_timeout_ms job_id justification limit lines login max_bytes
    max_output_chars max_output_tokens patch render rows session_id shell state stdin stdin_file tag
    timeout_ms workdir yield_time_ms
    """.split()
)
_RARE = {  # fields that are not listed, by tool; a call may have them nevertheless
    "exec_command": ("shell", "login", "idle_timeout_ms", "separate_streams", "rows", "columns", "view"),
    "run": ("stdin", "stdin_file", "view", "wait_for"),
    "wait": ("view", "wait_for"),
    "read_output": ("from", "max_bytes"),
    "list": ("cwd", "state", "tag"),
    "tail": ("max_bytes", "view"),
    "write_stdin": ("render", "view"),
}
_HINTS = {
    "title": "title",
    "read_only_hint": "readOnlyHint",
    "destructive_hint": "destructiveHint",
    "idempotent_hint": "idempotentHint",
    "open_world_hint": "openWorldHint",
}


def define(
    name: str,
    description: str,
    fields: "Schema",
    required: "Sequence[str]",
    output: "Schema",
    annotations: "dict[str, bool]",
) -> "Schema":
    """Return the definition of a tool that takes these fields and no others."""
    return {
        "name": name,
        "description": description,
        "parameters": {**record(fields, required), "additionalProperties": False},
        "output_schema": output,
        "annotations": annotations,
    }


def record(fields: "Schema", required: "Sequence[str]" = ()) -> "Schema":
    """Return the schema of an object."""
    return {"type": "object", "properties": fields, "required": list(required)}


def string(description: str) -> "Schema":
    """Return the schema of a text."""
    return {"type": "string", "description": description}


def view() -> "Schema":
    """Return the field for the part of an output that is shown."""
    return string(f"What to show: {SYNTAX}.")


def strings(description: str) -> "Schema":
    """Return the schema of an array of texts."""
    return {"type": "array", "items": {"type": "string"}, "description": description}


def choice(description: str, words: "Sequence[str]") -> "Schema":
    """Return the schema of one of some words."""
    return {"type": "string", "enum": list(words), "description": description}


def boolean(description: str) -> "Schema":
    """Return the schema of true or false."""
    return {"type": "boolean", "description": description}


def integer(description: str, least: int | None = None, most: int | None = None) -> "Schema":
    """Return the schema of a whole number within bounds."""
    bounds = {"minimum": least, "maximum": most}
    return {
        "type": "integer",
        "description": description,
        **{name: bound for name, bound in bounds.items() if bound is not None},
    }


def hints(
    *, reads: bool = False, destroys: bool = False, repeats: bool = False, opens: bool = False
) -> dict[str, bool]:
    """Return the hints of a tool, which a client may show before it allows a call; they protect nothing."""
    return {
        "read_only_hint": reads,
        "destructive_hint": destroys,
        "idempotent_hint": repeats,
        "open_world_hint": opens,
    }


def command_hints(sandbox: "Profile | None") -> dict[str, bool]:
    """Return the hints of a tool that runs commands in a sandbox, or in none."""
    reads = reads_only(sandbox)
    return hints(reads=reads, destroys=not reads, opens=open_world(sandbox))


def reads_only(sandbox: "Profile | None") -> bool:
    """True if no command can change anything."""
    return sandbox is not None and sandbox.name == "read-only"


def open_world(sandbox: "Profile | None") -> bool:
    """True if a command may reach a network."""
    return sandbox is None or sandbox.name == "full-access" or sandbox.net != "off"


def confined(sandbox: "Profile | None", *, escalates: bool = False) -> str:
    """Return what commands are kept from, for the instructions of a server."""
    if sandbox is None:
        return "they are not confined."
    if sandbox.name == "full-access":
        return "they are not confined: the sandbox profile is full-access."
    said = [f"they are confined by the sandbox profile {sandbox.name}."]
    if sandbox.name == "workspace-write" and sandbox.roots:
        said.append(f"They may write to {', '.join(sandbox.roots)}, but not to any .git.")
    else:
        said.append("They may write nothing but temporary files.")
    if isinstance(sandbox.net, str):
        said.append(f"The network is {sandbox.net}.")
    else:
        said.append(f"Of the network, they reach only {', '.join(sandbox.net)}.")
    if sandbox.network:
        said.append("A server that one command starts is reached by the next, at 127.0.0.1.")
    elif sandbox.network is not None:
        said.append("Each command has a loopback of its own: start a server and use it in one command.")
    if escalates:
        said.append("Where a tool takes sandbox_permissions, require_escalated asks the user to let it out.")
    return " ".join(said)


def listed(definition: "Definition") -> "Definition":
    """Return a definition as models need it, in few tokens; calls are validated by the whole schema.

    It has no schema of the answer, no bounds and no defaults, no descriptions of fields whose names
    say it, and no fields that are rarely used.
    """
    schema = definition["parameters"]
    rare = _RARE.get(definition["name"], ())
    fields = {name: _listed(name, field) for name, field in schema["properties"].items() if name not in rare}
    brief = {"type": "object", "properties": fields}
    if required := schema.get("required"):
        brief["required"] = required
    rest = {key: value for key, value in definition.items() if key != "output_schema"}
    return {**rest, "parameters": brief}


def _listed(name: str, field: "Schema") -> "Schema":
    if "anyOf" in field:  # one text or many: a list says both
        field = {**field["anyOf"][-1], "description": field["description"]}
    dropped = ("description", *_BOUNDS) if name in _OBVIOUS else _BOUNDS
    brief = {key: value for key, value in field.items() if key not in dropped}
    if "items" in brief:
        brief["items"] = _listed("", brief["items"])
    return brief


def export(definitions: "Iterable[Definition]", provider: str) -> "list[Definition]":
    """Return definitions in the form of a provider: "openai", "anthropic" or "mcp"; all copies."""
    form = PROVIDERS.get(provider) if isinstance(provider, str) else None
    if form is None:
        raise InvalidArgument(f"provider must be one of {', '.join(PROVIDERS)}; got {provider!r}")
    return [copied(form(definition)) for definition in definitions]


def for_mcp(definition: "Definition") -> "Definition":
    """Return a definition as a server of the Model Context Protocol lists it."""
    told: Definition = {**_head(definition), "inputSchema": definition["parameters"]}
    if "title" in definition:
        told["title"] = definition["title"]
    if "output_schema" in definition:
        told["outputSchema"] = definition["output_schema"]
    if "annotations" in definition:
        told["annotations"] = {_HINTS[name]: value for name, value in definition["annotations"].items()}
    return told


def copied(value: "Any") -> "Any":
    """Return a copy that shares nothing mutable."""
    if isinstance(value, dict):
        return {key: copied(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [copied(one) for one in value]
    return value


def _head(definition: "Definition") -> "Definition":
    return {"name": definition["name"], "description": definition["description"]}


PROVIDERS = {
    "openai": lambda one: {"type": "function", "function": {**_head(one), "parameters": one["parameters"]}},
    "anthropic": lambda one: {**_head(one), "input_schema": one["parameters"]},
    "mcp": for_mcp,
}
