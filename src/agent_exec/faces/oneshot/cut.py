"""The first characters of a stream, from its first bytes."""

WIDEST = 4
"""How many bytes a character takes at most."""


def bytes_for(characters: int) -> int:
    """Return how many bytes of a stream are enough to know its first characters, and if there are more."""
    return WIDEST * characters


def cut(kept: bytes, observed: int, characters: int) -> tuple[str, bool]:
    """Return the first characters of a stream, of which `bytes_for` them were kept; True if there were more.

    A character is a code point; invalid UTF-8 becomes U+FFFD. If the bytes
    were cut, perhaps within a character, then all that were asked for lie
    before the cut: at most three bytes of it belong to an unfinished one, and
    the others are `characters` at least.
    """
    text = kept.decode("utf-8", "replace")
    more = len(text) > characters or observed > len(kept)
    return text[:characters], more
