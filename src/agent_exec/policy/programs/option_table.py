"""Inspectors that are made from rows of the program table: which options and words run, load or write.

Every row has names of programs and fields. The first field that is named
here decides the kind of the row; a row with none of them is for `_guard`.

`whole REASON`: runs code from its words or its input; a rule must name all.
`opaque`: runs a command in a way of its own; a rule must name all words.
`wrap N [own] [opens] [sets]`: options, N operands, a command, see `_wrap`.
`code OPTIONS`: an interpreter, see `_interpreter`.
`line OPTIONS`: gives a line after an option to a shell, see `_line`.
`run VERBS`: runs a command after a verb; `hard` and `starts` as in `_guard`.
"""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from agent_exec.policy.programs.effects import (
    NEVER,
    Effects,
    Inspector,
    Options,
    is_input,
    may_be_option,
    name_of,
    names_option,
)
from agent_exec.policy.shell.word import Word

Row = dict[str, str]

UNSURE = "it cannot be seen which command {} would run"
_RUNS = "it may run another program"
_WRITES = "it writes, or does more than a rule says that does not name it"
_INLINE = "{} runs code that a rule does not see"
_FILE = "{} runs a file that was not seen"
_FAR = 16
"""How many words may come between an opaque program and the command that it runs."""


def _guard(row: Row) -> Inspector:
    """Return the inspector of a program of which only some options and words run, load or write more.

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
    runs, hard, soft = (_listed(row, field) for field in ("runs", "hard", "soft"))
    verbs, soft_verbs, fine = (_listed(row, field) for field in ("verbs", "soft_verbs", "fine"))
    starts, marks = _listed(row, "starts"), _listed(row, "marks")
    harmless = re.compile(row["harmless"], re.ASCII) if "harmless" in row else None

    def kind(text: str) -> str:
        """Return "runs", "hard" or "soft" as the fields say; "" for a word that they do not name."""
        if text in fine:
            return ""
        if _named(text, runs):
            return "runs"
        letters = set(_letters(text, row.get("valued", "")))
        if (
            letters.intersection(row.get("letters", ""))
            or text in verbs
            or _named(text, hard)
            or text.startswith(starts)
            or any(mark in text for mark in marks)
        ):
            return "hard"
        light = letters.intersection(row.get("soft_letters", "")) or text in soft_verbs or _named(text, soft)
        return "soft" if light else ""

    def passes(text: str, following: str | None) -> bool:
        """True if an option, alone or with its value, is harmless."""
        return harmless is not None and any(map(harmless.fullmatch, (text, f"{text} {following}")))

    def inspect(words: Sequence[Word]) -> Effects:
        effects = Effects()
        name, last, ended = name_of(words), len(words) - 1, False
        for at, word in enumerate(words[1:], 1):
            text = word.text
            if text is None:
                if may_be_option(word) and not (ended and not verbs and not marks):
                    effects.require(NEVER, f"it cannot be seen whether {name} would run something else")
                continue
            ended = ended or text == "--"
            found = kind(text)
            if not found or passes(text, words[at + 1].text if at < last else None):
                continue
            if text in verbs or text in soft_verbs:
                place = last if found == "hard" else at
            else:
                place = at if "=" in text else min(at + 1, last)
            reason = _WRITES if found == "soft" else _RUNS
            effects.require(place, f"{name} {text}: {reason}", guard=found != "soft")
            if found == "runs":
                _, equals, value = text.partition("=")
                line = value if equals else words[place].text if place > at else None
                if line is not None:
                    effects.lines.append(line.removeprefix("exec="))
        return effects

    return inspect


def _listed(row: Row, field: str) -> tuple[str, ...]:
    return tuple(row.get(field, "").split())


def _letters(text: str, valued: str) -> str:
    """Return the joined short options in a word, up to one that takes a value."""
    if text[:1] != "-" or text[1:2] == "-":
        return ""
    return text[1 : next((at for at, letter in enumerate(text) if letter in valued), len(text)) + 1]


def _named(text: str, options: tuple[str, ...]) -> bool:
    name = text.partition("=")[0]
    return names_option(text, *options) or (
        len(name) > 3 and name[:1] == "-" and (name[1:] in options or f"-{name}" in options)
    )


def _whole(row: Row) -> Inspector:
    def inspect(words: Sequence[Word]) -> Effects:
        place = NEVER if len(words) == 1 or any(word.text is None for word in words) else len(words) - 1
        return Effects().require(place, f"{name_of(words)} {row['whole']}")

    return inspect


def opaque(words: Sequence[Word]) -> Effects:
    """Inspect a program that runs a command somewhere among its words."""
    effects = Effects()
    effects.named += [tuple(words[at:]) for at in range(1, min(len(words), _FAR))]
    if len(words) == 1:
        return effects.require(NEVER, f"{name_of(words)} runs what it is told")
    return effects.require(len(words) - 1, f"{name_of(words)} runs what its words say")


def _wrap(row: Row) -> Inspector:
    """Return the inspector of a program that runs the command after its options and operands.

    `own` is for programs that add powers, and so need a rule of their own;
    `opens` for those that open a shell when no command is given; `sets` for
    those that take NAME=VALUE before the command. Of the options, those in
    `moves` change the directory, those in `shell` have a shell expand the
    command, and with those in `never` it cannot be seen what is run.
    """
    skip, *traits = row["wrap"].split()
    moves, shell, never = (_listed(row, field) for field in ("moves", "shell", "never"))

    def inspect(words: Sequence[Word]) -> Effects:
        effects = Effects()
        options = Options(words, row.get("valued", ""), row.get("flags", ""))
        start = options.at + int(skip)
        unknown = any(word.text is None for word in words[options.at : start])
        if options.unclear or unknown or options.has(*never):
            return effects.require(NEVER, UNSURE.format(name_of(words)))
        effects.transparent = "own" not in traits
        effects.moved = options.has(*moves)
        command = _assigned(effects, words[start:]) if "sets" in traits else words[start:]
        if "sets" in traits and command and command[0].text is None:
            effects.require(NEVER, UNSURE.format(name_of(words)))
        opens = "opens" in traits or options.has(*shell)
        expanded = options.has(*shell) and any("$" in (word.text or "$") for word in command)
        if (opens and not command) or expanded:
            effects.require(NEVER, "it opens a shell")
        return effects.run(command)

    return inspect


def _assigned(effects: Effects, words: Sequence[Word]) -> Sequence[Word]:
    """Note the variables that words before a command set; return the command."""
    for at, word in enumerate(words):
        name, equals, value = word.head.partition("=")
        if equals:
            effects.set(name, value if word.text is not None else None, exported=True)
        elif word.text != "-" or not effects.transparent:
            return words[at:]
    return ()


def _run(row: Row) -> Inspector:
    """Return the inspector of a program that runs another after a verb: a rule must name that one."""
    verbs, options, begins = (_listed(row, field) for field in ("run", "hard", "starts"))

    def inspect(words: Sequence[Word]) -> Effects:
        effects = Effects()
        name = name_of(words)
        for at, word in enumerate(words[1:], 1):
            if word.text is None:
                if may_be_option(word):
                    return effects.require(NEVER, f"it cannot be seen what {name} would run")
            elif names_option(word.text, *options) or word.text.startswith(begins):
                effects.require(len(words) - 1, f"{name} {word.text}: {_RUNS}")
            elif word.text in verbs:
                following = words[at + 1].text if at + 1 < len(words) else None
                plain = following is not None and not following.startswith("-")
                effects.named.append(tuple(words[at + 1 :]))
                place = at + 1 if plain else len(words) - 1
                return effects.require(place, f"{name} {word.text} runs another program")
        return effects

    return inspect


def _line(row: Row) -> Inspector:
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

    def inspect(words: Sequence[Word]) -> Effects:
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


def _interpreter(row: Row) -> Inspector:
    """Return the inspector of an interpreter.

    `code` are the options that are followed by code, `module` those followed
    by the name of some, `flags` those that change nothing about what is run,
    `run` the words before the name of what is run, `asking` those that only
    print something about the interpreter.
    """
    code, module, flags, verbs = (_listed(row, field) for field in ("code", "module", "flags", "run"))
    asking = row.get("asking", "--version --help").split()
    letters = [one[1:] for one in code if len(one) == 2]

    def inline(text: str) -> bool:
        """True if joined short options have code in them."""
        return text.startswith("--") or (text[:1] == "-" and any(letter in text for letter in letters))

    def inspect(words: Sequence[Word]) -> Effects:
        effects = Effects()
        name = name_of(words)
        for at, word in enumerate(words[1:], 1):
            text = word.text
            if text is None:
                place = NEVER if may_be_option(word) else at
                return effects.require(place, _FILE.format(name), guard=place == NEVER)
            if text in code or any(text.startswith(f"{one}=") for one in code):
                return effects.require(at + 1 if text in code else at, _INLINE.format(name))
            if text in module:
                return effects.require(at + 1, _FILE.format(name), guard=False)
            if text in asking and len(words) == 2:
                return effects
            if text == "-" or is_input(text):
                break
            if text in flags or text in verbs:
                continue
            if text.startswith("-"):
                guard = any(inline(one.text or "") for one in words[at:])
                return effects.require(len(words) - 1, _INLINE.format(name), guard=guard)
            if verbs:
                effects.named.append(tuple(words[at:]))
            return effects.require(at, _FILE.format(name), guard=False)
        return effects.require(NEVER, f"{name} reads code from its input")

    return inspect


_KINDS: dict[str, Callable[[Row], Inspector]] = {
    "whole": _whole,
    "opaque": lambda _row: opaque,
    "wrap": _wrap,
    "code": _interpreter,
    "line": _line,
    "run": _run,
}


def rows(table: str) -> list[tuple[list[str], Row]]:
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


def parse(table: str) -> dict[str, Inspector]:
    """Return the inspectors of the programs in a table."""
    found: dict[str, Inspector] = {}
    for programs, row in rows(table):
        make = next((make for kind, make in _KINDS.items() if kind in row), _guard)
        found.update(dict.fromkeys(programs, make(row)))
    return found
