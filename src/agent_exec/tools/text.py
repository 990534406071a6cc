"""The answer of a tool as a model reads it: a line about the state, notes, the output, what was left out.

All that we say ourselves, but for what was left out, comes before the output, which a command could forge.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def answer_text(
    status: str,
    output: str = "",
    errors: str = "",
    *,
    notes: "Iterable[str]" = (),
    left_out: "Iterable[str]" = (),
    heading: str = "",
) -> str:
    """Return the text of an answer; `heading` stands above the output, and empty parts are left out."""
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
