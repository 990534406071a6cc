"""A mark: an argument by which the processes of one iteration are found again."""

import random


def fresh_mark() -> str:
    """Return a number for `sleep` that nobody else sleeps; small, so that it may be added to another."""
    return f"0.0{random.SystemRandom().randrange(10**15):015d}"
