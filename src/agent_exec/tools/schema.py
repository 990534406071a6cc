"""A tool's schema validates the arguments of its calls; each contract words the errors in its own way."""

from agent_exec.model.errors import AgentExecError, InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence
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


def check(
    tool: str, schema: "Schema", given: object, wording: Wording, free: "Container[str]" = FREE
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
    found = {}
    for name, value in given.items():
        try:
            found[name] = _Checker(wording, name in free).value(name, fields[name], value)
        except _Wrong as wrong:
            raise wording.wrong(tool, *wrong.args) from None
    return found


class _Wrong(Exception):
    """A value does not match its schema: its name, and the problem."""


class _Checker:
    """Checks one field of a call, with all that is in it."""

    __slots__ = ("_free", "_wording")

    def __init__(self, wording: Wording, free: bool) -> None:
        self._wording = wording
        self._free = free

    def value(self, name: str, schema: "Schema", value: object) -> "Any":
        """Return a value as its schema has it."""
        if not isinstance(schema, dict):  # JSON Schema has true for anything
            return value
        kinds = schema.get("type", ())
        known = (kinds,) if isinstance(kinds, str) else kinds
        kind = next((one for one in known if one not in _IS or _IS[one](value)), "")
        if (kinds and not kind) or ("enum" in schema and value not in schema["enum"]):
            raise self._unfit(name, schema, value)
        if kind in ("integer", "number"):
            if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
                raise self._unfit(name, schema, value)
            return int(value) if kind == "integer" else value  # type: ignore[call-overload]
        if isinstance(value, str) and kind == "string":
            return self._text(name, schema, value)
        if kind == "array":
            return self._array(name, schema, value)
        if kind == "object":
            return self._object(name, schema, value)
        return value

    def _text(self, name: str, schema: "Schema", text: str) -> str:
        if len(text) < schema.get("minLength", 0):
            raise self._unfit(name, schema, text)
        if "\0" in text and not self._free:
            raise _Wrong(name, "must not contain a NUL character")
        if not text.isascii():
            try:
                text.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError as error:
                raise _Wrong(name, f"has half of a surrogate pair at character {error.start}") from None
        return text

    def _array(self, name: str, schema: "Schema", values: "Any") -> "list[Any]":
        items = schema.get("items", {})
        plain = items == {"type": "string"} and not all(isinstance(one, str) for one in values)
        if plain or len(values) < schema.get("minItems", 0):
            raise self._unfit(name, schema, values)
        return [self.value(f"{name}[{place}]", items, one) for place, one in enumerate(values)]

    def _object(self, name: str, schema: "Schema", values: "Any") -> "dict[str, Any]":
        fields, others = schema.get("properties", {}), schema.get("additionalProperties")
        others = others if isinstance(others, dict) else {}
        for field in schema.get("required", ()):
            if field not in values:
                raise _Wrong(name, f"needs {field}")
        return {key: self.value(f"{name}.{key}", fields.get(key, others), one) for key, one in values.items()}

    def _unfit(self, name: str, schema: "Schema", value: object) -> _Wrong:
        return _Wrong(name, f"must be {self._expected(schema)}; got {shown(value)}")

    def _expected(self, schema: "Schema") -> str:
        if "enum" in schema:
            return f"one of {', '.join(map(str, schema['enum']))}"
        kinds = schema["type"]
        kind = kinds if isinstance(kinds, str) else kinds[0]
        if kind in ("integer", "number"):
            number = "a whole number" if kind == "integer" else "a number"
            least, most = schema.get("minimum"), schema.get("maximum")
            if least is None and most is None:
                return number
            return f"{number}, {least} or more" if most is None else f"{number} from {least} to {most}"
        if kind == "string":
            return f"{self._wording.string}{' that is not empty' if schema.get('minLength') else ''}"
        if kind == "array" and schema.get("items", {}).get("type") == "string":
            return self._wording.strings
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


def _whole(value: object) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, float) and value.is_integer()
    )


_IS: "dict[str, Callable[[object], bool]]" = {
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": _whole,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "array": lambda value: isinstance(value, list | tuple),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}
