"""Moments as they are recorded: UTC, to the millisecond."""

from time import gmtime


def stamp(moment: float) -> str:
    """Return a moment (seconds since 1970) as text, such as 2026-01-31T12:00:00.250Z."""
    thousandths = round(moment * 1000)
    year, month, day, hour, minute, second, *_ = gmtime(thousandths // 1000)
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{thousandths % 1000:03}Z"
