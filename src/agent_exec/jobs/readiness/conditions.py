"""Parses the conditions that a caller may wait for: `listen:3000`, `http=URL`, `match=REGEX` and others."""

import os

from agent_exec.model.command import seconds
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SYNTAX = (
    "listen, listen:PORT, http=URL[,STATUS], match=REGEX, file=PATH, exec=COMMAND, idle=TIME, exit, ready "
    "or healthy"
)
_PLAIN = ("listen", "exit", "ready", "healthy")
_LOCAL = ("127.0.0.1", "::1")
_MOST = 20


class Condition(Value):
    """One condition: its kind, the text that it was parsed from, and what it is about.

    `target` is a path, a pattern, a shell line or the path of a URL; `hosts`
    are the addresses to try for a URL, at `port` (0: one that the job listens
    on), `status` the one to expect (0: any of 2xx and 3xx), `seconds` a time.
    """

    kind: str
    text: str
    target: str = ""
    port: int = 0
    hosts: tuple[str, ...] = ()
    name: str = ""
    status: int = 0
    seconds: float = 0.0


def parse_all(texts: "Sequence[str]", cwd: str) -> tuple[Condition, ...]:
    """Return the conditions that texts name; relative paths are below `cwd`. Raise InvalidArgument."""
    if len(texts) > _MOST:
        raise InvalidArgument(f"at most {_MOST} conditions can be waited for; got {len(texts)}")
    return tuple(parse(text, cwd) for text in texts)


def parse(text: str, cwd: str) -> Condition:
    """Return the condition that a text names; raise InvalidArgument for any other text."""
    if text in _PLAIN:
        return Condition(text, text)
    if text.startswith(("listen:", "port:")):  # the second is what sessions call it
        return _listen(text, cwd)
    kind, equals, value = text.partition("=")
    if equals and value and "\0" not in value:
        if kind == "http":
            return _http(text, value)
        if kind == "match":
            from agent_exec.model.patterns import compiled

            compiled(value)
            return Condition(kind, text, value)
        if kind == "file":
            return Condition(kind, text, os.path.join(cwd, value))
        if kind == "exec":
            return Condition(kind, text, value)
        if kind == "idle":
            return Condition(kind, text, seconds=seconds(value, bare="s"))
    raise InvalidArgument(f"invalid condition {text!r}: use {SYNTAX}")


def _listen(text: str, cwd: str) -> Condition:
    where = text.partition(":")[2]
    if "/" in where:
        return Condition("listen", text, os.path.normpath(os.path.join(cwd, where)))
    return Condition("listen", text, port=_port(where, text))


def _port(text: str, condition: str) -> int:
    if text.isascii() and text.isdecimal() and len(text) < 6 and 0 < int(text) < 1 << 16:
        return int(text)
    raise InvalidArgument(f"{condition!r}: {text!r} is not a port; use 1 to 65535")


def _http(text: str, value: str) -> Condition:
    """Parse a URL, which may be followed by a comma and the status to expect."""
    url, comma, status = value.rpartition(",")
    if not (comma and status.isdecimal() and len(status) == 3):
        url, status = value, "0"
    scheme, slashes, rest = url.partition("://")
    if not slashes:
        scheme, rest = "http", url
    if scheme != "http":
        raise InvalidArgument(
            f"{text!r}: only http:// is looked at; for {scheme}:// use listen:PORT, or exec= with curl"
        )
    place = min((rest.find(mark) for mark in "/?#" if mark in rest), default=len(rest))
    name, path = rest[:place], rest[place:].partition("#")[0]
    host, port = name, "80" if name else ""
    if not name.endswith("]") and ":" in name:
        host, _, port = name.rpartition(":")
    if any(letter <= " " or letter == "\x7f" for letter in name + path):
        raise InvalidArgument(f"{text!r}: a URL has no blanks; write %20")
    return Condition(
        "http",
        text,
        path if path.startswith("/") else f"/{path}",
        port=_port(port, text) if port else 0,
        hosts=_hosts(host.lower(), text),
        name=name,
        status=int(status),
    )


def _hosts(host: str, text: str) -> tuple[str, ...]:
    """Return the addresses of a host: no name is looked up, since that could take seconds."""
    if host in ("localhost", "") or host.endswith(".localhost"):
        return _LOCAL
    from agent_exec.sandbox.hosts import BadName, canonical

    try:
        found = canonical(host)
    except BadName:
        found = None
    if found is not None and found.address is not None:
        return (found.name,)
    raise InvalidArgument(
        f"{text!r}: {host!r} is neither localhost nor an address; use localhost, 127.0.0.1 or [::1]"
    )
