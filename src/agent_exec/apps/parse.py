"""Parses a command line into a verb, its options and its words; usage errors."""

import os
import sys

from agent_exec.apps.options import BEFORE_COMMAND, GLOBAL, SAME_OPTIONS, SAME_VERBS, SHORT, VERBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

    from agent_exec.apps.option_groups import Option
    from agent_exec.faces.verbs import Jobs
    from agent_exec.jobs.store import Store

_MOST = 2**63 - 1
_INSTEAD = {("tail", "follow"): "; `agent-exec logs -f JOB` follows it as text"}
"""What an option that people try is called here."""


class UsageError(Exception):
    """The command line is invalid; the message says what would be valid."""

    def __init__(self, message: str, verb: str | None = None) -> None:
        super().__init__(message)
        self.verb = verb


class Parsed:
    """A verb, its options by name as typed values, and its words."""

    __slots__ = ("far", "options", "remote", "texts", "verb", "words")

    def __init__(self) -> None:
        self.verb: str | None = None
        self.options: dict[str, Any] = {}
        self.texts: dict[str, str] = {}
        """The options as text, as the caller wrote them."""
        self.words: list[str] = []
        self.remote: Jobs | None = None
        """The jobs of the server that the options name; None for those of this machine."""
        self.far = False
        """True if that server may be on another machine, whose folders are not ours."""

    @property
    def form(self) -> str:
        """The form of the answer: "json", "yaml" or "human"."""
        for form in ("yaml", "human"):
            if form in self.options:
                return form
        return "human" if os.environ.get("AGENT_EXEC_FORMAT") == "human" else "json"

    def store(self) -> "Store":
        """Return the store of jobs that the options name, or the default one."""
        from agent_exec.jobs.store import jobs_store

        store = jobs_store(self.options.get("root"))
        if "verbose" in self.options:
            sys.stderr.write(f"agent-exec: {self.verb} in {store.root}\n")
        return store


def parse(arguments: "Sequence[str]") -> Parsed:
    """Parse a command line; options may come before or after the verb, but not after a command."""
    found = Parsed()
    known = _known(GLOBAL)
    place = 0
    while place < len(arguments):
        word = arguments[place]
        place += 1
        if word == "--" and found.verb is not None:
            found.words += arguments[place:]
            break
        if word.startswith("-") and word != "-":
            place = _option(found, known, word, arguments, place)
        elif found.verb is None:
            found.verb = _verb(word)
            known |= _known(VERBS[found.verb].options)
        elif (found.verb, *found.words) in BEFORE_COMMAND:
            found.words += arguments[place - 1 :]  # the rest belongs to the command
            break
        else:
            found.words.append(word)
    return found


def _known(options: "Sequence[Option]") -> "dict[str, Option]":
    return {option[0]: option for option in options}


def _verb(word: str) -> str:
    name = SAME_VERBS.get(word, word)
    if name not in VERBS:
        raise UsageError(f"there is no verb {word!r}{_nearest(word, VERBS)}")
    return name


def _option(
    found: Parsed, known: "dict[str, Option]", word: str, arguments: "Sequence[str]", place: int
) -> int:
    """Parse one option, and its value from the next word unless joined by `=`; return the next index."""
    name, joined, value = (
        word[2:].partition("=") if word.startswith("--") else (SHORT.get(word, word), "", "")
    )
    if word[2:] in SAME_OPTIONS:
        name, joined = word[2:], ""
    name = SAME_OPTIONS.get(name, name)
    if name not in known:
        where = f"{found.verb} has" if found.verb else "there is"
        hint = _INSTEAD.get((found.verb or "", name)) or _nearest(name, known)
        raise UsageError(f"{where} no option {word.partition('=')[0]}{hint}", found.verb)
    kind = known[name][1]
    if kind == "flag":
        if joined:
            raise UsageError(f"--{name} takes no value", found.verb)
        found.options[name] = True
        return place
    if not joined:
        if place == len(arguments):
            raise UsageError(f"--{name} needs a value ({known[name][2]})", found.verb)
        value = arguments[place]
        place += 1
    found.texts[name] = value
    if kind == "many":
        found.options.setdefault(name, []).append(value)
    else:
        found.options[name] = _value(found, name, kind, value)
    return place


def _value(found: Parsed, name: str, kind: str, text: str) -> "str | int | float":
    if kind == "text":
        return text
    if kind == "count":
        if not (text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= _MOST):
            raise UsageError(f"--{name} takes a whole number, 0 or more; got {text!r}", found.verb)
        return int(text)
    from agent_exec.model.command import seconds
    from agent_exec.model.errors import InvalidArgument

    try:
        return seconds(text, bare=kind)
    except InvalidArgument as error:
        raise UsageError(f"--{name}: {error.message}", found.verb) from None


def _nearest(word: str, known: "Sequence[str] | dict[str, Any]") -> str:
    from difflib import get_close_matches

    close = get_close_matches(word.lstrip("-"), list(known), 1)
    dashes = "--" if "root" in known else ""
    return f"; did you mean {dashes}{close[0]}?" if close else ""


def end_after(verb: str, work: "Callable[[], int]") -> "NoReturn":
    """Run the work of a verb that prints no answer, then end the process with its status.

    Raise UsageError for invalid options, and for any AgentExecError of the work.
    """
    from agent_exec.model.errors import AgentExecError

    try:
        status = work()
    except AgentExecError as error:
        raise UsageError(error.message, verb) from None
    except UsageError:
        raise
    except KeyboardInterrupt:
        status = 130
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    os._exit(status)  # threads may still run
