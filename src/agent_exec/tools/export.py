"""The definition of a tool in the forms of providers: OpenAI, Anthropic, Model Context Protocol."""

from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Definition = dict[str, Any]

_HINTS = {
    "title": "title",
    "read_only_hint": "readOnlyHint",
    "destructive_hint": "destructiveHint",
    "idempotent_hint": "idempotentHint",
    "open_world_hint": "openWorldHint",
}


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
