"""The fields of a profile: each function returns the one spelling, or raises InvalidArgument."""

from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def one_of(field: str, value: object, allowed: "Sequence[str]") -> str:
    """Return one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise InvalidArgument(f"{field} must be one of {', '.join(allowed)}; got {value!r}", field=field)
    return value


def number(
    field: str, value: object, low: int, high: int, *, whole: bool = True, none: bool = True
) -> int | float | None:
    """Return a number within bounds, or None for no limit."""
    if value is None and none:
        return None
    kind = int if whole else int | float
    if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
        what = "a whole number" if whole else "a number"
        more = ", or null for no limit" if none else ""
        raise InvalidArgument(
            f"{field} must be {what} from {low} to {high}{more}; got {value!r}", field=field
        )
    return value if whole else float(value)


def paths(field: str, value: object) -> "Sequence[object]":
    """Return a list of paths unchanged: one path alone is not a list of its characters."""
    if not isinstance(value, list | tuple):
        raise InvalidArgument(f"{field} must be a list of paths; got {value!r}", field=field)
    return value


def folder(field: str, value: object, *, relative: bool = False) -> str:
    """Return a path without doubled or trailing slashes; its characters mean themselves.

    `..` is refused: what it leads to depends on links that may change.
    """
    path = value
    if not isinstance(path, str | bytes):
        make = getattr(type(path), "__fspath__", None)
        path = make(path) if make is not None else path
    if isinstance(path, bytes):
        path = path.decode("utf-8", "surrogateescape")
    if not isinstance(path, str) or not path:
        raise InvalidArgument(f"{field} must be paths; got {value!r}", field=field)
    if "\0" in path:
        raise InvalidArgument(f"{field} must not contain a NUL character; got {path!r}", field=field)
    try:
        path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InvalidArgument(
            f"{field} must be text that can be encoded; got {path!r}", field=field
        ) from None
    absolute = path.startswith("/")
    if not absolute and not relative:
        raise InvalidArgument(
            f"{field} must be absolute paths, whatever the working directory; got {path!r}", field=field
        )
    parts = [part for part in path.split("/") if part and part != "."]
    if ".." in parts:
        raise InvalidArgument(f"{field} must not contain '..'; write where {path!r} leads to", field=field)
    if not parts:
        raise InvalidArgument(f"{field} must not be {path!r}: name a folder or file below it", field=field)
    return ("/" if absolute else "") + "/".join(parts)


def names(field: str, value: object) -> tuple[str, ...]:
    """Return names of environment variables; their order means nothing."""
    if not isinstance(value, list | tuple):
        raise InvalidArgument(f"{field} must be a list of names of variables; got {value!r}", field=field)
    for name in value:
        if not isinstance(name, str) or not name.isascii() or not name or set(name) & {"=", "\0"}:
            raise InvalidArgument(
                f"{field} must be names of variables, without '=' and values; got {name!r}", field=field
            )
    return tuple(sorted(set(value)))


def host(field: str, value: object) -> str:
    """Return HOST or HOST:PORT as it is compared and dialled, in its one spelling."""
    from agent_exec.sandbox.hosts import BadName, read_rule

    try:
        return read_rule(value, plain=True).text
    except BadName as error:
        raise InvalidArgument(
            f"{field} must be hosts such as example.org, *.example.org, 192.0.2.1:443 or [2001:db8::1]:443; "
            f"got {value!r}: {error}",
            field=field,
        ) from None
