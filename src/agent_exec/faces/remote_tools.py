"""The tools of sessions of a server: each call is a request, and the answers are those of local tools."""

from agent_exec.faces.session.tools import SessionTools
from agent_exec.model.cancel import check_cancel
from agent_exec.model.errors import Unsupported
from agent_exec.tools.tool import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.faces.remote import Server
    from agent_exec.model.cancel import Cancel
    from agent_exec.model.choices import Sink


class RemoteTools(SessionTools):
    """All tools of sessions; folders and programs are those of the server's machine.

    A call that is cancelled is not waited for; the server ends a session that it has started.
    Closing them ends nothing: sessions belong to the server.
    """

    def __init__(self, server: "Server") -> None:
        self._server = server

    def definitions(self) -> "list[dict[str, Any]]":
        """Return the definition of each tool."""
        found: list[dict[str, Any]] = self._server.call("tools")["definitions"]
        return found

    @property
    def instructions(self) -> str:
        """The text about all tools for a model, and where its commands run."""
        return str(self._server.call("tools")["instructions"])

    def perform(self, name: str, given: object, cancelled: "Cancel | None" = None) -> Result:
        """Call a tool as `call` does; raise an AgentExecError for what goes wrong."""
        check_cancel(cancelled)
        told = self._server.call("call_tool", tool=name, arguments=given, cancel=cancelled)
        return Result(told["text"], told.get("structured"), is_error=told["is_error"])

    def record(self, session_id: int, file: "Sink") -> None:  # noqa: ARG002
        """Raise Unsupported: a recording is made where the session runs."""
        raise Unsupported(f"session {session_id} of a server cannot be recorded; attach to it instead")

    def picture(self, session_id: int) -> str:
        """Raise Unsupported: a picture is made where the session runs."""
        raise Unsupported(f"session {session_id} of a server has no picture; attach to it instead")

    def close(self) -> None:
        """Do nothing: the sessions go on."""
