"""Makes the look at a program of which only some options and words run, load or write something else."""

import re

from agent_exec.policy.programs.effects import NEVER, Sight, may_be_option, name_of, names_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.policy.programs.effects import Looker
    from agent_exec.policy.shell.word import Word

_RUNS = "it may run another program"
_WRITES = "it writes, or does more than a rule says that does not name it"


class Guard:
    """What to look for among a program's words, as lists of them in one text.

    `runs` are options whose value is a command, which is judged as well;
    `hard` options that run or load something else in other ways; `soft` those
    that a broad rule should not cover. Options of two dashes may be cut
    short; longer ones of one dash may have two. `letters` and `soft_letters`
    are short options, which may be joined up to one of the `valued`. `verbs`
    and `soft_verbs` are whole words, `starts` what a word begins with,
    `marks` what is anywhere in it. `fine` are words to pass over, `harmless`
    is a pattern of options with their values, a blank between the two, that
    are passed over as well.
    """

    __slots__ = (
        "fine",
        "hard",
        "harmless",
        "letters",
        "marks",
        "runs",
        "soft",
        "soft_letters",
        "soft_verbs",
        "starts",
        "valued",
        "verbs",
    )

    def __init__(
        self,
        *,
        runs: str = "",
        hard: str = "",
        soft: str = "",
        letters: str = "",
        soft_letters: str = "",
        valued: str = "",
        verbs: str = "",
        soft_verbs: str = "",
        starts: str = "",
        marks: str = "",
        fine: str = "",
        harmless: str = "",
    ) -> None:
        self.runs = tuple(runs.split())
        self.hard = tuple(hard.split())
        self.soft = tuple(soft.split())
        self.letters = letters
        self.soft_letters = soft_letters
        self.valued = valued
        self.verbs = frozenset(verbs.split())
        self.soft_verbs = frozenset(soft_verbs.split())
        self.starts = tuple(starts.split())
        self.marks = tuple(marks.split())
        self.fine = frozenset(fine.split())
        self.harmless = re.compile(harmless, re.ASCII) if harmless else None

    def __call__(self, words: "Sequence[Word]") -> Sight:
        """Look at a command."""
        sight = Sight()
        name, last, ended = name_of(words), len(words) - 1, False
        for at, word in enumerate(words[1:], 1):
            text = word.text
            if text is None:
                if may_be_option(word) and not (ended and not self.verbs and not self.marks):
                    sight.require(NEVER, f"it cannot be seen whether {name} would run something else")
                continue
            ended = ended or text == "--"
            kind = self._kind(text)
            if kind == "" or self._passes(words, at):
                continue
            if text in self.verbs or text in self.soft_verbs:
                place = last if kind == "hard" else at
            else:
                place = at if "=" in text else min(at + 1, last)
            reason = _WRITES if kind == "soft" else _RUNS
            sight.require(place, f"{name} {text}: {reason}", guard=kind != "soft")
            if kind == "runs":
                _, equals, value = text.partition("=")
                line = value if equals else words[place].text if place > at else None
                if line is not None:
                    sight.lines.append(line.removeprefix("exec="))
        return sight

    def _passes(self, words: "Sequence[Word]", at: int) -> bool:
        """True if an option and its value are harmless."""
        if self.harmless is None:
            return False
        text = words[at].text or ""
        following = words[at + 1].text if at + 1 < len(words) else None
        both = text if following is None else f"{text} {following}"
        return self.harmless.fullmatch(text) is not None or self.harmless.fullmatch(both) is not None

    def _kind(self, text: str) -> str:
        """Tell what a word is: of those that run, hard, soft, or of no interest, ""."""
        if text in self.fine:
            return ""
        if _named(text, self.runs):
            return "runs"
        letter = self._letter(text)
        if (
            letter == "hard"
            or text in self.verbs
            or _named(text, self.hard)
            or (self.starts and text.startswith(self.starts))
            or any(mark in text for mark in self.marks)
        ):
            return "hard"
        return "soft" if letter or text in self.soft_verbs or _named(text, self.soft) else ""

    def _letter(self, text: str) -> str:
        if text[:1] != "-" or text[1:2] == "-":
            return ""
        found = ""
        for letter in text[1:]:
            if letter in self.letters:
                return "hard"
            if letter in self.soft_letters:
                found = "soft"
            if letter in self.valued:
                break
        return found


def _named(text: str, options: "tuple[str, ...]") -> bool:
    name = text.partition("=")[0]
    return names_option(text, *options) or (
        len(name) > 3 and name[:1] == "-" and (name[1:] in options or f"-{name}" in options)
    )


def whole(reason: str) -> "Looker":
    """Make the look at a program that runs code in its words or its input: a rule must name all of them."""

    def look(words: "Sequence[Word]") -> Sight:
        place = NEVER if len(words) == 1 or any(word.text is None for word in words) else len(words) - 1
        return Sight().require(place, f"{name_of(words)} {reason}")

    return look


def verbed(run: str, *, hard: str = "", starts: str = "") -> "Looker":
    """Make the look at a program that runs another after one of these words: a rule must name that one."""
    verbs, options, begins = frozenset(run.split()), tuple(hard.split()), tuple(starts.split())

    def look(words: "Sequence[Word]") -> Sight:
        sight = Sight()
        name = name_of(words)
        for at, word in enumerate(words[1:], 1):
            if word.text is None:
                if may_be_option(word):
                    return sight.require(NEVER, f"it cannot be seen what {name} would run")
            elif names_option(word.text, *options) or (begins and word.text.startswith(begins)):
                sight.require(len(words) - 1, f"{name} {word.text}: {_RUNS}")
            elif word.text in verbs:
                following = words[at + 1].text if at + 1 < len(words) else None
                plain = following is not None and not following.startswith("-")
                place = at + 1 if plain else len(words) - 1
                sight.named.append(tuple(words[at + 1 :]))
                return sight.require(place, f"{name} {word.text} runs another program")
        return sight

    return look
