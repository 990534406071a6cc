"""One call of a tool, as its thread sees it: cancellation, questions to a person, progress."""

from contextvars import ContextVar
from time import monotonic

from agent_exec.model.errors import ApprovalRequired
from agent_exec.model.visible import visible
from agent_exec.tools.tool import Call as Cancellable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.apps.mcp.elicitation import Elicitation
    from agent_exec.apps.mcp.notices import Notices
    from agent_exec.requests.gate import Request


class Call(Cancellable):
    """A call that runs; it is set when the client cancels it."""

    __slots__ = ("_asked", "_asking", "_began", "_notices", "_spent")

    def __init__(self, asking: "Elicitation | None" = None, notices: "Notices | None" = None) -> None:
        super().__init__()
        self._asking = asking
        self._notices = notices
        self._began = monotonic()
        self._asked: float | None = None
        self._spent = 0.0
        """Seconds in which a person was asked."""

    def progress(self, name: str) -> tuple[float, str]:
        """Return the seconds it has taken, and a line about its progress."""
        now = monotonic()
        elapsed = now - self._began
        if (asked := self._asked) is not None:
            return elapsed, f"{name} waits for a person to approve the command, for {now - asked:.0f} s"
        said = f"{self.what or name} has run for {elapsed - self._spent:.0f} s"
        if self.printed is None:
            return elapsed, said
        size, line = self.printed()
        said += f", {size} bytes printed"
        return elapsed, f"{said}, last line: {visible(line)}" if line else said

    @property
    def reachable(self) -> bool:
        """True if a person can be asked."""
        return self._asking is not None and self._asking.reachable

    def ask(self, request: "Request") -> str:
        """Ask the person at the client."""
        if self._asking is None:
            raise ApprovalRequired("no approval can be requested in this call")
        began = self._asked = monotonic()
        try:
            return self._asking.ask(request)
        finally:
            self._asked = None
            self._spent += monotonic() - began

    def notice(self, text: str) -> None:
        """Show a notice to people, not only to the model."""
        if self._notices is not None:
            self._notices.notice(text)


current: ContextVar[Call | None] = ContextVar("current", default=None)
"""The call that this thread runs."""


class Client:
    """The approver of all toolsets: asks the client of the call that is carried out, and the approval inbox.

    Outside of a call, as when tools are listed, a person is assumed to be
    reachable. `way` is the value of --approvals.
    """

    def __init__(self, way: str = "client") -> None:
        self._way = way

    @property
    def unreachable(self) -> str:
        """The reason that a refusal gives where no person can be asked."""
        if self._way == "off":
            return "The server was started with --approvals off, so no person was asked"
        if self._way == "client":
            return "This client cannot ask a person: it does not support elicitation"
        from agent_exec.requests.inbox import UNWATCHED

        return f"This client does not support elicitation, and {UNWATCHED}"

    @property
    def reachable(self) -> bool:
        """True if the client or the inbox can ask a person."""
        call = current.get()
        return self._way != "off" and (call is None or call.reachable)

    def __call__(self, request: "Request") -> str:
        """Ask."""
        call = current.get()
        if call is None:
            raise ApprovalRequired("no approval can be requested outside of a call")
        return call.ask(request)

    def left(self, request: "Request") -> None:
        """Show people that a command runs outside of the sandbox, by an approval of now or before."""
        from agent_exec.requests.question import command_line

        call = current.get()
        if call is not None:
            line = command_line(request.command)
            call.notice(f"a command runs outside of the sandbox, in {request.cwd}: {line}")
