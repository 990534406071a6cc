"""The effects of a command whose program is known: what it runs, and which words a rule must name."""

from agent_exec.policy.shell.word import Word, plain
from agent_exec.policy.variables import reaches

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Inspector = Callable[["Sequence[Word]"], "Effects"]

NEVER = 1 << 30
"""The place of a word that no rule reaches."""


class Effects:
    """The effects of a command besides what its name says.

    `inner` are the commands it runs, `lines` the shell lines. `named` are
    words that may be commands it runs: rules may deny them. `need` is the
    place of the last word that decides what is run: a rule allows the command
    only if its prefix reaches that far. `guard` means that the need stands
    even if no rule allows the command. `transparent` is a command that only
    runs another: it needs no rule of its own. `moved` means that the other
    runs in another directory. `sets` are the variables set for it, `given`
    those of them that programs may be given and run.
    """

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

    def require(self, place: int, reason: str, *, guard: bool = True) -> "Effects":
        """Note that a rule must reach this word."""
        self.guard = self.guard or guard
        if place > self.need:
            self.need = place
            self.reason = reason
        return self

    def run(self, command: "Sequence[Word]") -> "Effects":
        """Note the command that is run; without one, the program is a command like others."""
        if command:
            self.inner.append(tuple(command))
        else:
            self.transparent = False
        return self


def name_of(words: "Sequence[Word]") -> str:
    """Return the name of a command's program without path and ending; "" if it is unknown."""
    text = words[0].text if words else None
    return "" if text is None else plain(text).casefold()


def unversioned(name: str) -> str:
    """Return a program's name without the version after it, as in python3.12 and gcc-13."""
    return name.rstrip("0123456789.").rstrip("-") or name


def is_input(path: str) -> bool:
    """True if a path is the input of the command, such as /dev/stdin."""
    return path.startswith(("/dev/stdin", "/dev/fd/", "/proc/self/fd/"))


def may_be_option(word: Word) -> bool:
    """True if an unknown word may turn out to be an option, or several words."""
    return word.text is None and (not word.single or not word.head or word.head.startswith("-"))


def names_option(word: str, *options: str) -> bool:
    """True if a word is one of these long options, or a beginning of one."""
    name = word.partition("=")[0]
    return name in options or (
        len(name) > 2 and name.startswith("--") and any(option.startswith(name) for option in options)
    )


class Options:
    """The options of a command, up to its first operand, which is at `at`.

    `valued` are the options that take a value in the next word when it is not
    attached; `flags` those that take none; `attached` the short ones that
    take a value only if it is attached. Short ones may be joined. `seen` are
    names and values; `strange` is the place of a word that is not understood.
    """

    def __init__(self, words: "Sequence[Word]", valued: str, flags: str, *, attached: str = "") -> None:
        self.words = words
        self.seen: list[tuple[str, str | None]] = []
        self.strange: int | None = None
        self.at = 1
        self._valued, self._flags, self._attached = valued.split(), flags.split(), attached.split()
        while self.at < len(words) and self.strange is None:
            text = words[self.at].text
            if text is None and may_be_option(words[self.at]):
                self.strange = self.at
            if text is None or not text.startswith("-") or text == "-":
                return
            if text == "--":
                self.at += 1
                return
            if text.startswith("--") or text in self._valued or text in self._flags:
                self._long(text)
            else:
                self._short(text)
            if self.strange is None:
                self.at += 1

    def has(self, *names: str) -> bool:
        """True if one of these options was given."""
        return any(name in names for name, _ in self.seen)

    def _long(self, text: str) -> None:
        name, equals, value = text.partition("=")
        options = (*self._valued, *self._flags)
        if name not in options:
            longer = [one for one in options if one.startswith(name)] if name.startswith("--") else []
            if len(longer) != 1:
                self.strange = self.at
                return
            name = longer[0]
        if name in self._valued and not equals:
            self._next(name)
        else:
            self.seen.append((name, value if equals else None))

    def _short(self, text: str) -> None:
        for place, letter in enumerate(text[1:], 2):
            name, rest = f"-{letter}", text[place:]
            if name in self._valued and not rest:
                return self._next(name)
            if name in self._valued or name in self._attached:
                self.seen.append((name, rest or None))
                return None
            if name not in self._flags:
                self.strange = self.at
                return None
            self.seen.append((name, None))
        return None

    def _next(self, name: str) -> None:
        """Take the next word as the value of an option."""
        self.at += 1
        if self.at < len(self.words):
            word = self.words[self.at]
            if word.text is None and not word.single:
                self.strange = self.at
            self.seen.append((name, word.text))
        else:
            self.strange = self.at - 1
