"""The allow-list: which hosts and ports may be dialled.

    example.org         this name, ports 80 and 443
    example.org:8443    this name, this port and no other
    *.example.org       every name below it, not itself, ports 80 and 443
    *.example.org:22    every name below it, this port
    192.0.2.7:5432      this address; [2001:db8::7] for IPv6

A rule is read as hosts are, so case, a final dot and odd spellings of
addresses make no difference. An empty list allows nothing.
"""

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.value import Value
from agent_exec.sandbox.proxy.names import BadName, Host, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

DEFAULT_PORTS = (80, 443)


class Rule(Value):
    """One line of the list; `port` None stands for the default ports."""

    __slots__ = ("below", "host", "port")

    def __init__(self, host: Host, port: int | None = None, *, below: bool = False) -> None:
        self.host = host
        self.port = port
        self.below = below

    @property
    def text(self) -> str:
        """The rule as it is written, in its one spelling."""
        port = "" if self.port is None else f":{self.port}"
        return f"{'*.' if self.below else ''}{self.host.text}{port}"

    def matches(self, host: Host, port: int) -> bool:
        """Whether this host may be dialled at this port."""
        if port not in (DEFAULT_PORTS if self.port is None else (self.port,)):
            return False
        if self.below:
            return host.address is None and host.name.endswith(f".{self.host.name}")
        return host == self.host


class Rules:
    """The whole list."""

    __slots__ = ("_rules",)

    def __init__(self, lines: "Iterable[str]" = ()) -> None:
        if isinstance(lines, str):
            raise InvalidArgument("an allow-list is a list of rules, not one text; put it in a list")
        self._rules = tuple(dict.fromkeys(read_rule(line) for line in lines))

    def match(self, host: Host, port: int) -> Rule | None:
        """Give the first rule that allows this, or None."""
        for rule in self._rules:
            if rule.matches(host, port):
                return rule
        return None

    @property
    def text(self) -> str:
        """What is allowed, in words for whoever was refused."""
        return f"allowed: {', '.join(rule.text for rule in self._rules) or 'nothing'}"


def read_rule(line: str) -> Rule:
    """Read one rule; raise InvalidArgument and say what is wrong with it."""
    try:
        if not isinstance(line, str):
            raise BadName("it is not a text")
        below = line.startswith("*.")
        host, port = split(line[2:] if below else line)
        if below and host.address is not None:
            raise BadName("an address has no names below it")
    except BadName as error:
        raise InvalidArgument(
            f"{line!r} is not a rule of the network allow-list: {error};"
            " write host, host:port, *.host or *.host:port"
        ) from None
    return Rule(host, port, below=below)
