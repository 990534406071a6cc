"""A tool's schema validates the arguments of its calls; each contract words the errors in its own way."""

from agent_exec.model.errors import AgentExecError, InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence
    from typing import Any

    Schema = dict[str, Any]

FREE = ("chars", "input", "justification", "patch", "stdin")
"""Fields that may hold a NUL character: they are typed, read or shown, and never part of a system call."""


class Wording:
    """How a contract words what is wrong with a call; each method returns the error to raise."""

    string = "a text"
    strings = 'a list, such as ["ls", "-l"]'

    def not_an_object(self, tool: str, given: object) -> AgentExecError:
        """Return the error for arguments that are not an object."""
        return InvalidArgument(f"the arguments of {tool} must be an object; got {shown(given)}")

    def unknown(self, tool: str, names: "Sequence[object]", known: "Sequence[str]") -> AgentExecError:
        """Return the error for fields that the tool does not have."""
        return InvalidArgument(
            f"{tool} has no argument {', '.join(map(shown, names))}; it has {', '.join(known) or 'none'}"
        )

    def missing(self, tool: str, name: str, about: str) -> AgentExecError:
        """Return the error for a required field that is absent."""
        return InvalidArgument(f"{tool} needs the argument {name}: {about}")

    def wrong(self, tool: str, name: str, problem: str) -> AgentExecError:
        """Return the error for a value that does not match its schema."""
        return InvalidArgument(f"{tool}: {name} {problem}")


PLAIN = Wording()
_NUMBERS = ("integer", "number")
_TYPES: "dict[str, Any]" = {
    "string": str,
    "boolean": bool,
    "integer": (int, float),
    "number": (int, float),
    "array": (list, tuple),
    "object": dict,
    "null": type(None),
}


def check(
    tool: str, schema: "Schema", given: object, wording: Wording = PLAIN, free: "Container[str]" = FREE
) -> "dict[str, Any]":
    """Return the arguments of a call, in a new dict, if they match the tool's schema; raise otherwise.

    A whole float becomes an int, a tuple a list. Keywords of JSON Schema that
    the tools of this package do not use are ignored.
    """
    if not isinstance(given, dict):
        raise wording.not_an_object(tool, given)
    fields: Schema = schema["properties"]
    unknown = [name for name in given if name not in fields]
    if unknown:
        raise wording.unknown(tool, unknown, tuple(fields))
    for name in schema.get("required", ()):
        if name not in given:
            raise wording.missing(tool, name, fields.get(name, {}).get("description", ""))
    try:
        return {name: _fit(name, fields[name], value, name in free) for name, value in given.items()}
    except _Unfit as unfit:
        name, field, value = unfit.args
        expected = (
            field if isinstance(field, str) else f"must be {_expected(field, wording)}; got {shown(value)}"
        )
        raise wording.wrong(tool, name, expected) from None


def present(schema: "Schema", given: "Any", ignored: "Container[str]" = ()) -> "Any":
    """Return the arguments of a call without fields that are null, and without `ignored` ones.

    Strict modes of providers send every field, null for those that are absent.
    """
    if not isinstance(given, dict):
        return given
    return {
        name: value
        for name, value in given.items()
        if name not in schema["properties"] or (value is not None and name not in ignored)
    }


class _Unfit(Exception):
    """A value does not match: its name; its schema, or the problem as text; the value."""


def _fit(name: str, schema: "Schema", value: "Any", free: bool) -> "Any":
    """Return a value as its schema has it, with all that is in it; raise _Unfit if it does not match."""
    if not isinstance(schema, dict):  # JSON Schema has true for anything
        return value
    kinds = schema.get("type", "")
    for kind in (kinds,) if isinstance(kinds, str) else kinds:
        if isinstance(value, _TYPES.get(kind, object)) and (kind not in _NUMBERS or _is_number(kind, value)):
            break
    else:
        raise _Unfit(name, schema, value)
    if "enum" in schema and value not in schema["enum"]:
        raise _Unfit(name, schema, value)
    if kind == "string":
        return _text(name, schema, value, free)
    if kind in _NUMBERS:
        if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            raise _Unfit(name, schema, value)
        return int(value) if kind == "integer" else value
    if kind == "array":
        items = schema.get("items", {})
        texts = items != {"type": "string"} or all(isinstance(one, str) for one in value)
        if not texts or len(value) < schema.get("minItems", 0):
            raise _Unfit(name, schema, value)
        return [_fit(f"{name}[{place}]", items, one, free) for place, one in enumerate(value)]
    return _object(name, schema, value, free) if kind == "object" else value


def _is_number(kind: str, value: float) -> bool:
    return not isinstance(value, bool) and (kind == "number" or value % 1 == 0)


def _text(name: str, schema: "Schema", text: str, free: bool) -> str:
    if len(text) < schema.get("minLength", 0):
        raise _Unfit(name, schema, text)
    if "\0" in text and not free:
        raise _Unfit(name, "must not contain a NUL character", text)
    if not text.isascii():
        try:
            text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise _Unfit(name, f"has half of a surrogate pair at character {error.start}", text) from None
    return text


def _object(name: str, schema: "Schema", values: "dict[str, Any]", free: bool) -> "dict[str, Any]":
    fields, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for field in schema.get("required", ()):
        if field not in values:
            raise _Unfit(name, f"needs {field}", values)
    return {key: _fit(f"{name}.{key}", fields.get(key, others), one, free) for key, one in values.items()}


def _expected(schema: "Schema", wording: Wording) -> str:
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    kinds = schema["type"]
    kind = kinds if isinstance(kinds, str) else kinds[0]
    if kind in _NUMBERS:
        number = "a whole number" if kind == "integer" else "a number"
        least, most = schema.get("minimum"), schema.get("maximum")
        if least is None and most is None:
            return number
        return f"{number}, {least} or more" if most is None else f"{number} from {least} to {most}"
    if kind == "string":
        return f"{wording.string}{' that is not empty' if schema.get('minLength') else ''}"
    if kind == "array" and schema.get("items", {}).get("type") == "string":
        return wording.strings
    return {"boolean": "a boolean", "array": "an array", "object": "an object"}.get(kind, kind)


def shown(value: object) -> str:
    """Return a value as an error shows it: in the words of JSON, and the long ones cut."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value) if abs(value) < 1 << 64 else "a number of very many digits"
    if isinstance(value, float | str):
        text = repr(value)
        return text if len(text) <= 82 else f"{text[:78]}...{text[0]}"
    if value == []:
        return "[]"
    name = type(value).__name__
    return {"dict": "an object", "list": "an array"}.get(name, f"a value of type {name}")
