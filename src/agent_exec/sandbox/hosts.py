"""The one grammar of hosts and ports: of profiles, of requests to the proxy, and of TLS greetings.

A host is parsed once, and what is matched, resolved and dialled is the
result. What two parsers could read differently is not repaired but refused.

    example.org         this name, ports 80 and 443
    example.org:8443    this name, this port and no other
    *.example.org       every name below it, not itself, ports 80 and 443
    *.example.org:22    every name below it, this port
    192.0.2.7:5432      this address; [2001:db8::7] for IPv6
"""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_PORTS = (80, 443)
MAX_NAME = 253
MAX_LABEL = 63
MAX_PORT = 65535
SHOWN = 255

_LABEL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
_DIGITS = frozenset("0123456789")
_HEX = frozenset("0123456789abcdef")
_SIX = frozenset("0123456789abcdefABCDEF:.")
_NEVER = {"%": "percent-encoding", "@": "an @", "/": "a slash", "\\": "a backslash"}


class BadName(ValueError):
    """A host or a port that can be read in more than one way, or in none."""


class Host(Value):
    """A host in its one spelling; `address` is set for an IP literal."""

    name: str
    address: IPv4Address | IPv6Address | None = None

    @property
    def text(self) -> str:
        """The spelling before a port: IPv6 in brackets."""
        return f"[{self.name}]" if isinstance(self.address, IPv6Address) else self.name


def host_of(address: IPv4Address | IPv6Address | bytes | str) -> Host:
    """Return the host of an address; an IPv4 address mapped into IPv6 is the IPv4 address."""
    found = ip_address(address)
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return Host(str(found), found)


def canonical(given: str | bytes) -> Host:
    """Parse a host; raise BadName for all that is not one plain name or one address."""
    text = _text(given)
    if not text:
        raise BadName("the host is empty")
    if len(text) > MAX_NAME + 1:
        raise BadName(f"the host is longer than {MAX_NAME} characters")
    for character in text:
        if character in _NEVER:
            raise BadName(f"the host holds {_NEVER[character]}")
        if character <= " " or character == "\x7f":
            raise BadName("the host holds a space or a control character")
    if text[0] == "[" and text[-1] == "]":
        return _six(text[1:-1])
    name = _ascii(text.removesuffix("."))
    labels = name.split(".")
    if _is_number(labels[-1]):
        return _four(name)
    for label in labels:
        _check(label)
    if len(name) > MAX_NAME:
        raise BadName(f"the host is longer than {MAX_NAME} characters")
    return Host(name)


def authority(given: str | bytes, port: int | None = None) -> tuple[Host, int]:
    """Parse `host:port`; without a port it is the given one, or BadName if there is none."""
    host, named = _split(given)
    if named is None:
        named = port
    if named is None:
        raise BadName("no port is named")
    return host, named


def shown(given: str | bytes) -> str:
    """Return the input in printable ASCII, cut to a bounded length."""
    text = given.decode("latin-1") if isinstance(given, bytes) else given
    return text[:SHOWN].encode("unicode_escape").decode("ascii")[:SHOWN]


class Rule(Value):
    """One entry of an allow-list; `port` None stands for the default ports."""

    host: Host
    port: int | None = None
    below: bool = False

    @property
    def text(self) -> str:
        """The rule in its one spelling."""
        port = "" if self.port is None else f":{self.port}"
        return f"{'*.' if self.below else ''}{self.host.text}{port}"

    def matches(self, host: Host, port: int) -> bool:
        """True if this host may be dialled at this port."""
        if port not in (DEFAULT_PORTS if self.port is None else (self.port,)):
            return False
        if self.below:
            return host.address is None and host.name.endswith(f".{self.host.name}")
        return host == self.host


def read_rule(given: object, *, plain: bool = False) -> Rule:
    """Parse one entry of an allow-list; raise BadName and say what is wrong with it.

    With `plain`, other spellings of an address and of an international name
    are refused: programs do not agree about what they mean.
    """
    if not isinstance(given, str):
        raise BadName("it is not a text")
    below = given.startswith("*.")
    name, colon, port = given.removeprefix("*.").rpartition(":")
    if not colon or not _DIGITS.issuperset(port):
        name, colon, port = name + colon + port, "", ""
    host, number = _split(f"{name}{colon}{port.lstrip('0')}")
    if below and host.address is not None:
        raise BadName("an address has no names below it")
    if plain and not given.isascii():
        raise BadName("write an international name in its xn-- form")
    if plain and host.address and name[:1] != "[" and name.removesuffix(".") != host.name:
        raise BadName("write an address as four decimal numbers")
    return Rule(host, number, below=below)


