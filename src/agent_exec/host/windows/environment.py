"""What a command gets here when nothing else is said: our environment, and the system's shell."""

import os


def own_environment() -> dict[bytes, bytes]:
    """Give a snapshot of our own environment, without the nameless entry a careless parent may have made."""
    return {os.fsencode(name): os.fsencode(value) for name, value in os.environ.items() if name}


def inherited_environment() -> dict[bytes, bytes]:
    """Return the environment that this process was started with."""
    return own_environment()


def shell(line: str) -> list[str]:
    """Return the argv that has the system's shell run a line."""
    return ["cmd.exe", "/d", "/c", line]
