"""A word of a command, as far as it is known before the shell expands it."""

from agent_exec.model.value import Value


class Word(Value):
    """One word, or the place of one.

    `text` is what the command will get, or None if only the shell will know.
    `head` is what it surely begins with. `single` says that it becomes
    exactly one word; an unquoted expansion may become none or many.
    """

    __slots__ = ("head", "single", "source", "text")

    def __init__(self, text: str | None, *, source: str = "", head: str = "", single: bool = True) -> None:
        self.text = text
        self.source = source if text is None or source else text
        self.head = head if text is None else text
        self.single = single


def known(words: "tuple[str, ...] | list[str]") -> tuple[Word, ...]:
    """Return the words of an argument vector."""
    return tuple(Word(word) for word in words)


def base(name: str) -> str:
    """Return the last part of a program's path."""
    return name.replace("\\", "/").rpartition("/")[2]


def plain(name: str) -> str:
    """Return a program's name without its path, and without the ending that Windows puts to programs."""
    last = base(name)
    return last[:-4] if last[-4:].casefold() in (".exe", ".cmd", ".bat", ".com") else last
