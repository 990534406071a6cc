"""Where a server of ours listens: the options, the socket, the names it answers to, and its token."""

import os
import socket
import stat
import sys
from errno import EADDRNOTAVAIL, ECONNREFUSED, ENOENT
from ipaddress import ip_address

from agent_exec.apps.parse import UsageError
from agent_exec.apps.web.guard import fields, same
from agent_exec.apps.web.server import bind
from agent_exec.model.value import Value
from agent_exec.places import token_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from starlette.types import Scope

    from agent_exec.apps.parse import Parsed

LOCAL = ("127.0.0.1", "localhost", "::1")
"""The names of every server of ours."""

_LAST_PORT = 65535
_OFFERED = "bearer."
_REMOTE = "WARNING: other machines can reach it, and anyone on the way can read all of it, the token too"


class Where(Value):
    """An address of this machine or a Unix socket, and which clients may connect."""

    token_file: str
    host: str = "127.0.0.1"
    port: int = 8765
    remote: bool = False
    """True if other machines may connect."""
    idle: float = 1800.0
    """Seconds after which what belongs to an idle client is closed."""
    path: str = ""
    """The Unix socket; empty for an address."""


def where_of(asked: "Parsed", **usual: object) -> Where:
    """Return where the options have a server listen; `usual` are defaults that differ from those of Where."""
    options, verb = asked.options, asked.verb
    for name in ("host", "token-file", "socket"):
        if options.get(name) == "":
            raise UsageError(f"--{name} is empty; give it a value, or leave it out", verb)
    if "allow-remote" in options and "host" not in options:
        raise UsageError("--allow-remote needs --host, such as --host 0.0.0.0", verb)
    if "socket" in options and ("host" in options or "port" in options):
        raise UsageError("--socket and --host or --port contradict each other", verb)
    named = {"host": "host", "port": "port", "idle": "idle-timeout"}
    given = {field: options[name] for field, name in named.items() if name in options}
    if "socket" in options:
        given["path"] = os.path.abspath(options["socket"])
    token_file = os.path.abspath(options.get("token-file") or token_place())
    where = Where(**{"token_file": token_file, "remote": "allow-remote" in options, **usual, **given})
    if where.port > _LAST_PORT:
        raise UsageError(f"--port takes a number from 0 to {_LAST_PORT}; got {where.port}", verb)
    if not where.idle > 0:
        raise UsageError("--idle-timeout takes a time greater than 0", verb)
    return where


def listen(where: Where, verb: str) -> socket.socket:
    """Return the listening socket; other machines reach it only with --allow-remote."""
    if where.path:
        return _listen_at(where.path, verb)
    try:
        found = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise UsageError(f"--host takes an address or a name of this machine: {error}", verb) from None
    family, _, _, _, address = found[0]
    local = all(ip_address(str(one[4][0]).partition("%")[0]).is_loopback for one in found)
    if not local and not where.remote:
        raise UsageError(
            f"{where.host} lets other machines run commands here, and nothing is encrypted: "
            "say --allow-remote as well if you mean it",
            verb,
        )
    try:
        return bind(address, family)
    except OSError as error:
        elsewhere = error.errno == EADDRNOTAVAIL
        remedy = "name a --host of this machine" if elsewhere else "name another --port, or 0 for any"
        raise UsageError(
            f"{where.host}:{where.port} cannot be used ({error.strerror}); {remedy}", verb
        ) from None


def _listen_at(path: str, verb: str) -> socket.socket:
    """Return a socket that listens at a path, for this user alone; a dead server's is replaced."""
    if sys.platform == "win32":
        raise UsageError("--socket: this system has no Unix sockets; use --host and --port", verb)
    _remove_dead(path, verb)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    former = os.umask(0o177)
    try:
        listener.bind(path)
        listener.listen()
    except OSError as error:
        listener.close()
        raise UsageError(f"--socket: {path!r} cannot be used: {error.strerror}", verb) from None
    finally:
        os.umask(former)
    listener.setblocking(False)
    return listener


def _remove_dead(path: str, verb: str) -> None:
    """Remove the socket of a server that has ended; refuse what is anything else."""
    if sys.platform == "win32":
        return
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise UsageError(f"--socket: {path!r} is there already, and is no socket; name another", verb)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.connect(path)
    except OSError as error:
        if error.errno == ECONNREFUSED:
            os.unlink(path)
        elif error.errno != ENOENT:
            raise UsageError(f"--socket: {path!r} cannot be used: {error.strerror}", verb) from None
    else:
        raise UsageError(f"--socket: a server listens at {path!r} already; end it, or name another", verb)


def names(where: Where) -> tuple[str, ...]:
    """Return the names that a server answers to, as requests name their host."""
    named = (where.host, *((socket.gethostname(), socket.getfqdn()) if where.remote else ()))
    return tuple(dict.fromkeys((*LOCAL, *named)))


def url_of(listener: socket.socket, path: str = "") -> str:
    """Return the address of a server, or of a path there."""
    if isinstance(listener.getsockname(), str):
        return f"http+unix://{listener.getsockname()}{path}"
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{path}"


def announce(what: str, url: str, where: Where) -> None:
    """Print where a server is, and what its requests need."""
    lines = [f"serves {what} at {url}", *([_REMOTE] if where.remote else [])]
    lines.append(
        f"every request needs the header `Authorization: Bearer TOKEN`; TOKEN is in {where.token_file}"
    )
    sys.stderr.write("".join(f"agent-exec: {line}\n" for line in lines))
    sys.stderr.flush()


def bearer(scope: "Scope") -> str:
    """Return the token that a request bears in its head; empty without one.

    A page cannot set the header of a websocket: there it may be a subprotocol, `bearer.TOKEN`.
    """
    given = fields(scope, "authorization")
    if not given and scope["type"] == "websocket":
        offered = [one.removeprefix(_OFFERED) for one in scope["subprotocols"] if one.startswith(_OFFERED)]
        return offered[0] if len(offered) == 1 else ""
    scheme, _, token = (given[0] if len(given) == 1 else "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def bears(scope: "Scope", token: str) -> bool:
    """True if a request bears this token."""
    return same(bearer(scope), token)
