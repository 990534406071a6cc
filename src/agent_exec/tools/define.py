"""The definition of a tool, and the JSON schemas of its fields."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    Schema = dict[str, Any]


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
