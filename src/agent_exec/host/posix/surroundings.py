"""What a command gets here when nothing else is said: our environment, and the system's shell."""

import os


def own_environment() -> dict[bytes, bytes]:
    """Give a snapshot of our own environment, without the nameless entry a careless parent may have made."""
    # The plain mapping behind it, if it is there: a copy through the front takes 30 times as long.
    found: dict[bytes, bytes] = dict(getattr(os.environb, "_data", os.environb))
    found.pop(b"", None)
    return found


def shell(line: str) -> list[str]:
    """Give the argv that has the system's shell run a line."""
    return ["sh", "-c", line]
