"""The first bytes of a tunnel: if they are TLS, its greeting must name the host that was asked for.

A host on the list may share its address with others, and the name in the
greeting (ClientHello) chooses among them. Nothing of a greeting is passed on
before it has been parsed. What is sent encrypted cannot be read.
"""

from agent_exec.sandbox.hosts import BadName, Host, canonical, shown
from agent_exec.sandbox.proxy.framing import Frame, Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MAX_HELLO = 1 << 14
"""The longest greeting; usual ones have up to two kilobytes."""

MAX_EARLY = 1 << 16
"""How much may be sent before the answer, and is looked through for a second greeting."""

REFUSED = b"\x15\x03\x03\x00\x02\x02\x70"
"""The answer to a greeting that is refused: a fatal alert, unrecognized_name."""

_HEAD = 5
_MAX_RECORD = (1 << 14) + 256
_CHANGE, _ALERT, _HANDSHAKE, _DATA = 20, 21, 22, 23
_HELLO = 1
_SERVER_NAME, _EARLY_DATA = 0, 42


class Hello(Frame):
    """The first bytes of a tunnel; `free` once there is nothing more to look at.

    `agrees` is True for a name that a greeting may have, or None for none.
    With `must`, anything but TLS is refused. A server may ask for a second
    greeting, so that one is parsed too.
    """

    def __init__(self, agrees: "Callable[[Host | None], bool]", *, must: bool = False) -> None:
        super().__init__()
        self._agrees = agrees
        self._must = must
        self._held = b""
        self._at = 0
        self._message = b""
        self._first = True
        self._early = 0
        self.free = False

    def feed(self, data: bytes) -> bytes:
        """Return what may be passed on; raise Problem for a greeting of another name."""
        self._held += data
        passed = 0
        while not self.free and (size := self._record(self._at)):
            self._at += size
            if not self._message:
                passed = self._at
        if self.free:
            passed = len(self._held)
        out, self._held = self._held[:passed], self._held[passed:]
        self._at -= passed
        return out

    def eof(self) -> None:
        """End; half a greeting is refused."""
        if self._held:
            raise _refused("it ends in the middle")
        self.free = True

    def _record(self, at: int) -> int:
        """Parse one record; return its length, 0 if it has not come as a whole or nothing more is parsed."""
        head = self._held[at : at + _HEAD]
        if self._first and not self._message and head and not self._is_tls(head):
            self.free = True
        if self.free or len(head) < _HEAD:
            return 0
        kind, size = head[0], int.from_bytes(head[3:])
        if self._message and kind != _HANDSHAKE:
            raise _refused("something else stands in the middle of it")
        # Some servers pass over a warning, and read the greeting that follows it.
        if kind not in (_CHANGE, _ALERT, _HANDSHAKE, _DATA) or (kind == _DATA and not self._early):
            self.free = True
            return 0
        if size > _MAX_RECORD or (kind == _HANDSHAKE and not size):
            raise _refused("its length is wrong")
        payload = self._held[at + _HEAD : at + _HEAD + size]
        if len(payload) < size:
            return 0
        if kind == _HANDSHAKE:
            self._handshake(payload)
        elif kind == _DATA:
            self._early -= size
            self.free = self._early <= 0
        return 0 if self.free else _HEAD + size

    def _is_tls(self, head: bytes) -> bool:
        """True if a tunnel begins as TLS does, as far as it has come."""
        if head[0] & 0x80 and head[2:3] in (b"", b"\x01") and head[3:4] in (b"", b"\x03"):
            if len(head) > 3:
                raise _refused("it is of SSL 2, which has no name")
            return True
        if head[0] in (_CHANGE, _ALERT, _HANDSHAKE) and head[1:2] in (b"", b"\x03"):
            if head[0] != _HANDSHAKE and len(head) > 1:
                raise _refused("something else stands before it")
            return True
        if self._must:
            raise Problem("denied", "this is not TLS; list the host with its port, :443, to allow that")
        return False

    def _handshake(self, payload: bytes) -> None:
        if not (self._first or self._message or _begins_hello(payload)):
            self.free = True
            return
        message = self._message + payload
        if message[0] != _HELLO:
            raise _refused("it is not a TLS greeting")
        length = 4 + int.from_bytes(message[1:4])
        if length > MAX_HELLO or len(message) > MAX_HELLO:
            raise _refused(f"it is longer than {MAX_HELLO} bytes")
        if len(message) < 4 or len(message) < length:
            self._message = message
            return
        if len(message) > length:
            raise _refused("something follows it at once")
        name, early = read_hello(message[4:])
        if not self._agrees(name):
            said = "no name" if name is None else shown(name.name)
            raise Problem("denied", f"the TLS greeting names another host: {said}")
        self._message = b""
        self.free = not self._first
        self._first = False
        self._early = MAX_EARLY if early else 0


def read_hello(body: bytes) -> tuple[Host | None, bool]:
    """Return the name in a ClientHello, if it has one, and whether data may follow before the answer.

    Raises Problem for what can be read in more than one way, or in none.
    """
    at = _skip(body, 2 + 32, 1)  # version and random; session
    at = _skip(body, at, 2)  # ciphers
    at = _skip(body, at, 1)  # compressions
    if at == len(body):
        return None, False
    end = _skip(body, at, 2)
    if end != len(body):
        raise _refused("something follows its extensions")
    at += 2
    seen: dict[int, bytes] = {}
    while at < end:
        kind = int.from_bytes(body[at : at + 2])
        after = _skip(body, at + 2, 2)
        if kind in seen:
            raise _refused("it has an extension twice")
        seen[kind] = body[at + 4 : after]
        at = after
    names = seen.get(_SERVER_NAME)
    return None if names is None else _name(names), _EARLY_DATA in seen


def _name(names: bytes) -> Host:
    """Parse a list of names, which must have one."""
    if len(names) < 5 or _skip(names, 0, 2) != len(names) or names[2] or _skip(names, 3, 2) != len(names):
        raise _refused("it does not have one plain name")
    try:
        return canonical(names[5:].decode("ascii"))
    except (BadName, UnicodeDecodeError):
        raise _refused(f"its name cannot be one: {shown(names[5:])}") from None


def _skip(data: bytes, at: int, width: int) -> int:
    """Return where a field ends whose length takes so many bytes."""
    end = at + width + int.from_bytes(data[at : at + width])
    if at + width > len(data) or end > len(data):
        raise _refused("its lengths do not fit")
    return end


def _begins_hello(payload: bytes) -> bool:
    """True if a later record begins a greeting; once ciphers are in force, it may be noise."""
    return payload[0] == _HELLO and (len(payload) < 6 or payload[4] == 3)


def _refused(why: str) -> Problem:
    return Problem("denied", f"the TLS greeting cannot be read: {why}")