class Rules:
    """An allow-list; an empty one allows nothing."""

    __slots__ = ("_rules",)

    def __init__(self, lines: "Iterable[str]" = ()) -> None:
        if isinstance(lines, str):
            raise InvalidArgument("an allow-list is a list of rules, not one text; put it in a list")
        rules: dict[Rule, None] = {}
        for line in lines:
            try:
                rules[read_rule(line)] = None
            except BadName as error:
                raise InvalidArgument(
                    f"{line!r} is not a rule of the network allow-list: {error};"
                    " write host, host:port, *.host or *.host:port"
                ) from None
        self._rules = tuple(rules)

    def match(self, host: Host, port: int) -> Rule | None:
        """Return the first rule that allows this, or None."""
        return next((rule for rule in self._rules if rule.matches(host, port)), None)

    @property
    def text(self) -> str:
        """What is allowed, for the message of a refusal."""
        return f"allowed: {', '.join(rule.text for rule in self._rules) or 'nothing'}"


def _split(given: str | bytes) -> tuple[Host, int | None]:
    text = _text(given)
    if text.startswith("["):
        end = text.find("]") + 1
        name, rest = text[:end], text[end:]
        if rest and rest[0] != ":":
            raise BadName("something follows the bracket")
        colon, port = rest[:1], rest[1:]
    else:
        name, colon, port = text.partition(":")
    host = canonical(name)
    if not colon:
        return host, None
    if not port or len(port) > 5 or not _DIGITS.issuperset(port) or port[0] == "0" or int(port) > MAX_PORT:
        raise BadName("the port is not a number from 1 to 65535, written plainly")
    return host, int(port)


def _text(given: str | bytes) -> str:
    if isinstance(given, str):
        return given
    try:
        return given.decode("utf-8")
    except UnicodeDecodeError:
        raise BadName("the host is not UTF-8") from None


def _ascii(text: str) -> str:
    """Return a name in lower-case ASCII; refuse what IDNA would change into something else."""
    if text.isascii():
        return text.lower()
    try:
        name = text.encode("idna").decode("ascii").lower()
        same = name.encode("ascii").decode("idna") == text.lower()
    except UnicodeError:
        same, name = False, ""
    if same:
        # Some letters fold to plain ASCII and back again: a Kelvin sign is a k.
        labels = zip(text.split("."), name.split("."), strict=False)
        same = all(given.isascii() or label.startswith("xn--") for given, label in labels)
    if not same:
        raise BadName("the host is not the one spelling of an international name; write its xn-- form")
    return name


def _check(label: str) -> None:
    if not label:
        raise BadName("the host has an empty label")
    if len(label) > MAX_LABEL:
        raise BadName(f"the host has a label longer than {MAX_LABEL} characters")
    if not _LABEL.issuperset(label):
        raise BadName("the host holds a character that no host name has")
    if label[0] == "-" or label[-1] == "-":
        raise BadName("the host has a label that begins or ends with a hyphen")


def _is_number(label: str) -> bool:
    """True if some parser takes a name that ends so for an address: then it must be one here."""
    return bool(label) and (
        _DIGITS.issuperset(label) or (label.startswith("0x") and _HEX.issuperset(label[2:]))
    )


def _four(name: str) -> Host:
    """Parse an IPv4 address as inet_aton does: one to four parts, decimal, octal or hexadecimal."""
    try:
        return host_of(socket.inet_aton(name))
    except OSError:
        raise BadName("the host is not an IPv4 address, and ends like one") from None


def _six(text: str) -> Host:
    try:
        if not _SIX.issuperset(text) or ":" not in text:
            raise ValueError
        return host_of(IPv6Address(text))
    except ValueError:
        raise BadName("the host is not an IPv6 address, and stands in brackets") from None
