"""Which addresses a name may lead to: never this machine, its network, or what grants its credentials.

A name is resolved once, and the address that was checked is dialled. An
address of a kind that is refused is dialled only if a rule names that very
address and port.
"""

import socket
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from agent_exec.sandbox.hosts import host_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent_exec.sandbox.hosts import Rules

MAX_ADDRESSES = 8

# Clouds give credentials to any request to these; the last is an address of the public internet.
_METADATA = frozenset(
    ip_address(text)
    for text in ("169.254.169.254", "fd00:ec2::254", "100.100.100.200", "192.0.0.192", "168.63.129.16")
)
_RELAYS = IPv4Network("192.88.99.0/24")
_NAT64 = IPv6Network("64:ff9b::/96")
_LOCAL_NAT64 = IPv6Network("64:ff9b:1::/48")
_COMPATIBLE = IPv6Network("::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)


def lookup(name: str, port: int) -> list[str]:
    """Ask the system's resolver; raise OSError if it knows no address."""
    # Bytes, for a text would be put through IDNA once more.
    found = socket.getaddrinfo(name.encode("ascii"), port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def choose(
    answers: "Iterable[str]", port: int, rules: "Rules"
) -> tuple[list[IPv4Address | IPv6Address], list[str]]:
    """Split the answers into addresses to dial, in order, and refused ones with the reason."""
    good: list[IPv4Address | IPv6Address] = []
    bad: list[str] = []
    for answer in list(answers)[:MAX_ADDRESSES]:
        try:
            host = host_of(answer)
        except ValueError:
            bad.append(f"{answer[:64]!a} (no plain address)")
            continue
        address = host.address
        assert address is not None
        reason = None if rules.match(host, port) else refusal(address)
        if reason is None:
            good.append(address)
        else:
            bad.append(f"{host.name} ({reason})")
    return good, bad


def refusal(address: IPv4Address | IPv6Address) -> str | None:
    """Return the kind of an address that no name may lead to, or None."""
    if address in _METADATA:
        return "a metadata service"
    for kind in ("unspecified", "loopback", "link_local", "multicast"):
        if getattr(address, f"is_{kind}"):
            return kind.replace("_", "-")
    inner = _embedded(address) if isinstance(address, IPv6Address) else None
    if isinstance(inner, str):
        return inner
    if inner is not None:
        reason = refusal(inner)
        return reason and f"{reason}, as {inner} in IPv6"
    if isinstance(address, IPv6Address):
        if address.is_site_local:
            return "private"
    elif address in _RELAYS:
        return "a tunnel"
    if address.is_private:
        return "private"
    if not address.is_global or address.is_reserved:
        return "reserved"
    return "of this machine" if is_own(address) else None


def is_own(address: IPv4Address | IPv6Address) -> bool:
    """True if an address is one of this machine's own."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            # Nothing is sent: the system only picks the address that it would send from.
            probe.connect((str(address), 9))
            return ip_address(probe.getsockname()[0]) == address
    except OSError:
        return False  # no way leads there, and dialling it will say so


def _embedded(address: IPv6Address) -> IPv4Address | str | None:
    """Return the IPv4 address that an IPv6 address leads to, or why it is refused whatever that is."""
    low = IPv4Address(int(address) & 0xFFFFFFFF)
    if address.ipv4_mapped is not None or address in _NAT64:
        return low
    if address.sixtofour is not None or address.teredo is not None:
        return "a tunnel"
    if address in _LOCAL_NAT64 or address in _COMPATIBLE:
        return "an IPv4 address in IPv6"
    if (int(address) >> 32) & 0xFFFFFFFF in _ISATAP:
        return "a tunnel"
    return None
