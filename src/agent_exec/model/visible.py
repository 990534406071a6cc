"""Text of others, made fit for a sentence of ours: on one line, and nothing in it hides or is obeyed."""

_IN_PATHS = "/._-+@%~,=#"
_LONGEST = 256


def visible(text: str) -> str:
    """Return a text on one line; what a screen would not show, or would obey, is written out."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


def is_plainly_a_name(text: str) -> bool:
    """True if a text can be nothing but a path or a name: short, and without blanks, quotes or brackets."""
    return 0 < len(text) <= _LONGEST and all(one.isalnum() or one in _IN_PATHS for one in text)
