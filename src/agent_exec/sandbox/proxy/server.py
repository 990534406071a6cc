"""The proxy for its owner: start it on a listening socket, ask for its decisions, close it."""

import socket
from threading import Thread, current_thread

from agent_exec.model.errors import InvalidArgument
from agent_exec.sandbox.hosts import Rules
from agent_exec.sandbox.proxy.addresses import lookup
from agent_exec.sandbox.proxy.log import Log
from agent_exec.sandbox.proxy.loop import Limits, Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import TracebackType
    from typing import Self

    from agent_exec.sandbox.proxy.log import Decision
    from agent_exec.sandbox.proxy.loop import Resolve

USER = "agent-exec"
LOCAL = "localhost,127.0.0.1,::1"
MAX_TOKEN = 255

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class Proxy:
    """A proxy that serves until it is closed, in a thread of its own."""

    def __init__(self, loop: Loop, log: Log) -> None:
        self._log = log
        self._loop = loop
        self._thread = Thread(target=loop.run, name="agent-exec-proxy", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        """True while it serves; then connections are refused."""
        return self._thread.is_alive()

    def decisions(self) -> "list[Decision]":
        """Return the last decisions, oldest first."""
        return self._log.decisions()

    def denials(self) -> list[dict[str, object]]:
        """Return the refusals, each once, as they are reported."""
        return self._log.denials()

    def take(self) -> list[dict[str, object]]:
        """Return the decisions since the last call, as they are reported; open connections are ended."""
        self._loop.settle()
        return [decision.to_json() for decision in self._log.take()]

    def close(self) -> None:
        """End every connection and the thread; harmless when repeated, and from any thread."""
        self._loop.stop()
        if current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> "Self":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None"
    ) -> None:
        self.close()


def variables(port: int, token: str) -> dict[str, str]:
    """Return the variables that lead programs to the proxy at this port of their loopback."""
    user = f"{USER}:{token}@" if token else ""
    address = f"http://{user}127.0.0.1:{port}"
    names = {"HTTP_PROXY": address, "HTTPS_PROXY": address, "ALL_PROXY": address, "NO_PROXY": LOCAL}
    return names | {name.lower(): value for name, value in names.items()} | {"NODE_USE_ENV_PROXY": "1"}


def serve(
    listener_fd: int,
    rules: "Iterable[str]",
    token: str,
    on_decision: "Callable[[Decision], object] | None" = None,
    *,
    limits: Limits | None = None,
    resolve: "Resolve" = lookup,
) -> Proxy:
    """Serve a listening socket, which is the proxy's from now on, unless InvalidArgument is raised.

    Every client must present the token, unless it is empty. `on_decision` is
    called in the proxy's thread. `resolve` returns the addresses of a name,
    and is called once for each request, in a thread of its own.
    """
    if len(token) > MAX_TOKEN or not _PLAIN.issuperset(token):
        raise InvalidArgument(f"a token is at most {MAX_TOKEN} letters, digits and any of -._~")
    allowed = Rules(rules)
    try:
        listener = socket.socket(fileno=listener_fd)
    except OSError as error:
        raise InvalidArgument(f"the proxy needs a listening socket: {error.strerror}") from None
    if (
        listener.type != socket.SOCK_STREAM
        or listener.family not in {socket.AF_INET, socket.AF_INET6}
        or not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    ):
        listener.detach()
        raise InvalidArgument("the proxy needs a listening TCP socket")
    listener.set_inheritable(False)
    log = Log(allowed.text, on_decision)
    return Proxy(Loop(listener, allowed, token.encode("ascii"), log, limits or Limits(), resolve), log)
