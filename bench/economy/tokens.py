"""Counts tokens: by o200k where a tokenizer is installed, else as bytes over 3.5."""

from collections.abc import Callable


def counter() -> tuple[str, Callable[[str], int]]:
    """Return the name of the count, and the count."""
    try:
        from rs_bpe.bpe import openai  # type: ignore[import-not-found]
    except ImportError:
        return "bytes / 3.5", lambda text: round(len(text.encode("utf-8", "replace")) / 3.5)
    encoder = openai.o200k_base()
    return "o200k", lambda text: len(encoder.encode(text))
