"""SOCKS5: the talk before a tunnel, as a generator that asks for bytes and gives answers."""

from agent_exec.sandbox.proxy.asked import Asked, Problem, is_token
from agent_exec.sandbox.proxy.log import NO_TOKEN
from agent_exec.sandbox.proxy.names import BadName, canonical, host_of, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator

PROTOCOL = "socks5"
FIRST = 5
OLD = 4
OLD_REFUSED = b"\x00\x5b" + bytes(6)
OLD_REASON = "SOCKS4 is not spoken here; use socks5h"

_NO_AUTH, _USER, _NONE = 0, 2, 0xFF
_CONNECT = 1
_IPV4, _NAME, _IPV6 = 1, 3, 4
_GRANTED = b"\x05\x00\x00\x01" + bytes(6)
_REPLIES = {
    "denied": 2,
    "unreachable": 3,
    "unresolved": 4,
    "refused": 5,
    "timeout": 6,
    "command": 7,
    "kind": 8,
}


def talk(token: bytes) -> "Generator[tuple[bytes, int], bytes, Asked]":
    """Yield an answer and how many bytes to send in next; return what is asked for.

    Without a token any client is welcome. With one, it must be the user name
    or the password.
    """
    _, count = yield b"", 2
    methods = yield b"", count
    reply = b"\x05\x00"
    if token or _NO_AUTH not in methods:
        if _USER not in methods:
            raise _Early("token" if token else "bad", NO_TOKEN, bytes((FIRST, _NONE)))
        version, length = yield bytes((FIRST, _USER)), 2
        user = yield b"", length
        (length,) = yield b"", 1
        password = yield b"", length
        if version != 1 or (token and not is_token(token, user, password)):
            raise _Early("token", "the token is wrong", b"\x01\x01")
        reply = b"\x01\x00"
    version, command, reserved, kind = yield reply, 4
    given = b""
    if kind == _IPV4:
        given = yield b"", 4
    elif kind == _IPV6:
        given = yield b"", 16
    elif kind == _NAME:
        (length,) = yield b"", 1
        given = yield b"", length
    else:
        raise Problem("kind", "no such kind of address")
    high, low = yield b"", 2
    port = high << 8 | low
    try:
        host = canonical(given) if kind == _NAME else host_of(given)
    except BadName as error:
        raise Problem("denied", str(error), given=shown(given), port=port) from None
    seen = shown(given) if kind == _NAME else host.name
    if version != FIRST or reserved:
        raise Problem("bad", "this is not SOCKS5", given=seen, host=host, port=port)
    if command != _CONNECT:
        raise Problem("command", "only CONNECT is served", given=seen, host=host, port=port)
    if not port:
        raise Problem("denied", "port 0 is no port", given=seen, host=host, port=port)
    return Asked(PROTOCOL, seen, host, port, opening=_GRANTED)


class _Early(Problem):
    """A refusal before the request, which has a reply of its own."""

    def __init__(self, kind: str, reason: str, reply: bytes) -> None:
        super().__init__(kind, reason)
        self.reply = reply


def answer(problem: Problem) -> bytes:
    """Give the reply that a client hears last."""
    if isinstance(problem, _Early):
        return problem.reply
    return bytes((FIRST, _REPLIES.get(problem.kind, 1), 0, 1)) + bytes(6)
