"""Which sessions of this process people can see: the thread for viewers is started with the first of them."""

import os
import sys
from _thread import RLock

from agent_exec.model.errors import AgentExecError, Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.sessions.registry import Registry
    from agent_exec.sessions.sharing.hub import Hub


class Share:
    """The sessions of one set of tools as people find them, from the first one on.

    `kind` is the kind of their server: "mcp", "serve" or "library".
    """

    def __init__(self, registry: "Registry", kind: str, workspace: str) -> None:
        self.registry = registry
        self.kind = kind
        self.workspace = workspace
        self.client = ""
        """The name of the program that the agent runs in, if it is known."""
        self.problem = ""
        """Why nothing is shared, if that cannot be."""
        self._opened = False

    def open(self) -> None:
        """Let people see the sessions; harmless when repeated. A system that cannot do that is no error."""
        if self._opened:
            return
        global _hub  # noqa: PLW0603  # a process has one socket
        with _lock:
            if self._opened:
                return
            self._opened = True
            try:
                if _hub is None:
                    check_supported()
                    from agent_exec.sessions.sharing.hub import Hub

                    _hub = Hub(server_name())
                _hub.shares = [*_hub.shares, self]
            except (AgentExecError, OSError) as error:
                self.problem = str(error)

    def close(self) -> None:
        """Show the sessions no more, which have ended; viewers get what is left if they take it at once."""
        global _hub  # noqa: PLW0603
        with _lock:
            if _hub is None or self not in _hub.shares:
                return
            _hub.shares = [share for share in _hub.shares if share is not self]
            if _hub.shares:
                _hub.call(_hub.drop_forgotten)
            else:
                _hub.stop()
                _hub = None


def check_supported() -> None:
    """Raise Unsupported if sessions cannot be shared on this system."""
    if sys.platform != "linux":
        raise Unsupported(
            "sessions cannot be shared on this system, which does not say which user connects; "
            "open the tools without share"
        )


def server_name() -> str:
    """Return the word that names this process among servers, for its whole life."""
    global _name  # noqa: PLW0603
    if not _name:
        _name = os.urandom(4).hex()
    return _name


def _forget() -> None:
    """In a forked copy of the process: let go of the sockets, and be another server."""
    global _hub, _lock, _name
    hub, _hub, _lock, _name = _hub, None, RLock(), ""
    if hub is not None:
        hub.close_descriptors()


_hub: "Hub | None" = None
_lock = RLock()
_name = ""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
