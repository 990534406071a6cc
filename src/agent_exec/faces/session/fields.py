"""The fields of a call, read by their kinds; what is wrong with one is told by its name."""

from agent_exec.faces.session.failures import misread
from agent_exec.model.limits import LONGEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_exec.faces.session.failures import ToolFailure

LONGEST_MS = int(LONGEST * 1000)


class Given:
    """The fields of a call; each is asked for by its kind. An absent one and null are the same."""

    def __init__(self, arguments: object, known: tuple[str, ...]) -> None:
        fields = _loaded(arguments) if isinstance(arguments, str | bytes) else arguments
        if fields is None:
            fields = {}
        if not isinstance(fields, dict):
            raise misread(f"expected an object with named fields; got {shown(fields)}")
        for name in fields:
            if name not in known:
                names = ", ".join(f"`{one}`" for one in known) or "none"
                raise misread(f"unknown field {shown(name)}; there are {names}", field=name)
        self._fields: Mapping[str, object] = fields

    def text(self, name: str, *, required: bool = False) -> str | None:
        """Give a text that can be written as bytes; an empty one is absent, unless it is required."""
        value = self.get(name, required)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.wrong(name, "a string", value)
        if not value.isascii():
            try:
                value.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError as error:
                raise misread(
                    f"`{name}` has half of a surrogate pair at character {error.start}", field=name
                ) from None
        return value if value or required else None

    def line(self, name: str, *, required: bool = False) -> str | None:
        """Give a text that a system call can carry."""
        value = self.text(name, required=required)
        if value and "\0" in value:
            raise misread(f"`{name}` must not contain a NUL character", field=name)
        return value

    def choice(self, name: str, choices: tuple[str, ...]) -> str | None:
        """Give one of some words."""
        value = self._fields.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or value not in choices:
            raise self.wrong(name, f"one of {', '.join(choices)}", value)
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """Give a yes or a no."""
        value = self._fields.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(name, "a boolean", value)
        return value

    def whole(self, name: str, default: int | None = None, least: int = 0, most: int | None = None) -> int:
        """Give a whole number; a float that is whole is one. Without a default it is required."""
        value = self._fields.get(name)
        if value is None:
            if default is not None:
                return default
            raise self.missing(name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= (most or value):
            bounds = f", {least} or more" if most is None else f" from {least} to {most}"
            raise self.wrong(name, f"a whole number{bounds}", value)
        return value

    def seconds(self, name: str) -> float | None:
        """Give a time that is told in milliseconds."""
        if self.get(name) is None:
            return None
        return self.whole(name, None, 1, LONGEST_MS) / 1000

    def words(self, name: str) -> tuple[str, ...] | None:
        """Give some texts; none at all is absent."""
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
            raise self.wrong(name, "an array of strings", value)
        return tuple(value) or None

    def wrong(self, name: str, expected: str, value: object) -> "ToolFailure":
        """Say what a value should have been."""
        return misread(f"`{name}` must be {expected}; got {shown(value)}", field=name)

    def get(self, name: str, required: bool = False) -> object:
        """Give a value of any kind; None if it is absent."""
        value = self._fields.get(name)
        if required and value is None:
            raise self.missing(name)
        return value

    def missing(self, name: str) -> "ToolFailure":
        """Say that a field is not there."""
        return misread(f"missing field `{name}`", field=name)


def _loaded(text: str | bytes) -> object:
    """Give the value of a JSON text; nothing at all is no arguments."""
    from agent_exec.model.jsonline import load

    try:
        written = text.decode() if isinstance(text, bytes) else text
        return load(written.strip()) if written.strip() else {}
    except (ValueError, RecursionError) as error:
        raise misread(f"expected an object of JSON; {error}") from None


def shown(value: object) -> str:
    """Show what was given, but not all of what is long."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value) if abs(value) < 1 << 64 else "a number of very many digits"
    if isinstance(value, float | str):
        text = repr(value)
        return text if len(text) <= 82 else f"{text[:78]}...{text[0]}"
    name = type(value).__name__
    return {"dict": "an object", "list": "an array"}.get(name, f"a value of type {name}")
