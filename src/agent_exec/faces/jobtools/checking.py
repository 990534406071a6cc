"""Whether what a model asks for is as a tool's definition says; what is not is refused by its name."""

from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]

_LONGEST = 200


def check(tool: str, schema: "Schema", given: object) -> "dict[str, Any]":
    """Give the arguments of a call: none unknown, none missing, each of its type and within its bounds."""
    fields: Schema = schema["properties"]
    if not isinstance(given, dict):
        raise InvalidArgument(f"the arguments of {tool} must be an object; got {_shown(given)}")
    for name in given:
        if name not in fields:
            known = ", ".join(fields) or "no arguments"
            raise InvalidArgument(f"{tool} has no argument {name!r}; it has {known}")
    for name in schema["required"]:
        if name not in given:
            raise InvalidArgument(f"{tool} needs the argument {name}: {fields[name]['description']}")
    for name, value in given.items():
        _check(f"{tool}: {name}", fields[name], value)
    return given


def _check(name: str, schema: "Schema", value: object) -> None:
    kind = schema["type"]
    if kind == "integer":
        least = schema.get("minimum", 0)
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not whole or not least <= value <= 2**53:  # type: ignore[operator]
            raise InvalidArgument(f"{name} must be a whole number, {least} or more; got {_shown(value)}")
    elif kind == "string":
        if not isinstance(value, str) or len(value) < schema.get("minLength", 0):
            filled = " that is not empty" if schema.get("minLength") else ""
            raise InvalidArgument(f"{name} must be a text{filled}; got {_shown(value)}")
        if "\0" in value and "stdin" not in name:
            raise InvalidArgument(f"{name} must not hold a NUL character")
        if "enum" in schema and value not in schema["enum"]:
            raise InvalidArgument(f"{name} must be one of {', '.join(schema['enum'])}; got {_shown(value)}")
    elif kind == "array":
        if not isinstance(value, list) or len(value) < schema.get("minItems", 0):
            raise InvalidArgument(f'{name} must be a list, such as ["ls", "-l"]; got {_shown(value)}')
        for place, one in enumerate(value):
            _check(f"{name}[{place}]", schema["items"], one)
    elif kind == "object":
        if not isinstance(value, dict):
            raise InvalidArgument(f"{name} must be an object of names and texts; got {_shown(value)}")
        for key, one in value.items():
            _check(f"{name}.{key}", schema["additionalProperties"], one)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
