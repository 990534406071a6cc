"""Posts an event to an address: signed, to a public address that was looked at, without following anything.

Headers and signature are those of the Standard Webhooks specification:
`webhook-id`, `webhook-timestamp`, and `webhook-signature`, which is `v1,` and
the base64 of the HMAC-SHA256 over id, timestamp and body, joined by dots.
"""

from time import monotonic, time

from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.sandbox.hosts import Host

_CONNECT = 10.0
_LONGEST = 20.0
_AGAIN = (408, 425, 429)
"""Answers of a receiver that may answer otherwise later, beside those from 500 on."""
_PORTS = {"http": 80, "https": 443}


def check_url(url: str, *, private: bool) -> "tuple[str, Host, int, str]":
    """Return scheme, host, port and path of an address; raise InvalidArgument if it cannot be used."""
    from urllib.parse import urlsplit

    from agent_exec.sandbox.hosts import BadName, authority

    try:
        parts = urlsplit(url)
        if parts.scheme not in _PORTS:
            raise BadName("it must begin with https:// or http://")
        if "@" in parts.netloc:
            raise BadName("it must not hold a user or a password; sign with a secret instead")
        if not url.isascii() or any(character <= " " for character in url):
            raise BadName("it must be of ASCII, without blanks")
        host, port = authority(parts.netloc, _PORTS[parts.scheme])
    except ValueError as error:
        raise InvalidArgument(f"the address of a webhook cannot be used: {error}") from None
    if not private:
        from agent_exec.sandbox.proxy.addresses import refusal

        reason = refusal(host.address) if host.address is not None else None
        if host.name == "localhost" or host.name.endswith(".localhost"):
            reason = "loopback"
        if reason is not None:
            raise InvalidArgument(
                f"the address of a webhook leads to {host.text}, which is {reason}; "
                "allow that with --notify-private, or allow_private in Python"
            )
    path = parts.path or "/"
    return parts.scheme, host, port, f"{path}?{parts.query}" if parts.query else path


def post(url: str, name: str, body: bytes, secret: bytes | None, *, private: bool) -> tuple[str | None, bool]:
    """Post an event; return None, or what went wrong, and whether it may go well another time."""
    from http.client import HTTPException

    try:
        status = _post(url, name, body, secret, private=private)
    except InvalidArgument as error:
        return error.message, False
    except _Refused as error:
        return str(error), False
    except (OSError, HTTPException, ValueError) as error:
        return f"{type(error).__name__}: {error}"[:300], True
    if 200 <= status < 300:
        return None, False
    if 300 <= status < 400:
        return f"the receiver answered {status}; redirects are not followed", False
    return f"the receiver answered {status}", status >= 500 or status in _AGAIN


class _Refused(Exception):
    """All addresses of a name are private."""


def _post(url: str, name: str, body: bytes, secret: bytes | None, *, private: bool) -> int:
    from http.client import HTTPConnection
    from threading import Timer

    from agent_exec.sandbox.hosts import Rules
    from agent_exec.sandbox.proxy.addresses import choose, lookup

    scheme, host, port, path = check_url(url, private=private)
    deadline = monotonic() + _LONGEST
    found = [str(host.address)] if host.address is not None else lookup(host.name, port)
    if not private:
        good, bad = choose(found, port, Rules())
        if not good:
            raise _Refused(f"{host.text} leads to private addresses only: {', '.join(bad)}")
        found = [str(address) for address in good]

    class Pinned(HTTPConnection):
        """A connection to the address that was looked at, whatever the name leads to by now."""

        def connect(self) -> None:
            super().connect()
            if scheme == "https":
                from ssl import create_default_context

                self.sock = create_default_context().wrap_socket(self.sock, server_hostname=host.name)

    stamp = str(int(time()))
    headers = {
        "Host": host.text if port == _PORTS[scheme] else f"{host.text}:{port}",
        "Content-Type": "application/json",
        "User-Agent": "agent-exec",
        "Connection": "close",
        "webhook-id": name,
        "webhook-timestamp": stamp,
    }
    if secret is not None:
        headers["webhook-signature"] = signature(secret, name, stamp, body)
    problem: OSError | None = None
    for address in found:
        connection = Pinned(address, port, timeout=_CONNECT)

        def cut(connection: HTTPConnection = connection) -> None:
            if connection.sock is not None:
                connection.sock.shutdown(2)  # a receiver that sends a byte now and then

        timer = Timer(max(0.1, deadline - monotonic()), cut)
        timer.daemon = True
        timer.start()
        try:
            connection.connect()
        except OSError as error:
            problem = error
            continue
        else:
            connection.request("POST", path, body, headers)
            return connection.getresponse().status  # what more it says is not read
        finally:
            timer.cancel()
            connection.close()
    raise problem or OSError("the name has no address")


def signature(secret: bytes, name: str, stamp: str, body: bytes) -> str:
    """Return the signature of an event."""
    import hmac
    from binascii import b2a_base64

    signed = hmac.digest(secret, f"{name}.{stamp}.".encode() + body, "sha256")
    return "v1," + b2a_base64(signed, newline=False).decode()
