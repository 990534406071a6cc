"""What is seen of a command when one knows its program: what it runs in turn, and which words need a rule."""

from agent_exec.policy.shell.word import Word, plain
from agent_exec.policy.variables import reaches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Looker = Callable[["Sequence[Word]"], "Sight"]

NEVER = 1 << 30
"""The place of a word that no rule reaches."""


class Sight:
    """What a command does besides what its name says.

    `inner` are the commands it runs, `lines` the shell lines. `named` are
    words that may be commands it runs: rules may deny them. `need` is the
    place of the last word that decides what is run: a rule allows the command
    only if its prefix reaches that far. `guard` says that the need stands
    even where no rule is concerned. `transparent` is a command that only runs
    another: it needs no rule of its own. `moved` says that the other runs in
    another directory. `sets` are the variables set for it, `given` those of
    them that programs may be given and run.
    """

    __slots__ = (
        "given",
        "guard",
        "inner",
        "lines",
        "moved",
        "named",
        "need",
        "reason",
        "sets",
        "transparent",
    )

    def __init__(self) -> None:
        self.inner: list[tuple[Word, ...]] = []
        self.lines: list[str] = []
        self.named: list[tuple[Word, ...]] = []
        self.need = -1
        self.guard = False
        self.reason = ""
        self.transparent = False
        self.moved = False
        self.sets: list[str] = []
        self.given: list[str] = []

    def set(self, name: str, value: str | None, *, exported: bool = False) -> None:
        """Note that a variable is set; None is any value."""
        self.sets.append(name)
        if reaches(name, value, exported=exported):
            self.given.append(name)

    def require(self, place: int, reason: str, *, guard: bool = True) -> "Sight":
        """Note that a rule must reach this word."""
        self.guard = self.guard or guard
        if place > self.need:
            self.need = place
            self.reason = reason
        return self


def name_of(words: "Sequence[Word]") -> str:
    """Give the plain name of a command's program: no path, no ending; "" if it is not known."""
    text = words[0].text if words else None
    return "" if text is None else plain(text).casefold()


def unversioned(name: str) -> str:
    """Give a program's name without the version after it, as in python3.12 and gcc-13."""
    return name.rstrip("0123456789.").rstrip("-") or name


def is_input(path: str) -> bool:
    """True if a path is what a command reads from a pipe or a redirection, as /dev/stdin is."""
    return path.startswith(("/dev/stdin", "/dev/fd/", "/proc/self/fd/"))


def may_be_option(word: Word) -> bool:
    """Tell whether an unknown word may turn out to be an option, or several words."""
    return word.text is None and (not word.single or not word.head or word.head.startswith("-"))


def unknown_option(words: "Sequence[Word]", start: int = 1) -> int | None:
    """Give the place of the first word that may turn out to be an option."""
    return next((at for at in range(start, len(words)) if may_be_option(words[at])), None)


def names_option(word: str, *options: str) -> bool:
    """Tell whether a word is one of these long options, or may stand for one when cut short."""
    name = word.partition("=")[0]
    return name in options or (
        len(name) > 2 and name.startswith("--") and any(option.startswith(name) for option in options)
    )


class Options:
    """Walks over the options of a command, up to its first operand.

    `valued` are the options that take a value in the next word when it is not
    attached; `flags` those that take none; `attached` the short ones that
    take a value only if it is attached. Short ones may be joined.
    """

    __slots__ = ("_attached", "at", "seen", "strange", "words")

    def __init__(
        self, words: "Sequence[Word]", valued: str, flags: str, start: int = 1, *, attached: str = ""
    ) -> None:
        self.words = words
        self.seen: list[tuple[str, str | None, int]] = []
        self.strange: int | None = None
        self.at = start
        self._attached = attached.split()
        self._walk(valued.split(), flags.split())

    def value(self, *names: str) -> "tuple[str | None, int] | None":
        """Give the value of the last of these options, and its place; None if it was not given."""
        found = [(value, at) for name, value, at in self.seen if name in names]
        return found[-1] if found else None

    def has(self, *names: str) -> bool:
        """Tell whether one of these options was given."""
        return any(name in names for name, _, _ in self.seen)

    def _walk(self, valued: list[str], flags: list[str]) -> None:
        words = self.words
        while self.at < len(words):
            word = words[self.at]
            if word.text is None:
                if may_be_option(word):
                    self.strange = self.at
                return
            text = word.text
            if text == "--":
                self.at += 1
                return
            if not text.startswith("-") or text == "-":
                return
            if text.startswith("--") or text in valued or text in flags:
                self._long(text, valued, flags)
            else:
                self._short(text, valued, flags)
            if self.strange is not None:
                return
            self.at += 1

    def _long(self, text: str, valued: list[str], flags: list[str]) -> None:
        name, equals, value = text.partition("=")
        known = name if name in valued or name in flags else None
        if known is None and name.startswith("--"):
            longer = [one for one in (*valued, *flags) if one.startswith(name)]
            known = longer[0] if len(longer) == 1 else None
        if known is None:
            self.strange = self.at
        elif known in valued and not equals:
            self._next(known)
        else:
            self.seen.append((known, value if equals else None, self.at))

    def _short(self, text: str, valued: list[str], flags: list[str]) -> None:
        for place in range(1, len(text)):
            name = f"-{text[place]}"
            if name in valued:
                if place + 1 < len(text):
                    self.seen.append((name, text[place + 1 :], self.at))
                else:
                    self._next(name)
                return
            if name in self._attached:
                self.seen.append((name, text[place + 1 :] or None, self.at))
                return
            if name not in flags:
                self.strange = self.at
                return
            self.seen.append((name, None, self.at))

    def _next(self, name: str) -> None:
        self.at += 1
        if self.at < len(self.words):
            word = self.words[self.at]
            if word.text is None and not word.single:
                self.strange = self.at
            self.seen.append((name, word.text, self.at))
        else:
            self.strange = self.at - 1
