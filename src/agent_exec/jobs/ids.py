"""Names of jobs: sortable by time, unique without asking anyone (ULID)."""

import os
from time import time_ns

LENGTH = 26
SHORT = 8
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LETTERS = frozenset(_ALPHABET)
_RANDOM_BITS = 80


def new_id() -> str:
    """Return a new id: the time in milliseconds, then chance."""
    number = (time_ns() // 1_000_000) << _RANDOM_BITS | int.from_bytes(os.urandom(10), "big")
    return "".join([_ALPHABET[number >> shift & 31] for shift in range(5 * (LENGTH - 1), -1, -5)])


def is_id(name: str) -> bool:
    """True if this is the whole name of a job, as it stands on disk."""
    return len(name) == LENGTH and _LETTERS.issuperset(name)


def is_part(name: str) -> bool:
    """True if this can be the beginning or the end of one."""
    return 0 < len(name) <= LENGTH and _LETTERS.issuperset(name)


def created(job_id: str) -> float:
    """Return the time at which an id was made."""
    number = 0
    for letter in job_id[:10]:
        number = number << 5 | _ALPHABET.index(letter)
    return number / 1000


def short(job_id: str) -> str:
    """Return the end of an id, which differs even among jobs of the same moment."""
    return job_id[-SHORT:]
