"""Inspectors that are made from rows of the program table: which options and words run, load or write.

Every row has names of programs and fields. The first field that is named
here decides the kind of the row; a row with none of them is for `_guard`.

`whole REASON`: runs code from its words or its input; a rule must name all.
`opaque`: runs a command in a way of its own; a rule must name all words.
`wrap N [own] [opens] [sets] [joins]`: options, N operands, a command, see `_wrap`.
`code OPTIONS`: an interpreter, see `_interpreter`.
`line OPTIONS`: gives a line after an option to a shell, see `_line`.
`run VERBS`: runs a command after a verb; `hard` and `starts` as in `_guard`.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache, partial

from agent_exec.policy.programs.effects import (
    EXACT,
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
_INPUT = "{} reads code from its input"
_FAR = 16
"""How many words may come between an opaque program and the command that it runs."""


def _guard(row: Row, words: Sequence[Word]) -> Effects:
    """Inspect a program of which only some options and words run, load or write something else.

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
    effects = Effects()
    name, last, ended = name_of(words), len(words) - 1, False
    verbs = (*_listed(row, "verbs"), *_listed(row, "soft_verbs"))
    anywhere = "verbs" in row or "marks" in row
    for at, word in enumerate(words[1:], 1):
        text = word.text
        if text is None:
            if may_be_option(word) and (anywhere or not ended):
                effects.require(NEVER, f"it cannot be seen whether {name} would run something else")
            continue
        ended = ended or text == "--"
        kind = _kind(row, text)
        if not kind or _passes(row, text, words[at + 1].text if at < last else None):
            continue
        if text in verbs:
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


def _kind(row: Row, text: str) -> str:
    """Return "runs", "hard" or "soft" as the fields say; "" for a word that they do not name."""
    if text in _listed(row, "fine"):
        return ""
    if _named(text, _listed(row, "runs")):
        return "runs"
    letters = set(_letters(text, row.get("valued", "")))
    if (
        letters.intersection(row.get("letters", ""))
        or text in _listed(row, "verbs")
        or _named(text, _listed(row, "hard"))
        or text.startswith(_listed(row, "starts"))
        or any(mark in text for mark in _listed(row, "marks"))
    ):
        return "hard"
    light = text in _listed(row, "soft_verbs") or _named(text, _listed(row, "soft"))
    return "soft" if light or letters.intersection(row.get("soft_letters", "")) else ""


def _passes(row: Row, text: str, following: str | None) -> bool:
    """True if an option, alone or with its value, is harmless."""
    both = (text, f"{text} {following}")
    return "harmless" in row and any(re.fullmatch(row["harmless"], one, re.ASCII) for one in both)


@cache
def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _listed(row: Row, field: str) -> tuple[str, ...]:
    return _split(row.get(field, ""))


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


def _whole(row: Row, words: Sequence[Word]) -> Effects:
    place = NEVER if any(word.text is None for word in words) else len(words) - 1 or EXACT
    return Effects().foreign(place, f"{name_of(words)} {row['whole']}")


def _opaque(_row: Row, words: Sequence[Word]) -> Effects:
    """Inspect a program that runs a command somewhere among its words."""
    effects = Effects()
    effects.named += [tuple(words[at:]) for at in range(1, min(len(words), _FAR))]
    return effects.require(len(words) - 1 or EXACT, f"{name_of(words)} runs what its words say")


def _wrap(row: Row, words: Sequence[Word]) -> Effects:
    """Inspect a program that runs the command after its options and operands.

    `own` is for programs that add powers, and so need a rule of their own;
    `opens` for those that open a shell when no command is given; `sets` for
    those that take NAME=VALUE before the command; `joins` for those that give
    the words to a shell, unless an option in `apart` is there. Those in
    `moves` change the directory, those in `shell` have a shell expand the
    command, and with those in `never` it cannot be seen what is run.
    """
    skip, *traits = row["wrap"].split()
    effects = Effects()
    options = Options(words, row.get("valued", ""), row.get("flags", ""))
    start = options.at + int(skip)
    unknown = any(word.text is None for word in words[options.at : start])
    if options.unclear or unknown or options.has(*_listed(row, "never")):
        return effects.require(NEVER, UNSURE.format(name_of(words)))
    effects.transparent = "own" not in traits
    effects.moved = options.has(*_listed(row, "moves"))
    command = words[start:]
    if "sets" in traits:
        command = _assigned(effects, command)
        if command and command[0].text is None:
            effects.require(NEVER, UNSURE.format(name_of(words)))
    if "joins" in traits and any(word.text is None for word in command):
        return effects.require(NEVER, UNSURE.format(name_of(words)))
    if "joins" in traits and not options.has(*_listed(row, "apart")):
        effects.lines.append(" ".join(word.text or "" for word in command))
        return effects
    shell = options.has(*_listed(row, "shell"))
    expanded = shell and any("$" in (word.text or "$") for word in command)
    if expanded or (not command and (shell or "opens" in traits)):
        effects.require(NEVER, "it opens a shell")
    return effects.run(command)


