"""What is told to whoever typed a slash command: one line, and how to take it."""

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Status = Literal["Success", "Error", "Warn", "Info"]

STATUSES = ("Success", "Error", "Warn", "Info")
SHOWN_FOR = 4.0
"""How many seconds good news stay; a warning or an error stays until something else is told."""

DISABLED = "Shell commands disabled"


class SlashFeedback(Value):
    """One line for the Bottom Bar; `text` is safe to be shown as it is."""

    __slots__ = ("status", "text")

    def __init__(self, text: str, status: "Status") -> None:
        if status not in STATUSES:
            raise InvalidArgument(f"status must be one of {', '.join(STATUSES)}; got {status!r}")
        self.text = text
        self.status = status

    @property
    def ttl(self) -> float | None:
        """How many seconds it is to be shown; None is until it is replaced."""
        return SHOWN_FOR if self.status in ("Success", "Info") else None


class SlashRefused(Exception):
    """What was typed is not done; nothing runs."""

    def __init__(self, text: str, status: "Status" = "Error") -> None:
        super().__init__(text)
        self.feedback = SlashFeedback(text, status)


class BottomBar:
    """Which feedback is on the Bottom Bar now; times are in seconds, of any clock that does not go back."""

    __slots__ = ("_feedback", "_until")

    def __init__(self) -> None:
        self._feedback: SlashFeedback | None = None
        self._until: float | None = None

    def tell(self, feedback: SlashFeedback, now: float) -> None:
        """Have this shown from now on, whatever was shown before."""
        self._feedback = feedback
        self._until = None if feedback.ttl is None else now + feedback.ttl

    def shown(self, now: float) -> SlashFeedback | None:
        """Return what is shown now; None once its time is over."""
        if self._until is not None and now >= self._until:
            return None
        return self._feedback

    def dismiss(self) -> None:
        """Show nothing."""
        self._feedback = None
