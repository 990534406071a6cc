"""Inspectors that are made from rows of the program table: which options and words run, load or write.

Every row has names of programs and fields. The first field that is named
here decides the kind of the row; a row with none of them is a `Guard`.

`whole REASON`: runs code from its words or its input; a rule must name all.
`opaque`: runs a command in a way of its own; a rule must name all words.
`wrap N [own] [opens]`: options (`valued`, `flags`), N operands, a command.
`code OPTIONS`: an interpreter, see `Interpreter`.
`line OPTIONS`: gives a line after an option to a shell, see `_line`.
`run VERBS`: runs a command after a verb; `hard` and `starts` as in `Guard`.
"""

import re
from itertools import pairwise

from agent_exec.policy.programs.effects import (
    NEVER,
    Effects,
    Options,
    is_input,
    may_be_option,
    name_of,
    names_option,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_exec.policy.programs.effects import Inspector
    from agent_exec.policy.shell.word import Word

    Row = dict[str, str]

UNSURE = "it cannot be seen which command {} would run"
_RUNS = "it may run another program"
_WRITES = "it writes, or does more than a rule says that does not name it"
_INLINE = "{} runs code that a rule does not see"
_FILE = "{} runs a file that was not seen"
_FAR = 16
"""How many words may come between an opaque program and the command that it runs."""


class Guard:
    """Inspects a program of which only some options and words run, load or write something else.

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

    def __init__(self, row: "Row") -> None:
        def listed(field: str) -> tuple[str, ...]:
            return tuple(row.get(field, "").split())

        self._runs, self._hard, self._soft = listed("runs"), listed("hard"), listed("soft")
        self._verbs, self._soft_verbs, self._fine = listed("verbs"), listed("soft_verbs"), listed("fine")
        self._starts, self._marks = listed("starts"), listed("marks")
        self._letters, self._soft_letters = row.get("letters", ""), row.get("soft_letters", "")
        self._valued = row.get("valued", "")
        self._harmless = re.compile(row["harmless"], re.ASCII) if "harmless" in row else None

    def __call__(self, words: "Sequence[Word]") -> Effects:
        """Inspect a command."""
        effects = Effects()
        name, last, ended = name_of(words), len(words) - 1, False
        for at, word in enumerate(words[1:], 1):
            text = word.text
            if text is None:
                if may_be_option(word) and not (ended and not self._verbs and not self._marks):
                    effects.require(NEVER, f"it cannot be seen whether {name} would run something else")
                continue
            ended = ended or text == "--"
            kind = self._kind(text)
            if kind == "" or self._passes(words, at):
                continue
            if text in self._verbs or text in self._soft_verbs:
                place = last if kind == "hard" else at
            else:
                place = at if "=" in text else min(at + 1, last)
            reason = _WRITES if kind == "soft" else _RUNS
            effects.require(place, f"{name} {text}: {reason}", guard=kind != "soft")
            if kind == "runs":
                _, equals, value = text.partition("=")
                line = value if equals else words[place].text if place > at else None
                if line is not None:
                    effects.lines.append(line.removeprefix("exec="))
        return effects

    def _passes(self, words: "Sequence[Word]", at: int) -> bool:
        """True if an option, alone or with its value, is harmless."""
        if self._harmless is None:
            return False
        text = words[at].text or ""
        following = words[at + 1].text if at + 1 < len(words) else None
        both = text if following is None else f"{text} {following}"
        return any(self._harmless.fullmatch(one) is not None for one in (text, both))

    def _kind(self, text: str) -> str:
        """Return "runs", "hard" or "soft" as the fields say; "" for a word that they do not name."""
        if text in self._fine:
            return ""
        if _named(text, self._runs):
            return "runs"
        letter = self._letter(text)
        if (
            letter == "hard"
            or text in self._verbs
            or _named(text, self._hard)
            or (self._starts and text.startswith(self._starts))
            or any(mark in text for mark in self._marks)
        ):
            return "hard"
        return "soft" if letter or text in self._soft_verbs or _named(text, self._soft) else ""

    def _letter(self, text: str) -> str:
        found = ""
        for letter in text[1:] if text[:1] == "-" and text[1:2] != "-" else "":
            if letter in self._letters:
                return "hard"
            if letter in self._soft_letters:
                found = "soft"
            if letter in self._valued:
                break
        return found


def _named(text: str, options: "tuple[str, ...]") -> bool:
    name = text.partition("=")[0]
    return names_option(text, *options) or (
        len(name) > 3 and name[:1] == "-" and (name[1:] in options or f"-{name}" in options)
    )


def _whole(row: "Row") -> "Inspector":
    def inspect(words: "Sequence[Word]") -> Effects:
        place = NEVER if len(words) == 1 or any(word.text is None for word in words) else len(words) - 1
        return Effects().require(place, f"{name_of(words)} {row['whole']}")

    return inspect


def opaque(words: "Sequence[Word]") -> Effects:
    """Inspect a program that runs a command somewhere among its words."""
    effects = Effects()
    effects.named += [tuple(words[at:]) for at in range(1, min(len(words), _FAR))]
    if len(words) == 1:
        return effects.require(NEVER, f"{name_of(words)} runs what it is told")
    return effects.require(len(words) - 1, f"{name_of(words)} runs what its words say")


def _wrap(row: "Row") -> "Inspector":
    """Return the inspector of a program that runs the command after its options and operands.

    `own` is for programs that add powers, and so need a rule of their own;
    `opens` for those that open a shell when no command is given.
    """
    skip, *traits = row["wrap"].split()

    def inspect(words: "Sequence[Word]") -> Effects:
        effects = Effects()
        options = Options(words, row.get("valued", ""), row.get("flags", ""))
        start = options.at + int(skip)
        if options.strange is not None or any(word.text is None for word in words[options.at : start]):
            return effects.require(NEVER, UNSURE.format(name_of(words)))
        effects.transparent = "own" not in traits
        if "opens" in traits and start >= len(words):
            return effects.require(NEVER, "it opens a shell")
        return effects.run(words[start:])

    return inspect


def _run(row: "Row") -> "Inspector":
    """Return the inspector of a program that runs another after a verb: a rule must name that one."""
    verbs, options, begins = (tuple(row.get(field, "").split()) for field in ("run", "hard", "starts"))

    def inspect(words: "Sequence[Word]") -> Effects:
        effects = Effects()
        name = name_of(words)
        for at, word in enumerate(words[1:], 1):
            if word.text is None:
                if may_be_option(word):
                    return effects.require(NEVER, f"it cannot be seen what {name} would run")
            elif names_option(word.text, *options) or (begins and word.text.startswith(begins)):
                effects.require(len(words) - 1, f"{name} {word.text}: {_RUNS}")
            elif word.text in verbs:
                following = words[at + 1].text if at + 1 < len(words) else None
                plain = following is not None and not following.startswith("-")
                effects.named.append(tuple(words[at + 1 :]))
                place = at + 1 if plain else len(words) - 1
                return effects.require(place, f"{name} {word.text} runs another program")
        return effects

    return inspect


def _line(row: "Row") -> "Inspector":
    """Return the inspector of a program that gives a line after an option, or its last words, to a shell.

    Its options may stand anywhere, so that only a line in a known place is
    read, and a rule must name all words; `operands` is how many words that
    are no options come before a command. Without a line it opens a shell.
    """
    names, operands = row["line"].split(), int(row.get("operands", "0"))

    def given(text: str) -> bool:
        """True for the option itself, joined to others, or cut short."""
        if text.startswith("--"):
            return len(text) > 2 and any(name.startswith(text) for name in names)
        short = [name[1] for name in names if len(name) == 2]
        return text in names or (text[:1] == "-" and text.endswith(tuple(short)))

    def inspect(words: "Sequence[Word]") -> Effects:
        effects = Effects()
        texts = [word.text for word in words[1:]]
        lines = [following for text, following in pairwise(texts) if given(text or "")]
        for text in texts:
            name, equals, value = (text or "").partition("=")
            if equals and len(name) > 2 and any(one.startswith(name) for one in names):
                lines.append(value)
        plain = [text for text in texts if text is not None and text[:1] != "-"]
        if operands and not lines and len(plain) > operands:
            lines += [" ".join(plain[operands:]), *plain[operands:]]
        if not lines or words[0].text is None or None in texts:
            return effects.require(NEVER, "it opens a shell, or it cannot be seen what it runs")
        effects.lines += [line for line in lines if line is not None]
        return effects.require(len(words) - 1, f"{name_of(words)} runs what its words say")

    return inspect


class Interpreter:
    """Inspects an interpreter.

    `code` are the options that are followed by code, `module` those followed
    by the name of some, `flags` those that change nothing about what is run,
    `run` the words before the name of what is run, `asking` those that only
    print something about the interpreter.
    """

    def __init__(self, row: "Row") -> None:
        self._code, self._module = row["code"].split(), row.get("module", "").split()
        self._flags, self._verbs = row.get("flags", "").split(), row.get("run", "").split()
        self._asking = row.get("asking", "--version --help").split()

    def __call__(self, words: "Sequence[Word]") -> Effects:
        """Inspect a command."""
        effects = Effects()
        name = name_of(words)
        for at, word in enumerate(words[1:], 1):
            text = word.text
            if text is None:
                place = NEVER if may_be_option(word) else at
                return effects.require(place, _FILE.format(name), guard=place == NEVER)
            if text in self._code or any(text.startswith(f"{one}=") for one in self._code):
                return effects.require(at + 1 if text in self._code else at, _INLINE.format(name))
            if text in self._module:
                return effects.require(at + 1, _FILE.format(name), guard=False)
            if text in self._asking and len(words) == 2:
                return effects
            if text == "-" or is_input(text):
                break
            if text in self._flags or text in self._verbs:
                continue
            if text.startswith("-"):
                guard = any(self._inline(one.text or "") for one in words[at:])
                return effects.require(len(words) - 1, _INLINE.format(name), guard=guard)
            if self._verbs:
                effects.named.append(tuple(words[at:]))
            return effects.require(at, _FILE.format(name), guard=False)
        return effects.require(NEVER, f"{name} reads code from its input")

    def _inline(self, text: str) -> bool:
        """True if joined short options have code in them."""
        letters = [one[1:] for one in self._code if len(one) == 2]
        return text.startswith("--") or (text[:1] == "-" and any(letter in text for letter in letters))


_KINDS: "dict[str, Callable[[Row], Inspector]]" = {
    "whole": _whole,
    "opaque": lambda _row: opaque,
    "wrap": _wrap,
    "code": Interpreter,
    "line": _line,
    "run": _run,
}


def rows(table: str) -> "list[tuple[list[str], Row]]":
    """Return the rows of a table: names and fields; a field may go on in further lines."""
    found: list[tuple[list[str], Row]] = [([], {})]
    for line in table.strip().split("\n"):
        names, _, fields = line.partition(":") if line[0] != " " else ("", "", line)
        if names and found[-1][1]:
            found.append(([], {}))
        programs, row = found[-1]
        programs += names.split()
        for field in filter(None, fields.strip().split("; ")):
            name, _, value = field.partition(" ")
            joint = "|" if name == "harmless" else " "
            row[name] = f"{row[name]}{joint}{value}" if name in row else value
    return found


def parse(table: str) -> "dict[str, Inspector]":
    """Return the inspectors of the programs in a table."""
    found: dict[str, Inspector] = {}
    for programs, row in rows(table):
        make = next((make for kind, make in _KINDS.items() if kind in row), Guard)
        found.update(dict.fromkeys(programs, make(row)))
    return found
