"""A set of tools as a server sees it: definitions, calls, results."""

from agent_exec.model.cancel import Cancel
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Toolset(Protocol):
        """The tools of one contract."""

        @property
        def name(self) -> str:
            """Its name on the command line."""

        @property
        def instructions(self) -> str:
            """The text about all of them for a model."""

        def definitions(self) -> list[dict[str, Any]]:
            """Return the definition of each tool, in order.

            Keys: name, description, parameters (a JSON Schema); optional:
            title, output_schema, annotations (read_only_hint,
            destructive_hint, idempotent_hint, open_world_hint).
            """

        def call(self, name: str, arguments: dict[str, Any], call: "Call", /) -> "Result":
            """Call a tool, in a thread of the caller's; many may call at once.

            An AgentExecError that is raised becomes an error with its code
            and message, any other exception an internal error. The answer of
            a cancelled call is dropped; it should come soon.
            """

        def close(self) -> None:
            """End all that runs, and wait until it is gone; calls that still wait should return."""


class Call(Cancel):
    """A call that runs: set when its caller cancels; it can learn what the call waits for."""

    __slots__ = ("printed", "shows_progress", "what")

    def __init__(self) -> None:
        super().__init__()
        self.what = ""
        """The name of the work."""
        self.printed: Callable[[], tuple[int, str]] | None = None
        """Returns how many bytes it has printed, and its newest line."""
        self.shows_progress = False
        """True if the client hears meanwhile that the call goes on."""


def watch(cancel: Cancel | None, what: str, printed: "Callable[[], tuple[int, str]]") -> None:
    """Note what a call waits for, for a caller that shows progress."""
    if isinstance(cancel, Call):
        cancel.what, cancel.printed = what, printed


def shows_progress(cancel: Cancel | None) -> bool:
    """True if the caller hears meanwhile that its call goes on, and so can wait for longer."""
    return isinstance(cancel, Call) and cancel.shows_progress


class Result(Value):
    """What a call returns: a text for a model, an object for a program, and whether it is an error.

    The object must match the tool's `output_schema`, in an error too.
    """

    text: str
    structured: "dict[str, Any] | None" = None
    is_error: bool = False
