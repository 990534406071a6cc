"""How the fields of a profile are written: each function gives the one spelling, or says what is allowed."""

from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")


def one_of(field: str, value: object, allowed: "Sequence[str]") -> str:
    """Give one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise InvalidArgument(f"{field} must be one of {', '.join(allowed)}; got {value!r}", field=field)
    return value


def number(
    field: str, value: object, low: int, high: int, *, whole: bool = True, none: bool = True
) -> int | float | None:
    """Give a number within bounds, or None for no limit."""
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
    """Give a list of paths as it is: one path alone is no list of its characters."""
    if not isinstance(value, list | tuple):
        raise InvalidArgument(f"{field} must be a list of paths; got {value!r}", field=field)
    return value


def folder(field: str, value: object, *, relative: bool = False) -> str:
    """Give a path without doubled or trailing slashes; its characters mean themselves.

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
    """Give names of environment variables; their order means nothing."""
    if not isinstance(value, list | tuple):
        raise InvalidArgument(f"{field} must be a list of names of variables; got {value!r}", field=field)
    for name in value:
        if not isinstance(name, str) or not name.isascii() or not name or set(name) & {"=", "\0"}:
            raise InvalidArgument(
                f"{field} must be names of variables, without '=' and values; got {name!r}", field=field
            )
    return tuple(sorted(set(value)))


def host(field: str, value: object) -> str:
    """Give HOST or HOST:PORT as it is compared and dialled: small letters, no dot at the end.

    A name may begin with `*.` for every name below it. An address is four
    decimal numbers, or in brackets; other spellings of one are refused, as
    programs do not agree about what they mean.
    """
    shape = f"{field} must be hosts such as example.org, *.example.org, 192.0.2.1:443 or [2001:db8::1]:443"
    if not isinstance(value, str):
        raise InvalidArgument(f"{shape}; got {value!r}", field=field)
    name, port = value, ""
    if not value.startswith("[") or "]:" in value:
        left, colon, right = value.rpartition(":")
        if colon:
            name, port = left, right
            if not (port.isascii() and port.isdecimal() and 1 <= len(port) <= 5 and 0 < int(port) < 65536):
                raise InvalidArgument(f"{shape}; got {value!r}, of which {port!r} is no port", field=field)
            port = f":{int(port)}"
    name = name.lower().removesuffix(".")
    if name.startswith("["):
        return _sixth(name, value, shape, field) + port
    labels = name.removeprefix("*.").split(".")
    if len(name) > 253 or any(
        not 1 <= len(label) <= 63 or set(label) - _LETTERS or label[0] == "-" or label[-1] == "-"
        for label in labels
    ):
        raise InvalidArgument(f"{shape}; got {value!r}", field=field)
    if labels[-1].isdecimal() or labels[-1].startswith("0x"):
        plain = len(labels) == 4 and all(
            label.isdecimal() and str(int(label)) == label and int(label) < 256 for label in labels
        )
        if not plain or name.startswith("*"):
            raise InvalidArgument(f"{shape}; got {value!r}, which is no plain address", field=field)
    return name + port


def _sixth(name: str, value: str, shape: str, field: str) -> str:
    """Give an IPv6 address in brackets, in its one short spelling."""
    import socket

    try:
        if not name.endswith("]"):
            raise OSError
        packed = socket.inet_pton(socket.AF_INET6, name[1:-1])
    except OSError:
        raise InvalidArgument(f"{shape}; got {value!r}, which is no address", field=field) from None
    return f"[{socket.inet_ntop(socket.AF_INET6, packed)}]"
