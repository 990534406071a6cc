"""One call of a tool, as its thread sees it: who waits for it, who can be asked, what is told meanwhile."""

from contextvars import ContextVar
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from agent_exec.model.errors import ApprovalRequired
from agent_exec.model.visible import visible
from agent_exec.tools.tool import Call as Cancellable

if TYPE_CHECKING:
    from agent_exec.apps.mcp.notices import Notices
    from agent_exec.requests.gate import Request


class Asking(Protocol):
    """A way to ask whoever sits at the client."""

    @property
    def reachable(self) -> bool:
        """Whether the client can ask somebody."""

    def ask(self, request: "Request", /) -> str:
        """Ask, in the thread of the call, and give the answer: once, session, always or no."""


class Call(Cancellable):
    """A call that runs; it is set when the client does not wait for its answer any more."""

    __slots__ = ("_asking", "_began", "_notices")

    def __init__(self, asking: "Asking | None" = None, notices: "Notices | None" = None) -> None:
        super().__init__()
        self._asking = asking
        self._notices = notices
        self._began = monotonic()

    def progress(self, name: str) -> tuple[float, str]:
        """Tell how many seconds it has taken, and how it goes on."""
        elapsed = monotonic() - self._began
        said = f"{self.what or name} has run for {elapsed:.0f} s"
        if self.printed is None:
            return elapsed, said
        size, line = self.printed()
        said += f", {size} bytes printed"
        return elapsed, f"{said}, last line: {visible(line)}" if line else said

    @property
    def reachable(self) -> bool:
        """Whether somebody can be asked."""
        return self._asking is not None and self._asking.reachable

    def ask(self, request: "Request") -> str:
        """Ask whoever sits at the client."""
        if self._asking is None:
            raise ApprovalRequired("nobody can be asked in this call")
        return self._asking.ask(request)

    def notice(self, text: str) -> None:
        """Tell people something that the model alone should not know."""
        if self._notices is not None:
            self._notices.notice(text)


current: ContextVar[Call | None] = ContextVar("current", default=None)
"""The call that this thread carries out."""


class Client:
    """The approver of all toolsets: asks the client of the call that is carried out.

    Outside of a call, as when tools are described, somebody may be there.
    """

    @property
    def reachable(self) -> bool:
        """Whether the client can ask somebody."""
        call = current.get()
        return call is None or call.reachable

    def __call__(self, request: "Request") -> str:
        """Ask."""
        call = current.get()
        if call is None:
            raise ApprovalRequired("nobody can be asked outside of a call")
        return call.ask(request)

    def left(self, request: "Request") -> None:
        """Tell people that a command runs outside of the sandbox, asked for or granted before."""
        from shlex import join

        call = current.get()
        if call is not None:
            command = request.command if isinstance(request.command, str) else join(request.command)
            call.notice(f"a command runs outside of the sandbox, in {request.cwd}: {command}")
