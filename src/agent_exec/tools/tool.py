"""What all tools share: calls and their retries, results, and the texts that models read."""

from _thread import allocate_lock
from time import monotonic

from agent_exec.model.cancel import Cancel
from agent_exec.model.jsonline import dump
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
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

    __slots__ = ("client", "printed", "shows_progress", "what")

    def __init__(self) -> None:
        super().__init__()
        self.what = ""
        """The name of the work."""
        self.printed: Callable[[], tuple[int, str]] | None = None
        """Returns how many bytes it has printed, and its newest line."""
        self.client = ""
        """The name of the program that the agent runs in, if it is known."""
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


def answer_text(
    status: str,
    output: str = "",
    errors: str = "",
    *,
    notes: "Iterable[str]" = (),
    left_out: "Iterable[str]" = (),
    heading: str = "",
) -> str:
    """Return the text of an answer: a line about the state, notes, the output, what was left out.

    `heading` stands above the output. All that we say ourselves, but for what was left out, comes
    before the output, which a command could forge. Empty parts are left out.
    """
    parts = [status, *(note for note in notes if note), *([heading] if heading else []), _closed(output)]
    parts += ["stderr:", _closed(errors)] if errors else []
    parts += [f"[{one}]" for one in left_out]
    return "\n".join(part for part in parts if part)


def ending(exit_code: int | None, signal: str | None = None, *, timed_out: bool = False) -> str:
    """Return how a command has ended: `exit 3`, `killed by SIGKILL`, `timed out, killed by SIGTERM`."""
    ended = f"killed by {signal}" if signal else f"exit {'unknown' if exit_code is None else exit_code}"
    return f"timed out, {ended}" if timed_out else ended


def tally(ended: int, left: int) -> str:
    """Return how many processes were ended: `3 processes ended, 0 left`; "" if that is not known."""
    return f"{ended} process{'es' * (ended != 1)} ended, {left} left" if ended else ""


def seconds(milliseconds: float) -> str:
    """Return a time of so many milliseconds: `0.03 s`, `4.2 s`, `75 s`."""
    value = milliseconds / 1000
    return f"{value:.2f} s" if value < 1 else f"{value:.1f} s" if value < 10 else f"{value:.0f} s"


def _closed(text: str) -> str:
    """Return a text without its last newline: the next part begins a line anyway."""
    return text.removesuffix("\n")


PATIENCE = 4.0
"""Seconds that a call may be silent by default: clients are known to give up after five."""
REMEMBERED = 600.0
"""Seconds for which the work of a cut-off call is found by the same call."""
_MOST = 256


class Retries:
    """What calls have started and did not report, by tool and arguments; any thread may use it.

    A call is cut off if its client has cancelled it. It counts as cut off too if it has been silent
    for longer than `PATIENCE`, since not every client says that it gave up; one that shows progress
    is not silent. Two equal calls within that time are two: a client may want both.
    """

    __slots__ = ("_lock", "_started")

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._started: dict[str, tuple[object, float, Cancel]] = {}

    def find(self, key: str) -> object:
        """Return what an equal call that was cut off has started, or None."""
        with self._lock:
            work, began, call = self._started.get(key, (None, 0.0, None))
        age = monotonic() - began
        cut_off = call is not None and (call.is_set() or (age > PATIENCE and not shows_progress(call)))
        return work if cut_off and age < REMEMBERED else None

    def began(self, key: str, work: object, call: "Cancel") -> None:
        """Remember what a call has started, until `answered`."""
        with self._lock:
            self._started[key] = work, monotonic(), call
            while len(self._started) > _MOST:
                del self._started[next(iter(self._started))]

    def answered(self, key: str, call: "Cancel") -> None:
        """Forget what a call has started once its answer is on its way; a cancelled call has none."""
        with self._lock:
            if not call.is_set() and self._started.get(key, (None,))[-1] is call:
                del self._started[key]


def key_of(tool: str, arguments: "dict[str, Any]") -> str:
    """Return the key of a call: equal for equal tools and arguments, in any order."""
    return f"{tool} {dump(dict(sorted(arguments.items())))}"