def _assigned(effects: Effects, words: Sequence[Word]) -> Sequence[Word]:
    """Note the variables that words before a command set; return the command."""
    for at, word in enumerate(words):
        name, equals, value = word.head.partition("=")
        if equals:
            effects.set(name, value if word.text is not None else None, exported=True)
        elif word.text != "-" or not effects.transparent:
            return words[at:]
    return ()


def _run(row: Row, words: Sequence[Word]) -> Effects:
    """Inspect a program that runs another after a verb: a rule must name that one."""
    effects = Effects()
    name = name_of(words)
    for at, word in enumerate(words[1:], 1):
        if word.text is None:
            if may_be_option(word):
                return effects.require(NEVER, f"it cannot be seen what {name} would run")
        elif names_option(word.text, *_listed(row, "hard")) or word.text.startswith(_listed(row, "starts")):
            effects.require(len(words) - 1, f"{name} {word.text}: {_RUNS}")
        elif word.text in _listed(row, "run"):
            following = words[at + 1].text if at + 1 < len(words) else None
            plain = following is not None and not following.startswith("-")
            effects.named.append(tuple(words[at + 1 :]))
            place = at + 1 if plain else len(words) - 1
            return effects.require(place, f"{name} {word.text} runs another program")
    return effects


def _line(row: Row, words: Sequence[Word]) -> Effects:
    """Inspect a program that gives a line after an option, or its last words, to a shell.

    Its options may stand anywhere, so that only a line in a known place is
    read, and a rule must name all words; `operands` is how many words that
    are no options come before a command. Without a line it opens a shell.
    """
    names, operands = _listed(row, "line"), int(row.get("operands", "0"))
    short = tuple(name[1] for name in names if len(name) == 2)
    texts = [word.text for word in words[1:]]
    lines: list[str | None] = []
    for at, text in enumerate(texts):
        name, equals, value = (text or "").partition("=")
        if name[:2] == "--" and len(name) > 2 and any(one.startswith(name) for one in names):
            lines += [value] if equals else texts[at + 1 : at + 2]
        elif text and text[0] == "-" and text[:2] != "--" and text.endswith(short):
            lines += texts[at + 1 : at + 2]
    plain = [text for text in texts if text is not None and text[:1] != "-"]
    if operands and not lines and len(plain) > operands:
        lines += [" ".join(plain[operands:]), *plain[operands:]]
    effects = Effects()
    if not lines or words[0].text is None or None in texts:
        return effects.require(NEVER, "it opens a shell, or it cannot be seen what it runs")
    effects.lines += [line for line in lines if line is not None]
    return effects.require(len(words) - 1, f"{name_of(words)} runs what its words say")


def _interpreter(row: Row, words: Sequence[Word]) -> Effects:
    """Inspect an interpreter.

    `code` are the options that are followed by code, `module` those followed
    by the name of some, `flags` those that change nothing about what is run,
    `run` the words before the name of what is run, `asking` those that only
    print something about the interpreter.
    """
    code, verbs = _listed(row, "code"), _listed(row, "run")
    effects = Effects()
    name = name_of(words)
    for at, word in enumerate(words[1:], 1):
        text = word.text
        if text is None:
            return effects.foreign(NEVER if may_be_option(word) else at, _FILE.format(name))
        if text in code or text.startswith(tuple(f"{one}=" for one in code)):
            return effects.foreign(at + 1 if text in code else at, _INLINE.format(name))
        if text in _listed(row, "module"):
            return effects.require(at + 1, _FILE.format(name), guard=False)
        if len(words) == 2 and text in row.get("asking", "--version --help").split():
            return effects
        if text == "-" or is_input(text):
            return effects.foreign(at, _INPUT.format(name), source="input")
        if text in _listed(row, "flags") or text in verbs:
            continue
        if text.startswith("-"):
            return effects.foreign(len(words) - 1, _INLINE.format(name))
        if verbs:
            effects.named.append(tuple(words[at:]))
        return effects.require(at, _FILE.format(name), guard=False)
    return effects.foreign(len(words) - 1 or EXACT, _INPUT.format(name), source="input")


_KINDS: dict[str, Callable[[Row, Sequence[Word]], Effects]] = {
    "whole": _whole,
    "opaque": _opaque,
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
        found.update(dict.fromkeys(programs, partial(make, row)))
    return found
