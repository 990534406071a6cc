"""Spans of time as people write them: 250ms, 2s, 5m, 1h, 30d."""

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.limits import LONGEST

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(text: str, *, bare: str) -> float:
    """Return a span in seconds; a number without a unit is in the unit `bare`."""
    word = text.strip().lower()
    number = word.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = word[len(number) :] or bare
    try:
        # Not every text that Python takes for a number looks like one to people.
        value = float(number) if number and set(number) <= set("0123456789.") else -1.0
    except ValueError:
        value = -1.0
    if value < 0 or unit not in _UNITS:
        raise InvalidArgument(f"{text!r} is no span of time; write 250ms, 2s, 5m, 1h or 30d")
    span = value * _UNITS[unit]
    if span > LONGEST:
        raise InvalidArgument(f"{text!r} is longer than a year; write 250ms, 2s, 5m, 1h or 30d")
    return span
