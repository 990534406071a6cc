"""What a client asks for, whatever its protocol, and what can be wrong with it."""

from hmac import compare_digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.sandbox.proxy.framing import Frame
    from agent_exec.sandbox.proxy.names import Host


class Problem(Exception):
    """Why a client is refused or cannot be served.

    `kind` is one of: bad (the request), token, denied, large, upgrade,
    unresolved, refused, unreachable, timeout, upstream.
    """

    def __init__(
        self,
        kind: str,
        reason: str,
        *,
        given: str = "",
        host: "Host | None" = None,
        port: int | None = None,
        protocol: str | None = None,
    ) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.given = given
        self.host = host
        self.port = port
        self.protocol = protocol


class Asked:
    """One request to reach a host.

    `opening` is what the client hears when it is reached, `first` what is
    sent there. With a `body` it is one exchange of plain HTTP: the body says
    where the request ends, and `method` and `keep` matter to its response.
    """

    __slots__ = ("body", "first", "given", "host", "keep", "method", "opening", "port", "protocol")

    def __init__(
        self,
        protocol: str,
        given: str,
        host: "Host",
        port: int,
        *,
        opening: bytes = b"",
        first: bytes = b"",
        body: "Frame | None" = None,
        method: str = "",
        keep: bool = False,
    ) -> None:
        self.protocol = protocol
        self.given = given
        self.host = host
        self.port = port
        self.opening = opening
        self.first = first
        self.body = body
        self.method = method
        self.keep = keep


def is_token(token: bytes, user: bytes, password: bytes) -> bool:
    """Whether either half of what was presented is the token, told in constant time."""
    by_user = compare_digest(token, user)
    by_password = compare_digest(token, password)
    return by_user or by_password
