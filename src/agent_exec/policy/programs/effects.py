"""The effects of a command whose program is known: what it runs, and which words a rule must name."""

from collections.abc import Callable, Sequence

from agent_exec.policy.shell.word import Word, plain
from agent_exec.policy.variables import reaches

NEVER = 1 << 30
"""The place of a word that no rule reaches."""
EXACT = NEVER - 1
"""The place that only a rule for exactly these words reaches."""


class Effects:
    """The effects of a command besides what its name says.

    `inner` are the commands it runs, `lines` the shell lines. `named` are
    words that may be commands it runs: rules may deny them. `need` is the
    place of the last word that decides what is run: a rule allows the command
    only if its prefix reaches that far. `guard` means that the need stands
    even if no rule allows the command. `code` says where code in a language
    of its own comes from, "words" or "input": see `foreign`. `transparent` is a command that only
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
        self.code = ""
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

    def foreign(self, place: int, reason: str, *, source: str = "words") -> "Effects":
        """Note that the program runs code in a language that is not the shell's.

        That is what the program does once it runs, as with a file of code: a
        rule allows it only if it reaches `place`, and without one the
        command is like others, unless the code names what a rule is against.
        """
        self.code = source
        return self.require(place, reason, guard=False)

    def run(self, command: Sequence[Word]) -> "Effects":
        """Note the command that is run; without one, the program is a command like others."""
        if command:
            self.inner.append(tuple(command))
        else:
            self.transparent = False
        return self


Inspector = Callable[[Sequence[Word]], Effects]


def name_of(words: Sequence[Word]) -> str:
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
    names and values; `unclear` says that a word is not understood.
    """

    def __init__(self, words: Sequence[Word], valued: str, flags: str, *, attached: str = "") -> None:
        self.seen: list[tuple[str, str | None]] = []
        self.unclear = False
        self.at = 1
        self._valued, self._flags, self._attached = valued.split(), flags.split(), attached.split()
        while self.at < len(words) and not self.unclear:
            text = words[self.at].text or ""
            if not text.startswith("-") or text == "-":
                self.unclear = may_be_option(words[self.at])
                return
            self.at += 1
            if text == "--":
                return
            found = self._split(text)
            self.seen += found
            if not found:
                self.unclear = True
            elif found[-1][0] in self._valued and found[-1][1] is None:
                following = words[self.at] if self.at < len(words) else Word(None, single=False)
                self.unclear = following.text is None and not following.single
                self.seen[-1] = (found[-1][0], following.text)
                self.at += 1

    def has(self, *names: str) -> bool:
        """True if one of these options was given."""
        return any(name in names for name, _ in self.seen)

    def _split(self, text: str) -> list[tuple[str, str | None]]:
        """Return the options in one word, with values that are attached; none if they are not known."""
        options = (*self._valued, *self._flags)
        if text.startswith("--") or text in options:
            name, equals, value = text.partition("=")
            known = [name] if name in options else [one for one in options if one.startswith(name)]
            return [(known[0], value if equals else None)] if len(known) == 1 else []
        found: list[tuple[str, str | None]] = []
        for at, letter in enumerate(text[1:], 2):
            name = f"-{letter}"
            if name in self._valued or name in self._attached:
                return [*found, (name, text[at:] or None)]
            if name not in self._flags:
                return []
            found.append((name, None))
        return found


def arguments(words: Sequence[Word], valued: Sequence[str] = ()) -> tuple[list[Word], dict[str, str]]:
    """Return the operands among the words, and the options with their values, without signals."""
    operands: list[Word] = []
    options: dict[str, str] = {}
    ended = False
    rest = iter(words[1:])
    for word in rest:
        text = word.text
        if text is None or ended or text[:1] != "-" or text == "-":
            operands.append(word)
        elif text == "--":
            ended = True
        elif text in valued:
            options[text] = next(rest, word).text or ""
        elif text.startswith("--"):
            name, _, options[name] = text.partition("=")
        elif not text[1:].isupper() and not text[1:].isdecimal():
            for at, letter in enumerate(text[1:], 2):
                options[f"-{letter}"] = text[at:]
                if f"-{letter}" in valued:
                    break
    return operands, options
