"""The one reading of hosts and ports: what is matched, resolved and dialled is what is read here.

A host is read once, whoever sent it and in whatever protocol. What two
readers could read differently is not repaired but refused.
"""

from ipaddress import IPv4Address, IPv6Address, ip_address

from agent_exec.model.value import Value

MAX_NAME = 253
MAX_LABEL = 63
MAX_PORT = 65535
SHOWN = 255

_LABEL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
_DIGITS = frozenset("0123456789")
_OCTAL = frozenset("01234567")
_HEX = frozenset("0123456789abcdef")
_SIX = frozenset("0123456789abcdefABCDEF:.")
_NEVER = {"%": "percent-encoding", "@": "an @", "/": "a slash", "\\": "a backslash"}


class BadName(ValueError):
    """A host or a port that can be read in more than one way, or in none."""


class Host(Value):
    """A host in its one spelling; `address` is set when it is an IP literal."""

    __slots__ = ("address", "name")

    def __init__(self, name: str, address: IPv4Address | IPv6Address | None = None) -> None:
        self.name = name
        self.address = address

    @property
    def text(self) -> str:
        """The spelling before a port: IPv6 in brackets."""
        return f"[{self.name}]" if isinstance(self.address, IPv6Address) else self.name


def host_of(address: IPv4Address | IPv6Address | bytes | str) -> Host:
    """Give the host that is this address; an IPv4 address in IPv6 clothes is the IPv4 address."""
    found = ip_address(address)
    if isinstance(found, IPv6Address) and found.ipv4_mapped is not None:
        found = found.ipv4_mapped
    return Host(str(found), found)


def canonical(given: str | bytes) -> Host:
    """Read a host; raise BadName for all that is not one plain name or one plain address."""
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
        return host_of(_four(labels))
    for label in labels:
        _check(label)
    if len(name) > MAX_NAME:
        raise BadName(f"the host is longer than {MAX_NAME} characters")
    return Host(name)


def authority(given: str | bytes, port: int | None = None) -> tuple[Host, int]:
    """Read `host:port`; without a port it is the given one, or BadName if none is given."""
    host, named = split(given)
    if named is None:
        named = port
    if named is None:
        raise BadName("no port is named")
    return host, named


def split(given: str | bytes) -> tuple[Host, int | None]:
    """Read `host` or `host:port`."""
    text = _text(given)
    if text.startswith("["):
        end = text.find("]") + 1
        name, rest = text[:end], text[end:]
        if rest and rest[0] != ":":
            raise BadName("something follows the bracket")
        colon, named = rest[:1], rest[1:]
    else:
        name, colon, named = text.partition(":")
    host = canonical(name)
    return host, read_port(named) if colon else None


def read_port(text: str) -> int:
    """Read a port: decimal digits without a sign, a blank or a leading zero."""
    if not text or len(text) > 5 or not _DIGITS.issuperset(text) or text[0] == "0" or int(text) > MAX_PORT:
        raise BadName("the port is not a number from 1 to 65535, written plainly")
    return int(text)


def shown(given: str | bytes) -> str:
    """Give what was sent in printable ASCII, cut to a bounded length."""
    text = given.decode("latin-1") if isinstance(given, bytes) else given
    return text[:SHOWN].encode("unicode_escape").decode("ascii")[:SHOWN]


def _text(given: str | bytes) -> str:
    if isinstance(given, str):
        return given
    try:
        return given.decode("utf-8")
    except UnicodeDecodeError:
        raise BadName("the host is not UTF-8") from None


def _ascii(text: str) -> str:
    """Give a name in lower-case ASCII; refuse what IDNA would change into something else."""
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
    """Whether a name that ends so is an address to some reader: then it must be one to us."""
    return bool(label) and (
        _DIGITS.issuperset(label) or (label.startswith("0x") and _HEX.issuperset(label[2:]))
    )


def _four(labels: list[str]) -> IPv4Address:
    """Read an IPv4 address as inet_aton does: one to four parts, decimal, octal or hexadecimal."""
    numbers = [_number(label) for label in labels]
    if len(numbers) > 4 or any(number > 255 for number in numbers[:-1]):
        raise BadName("the host is not an IPv4 address, and ends like one")
    room = 5 - len(numbers)
    if numbers[-1] >= 256**room:
        raise BadName("the host is not an IPv4 address, and ends like one")
    value = numbers[-1]
    for place, number in enumerate(numbers[:-1]):
        value += number << (24 - 8 * place)
    return IPv4Address(value)


def _number(label: str) -> int:
    if label.startswith("0x"):
        digits, base, alphabet = label[2:], 16, _HEX
    elif label.startswith("0") and len(label) > 1:
        digits, base, alphabet = label[1:], 8, _OCTAL
    else:
        digits, base, alphabet = label, 10, _DIGITS
    if not digits or not alphabet.issuperset(digits):
        raise BadName("the host is not an IPv4 address, and ends like one")
    return int(digits, base)


def _six(text: str) -> Host:
    if not _SIX.issuperset(text) or ":" not in text:
        raise BadName("the host is not an IPv6 address, and stands in brackets")
    try:
        return host_of(IPv6Address(text))
    except ValueError:
        raise BadName("the host is not an IPv6 address, and stands in brackets") from None
