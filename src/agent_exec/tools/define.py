"""The definition of a tool: JSON schemas of its fields, hints, and the forms of providers."""

from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from agent_exec.sandbox.profile import Profile

    Schema = dict[str, Any]
    Definition = dict[str, Any]

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
