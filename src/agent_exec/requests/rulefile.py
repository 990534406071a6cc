"""The user's file of rules: read, and added to when an approver says always."""

import os

from agent_exec.model.errors import InvalidRules
from agent_exec.places import make_folder, write_file
from agent_exec.policy.policy import Policy
from agent_exec.policy.rulebook import parse, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from agent_exec.policy.rule import Rule
    from agent_exec.policy.rulebook import Book


_LONGEST = 1 << 22


def load_book(path: "str | PathLike[str]") -> "Book":
    """Read a file of rules; raise InvalidRules for one that is missing, unreadable or wrong."""
    name = os.fspath(path)
    try:
        text = _text(name)
    except OSError as error:
        raise InvalidRules(
            f"{name}: the rules cannot be read: {error.strerror}; name another file, or mend it",
            file=name,
        ) from None
    return parse(text, name)


def load_rules(path: "str | PathLike[str]") -> Policy:
    """Return the policy of a file of rules."""
    return Policy(load_book(path).rules)


def add_rules(path: "str | PathLike[str]", rules: "Sequence[Rule]") -> Policy:
    """Add rules to a file, which is created if missing, and return the policy of all rules in it.

    Rules that are there already are not repeated. The file is replaced as a
    whole: a reader sees all of the old or all of the new.
    """
    from agent_exec.host import FileLock

    name = os.path.realpath(path)
    folder = os.path.dirname(name)
    try:
        make_folder(folder)
        lock = FileLock(f"{name}.lock")
        lock.acquire(wait=True)
        try:
            return _add(name, rules)
        finally:
            lock.release()
    except OSError as error:
        raise InvalidRules(
            f"{name}: the rules cannot be written: {error.strerror}; approve it for less than always",
            file=name,
        ) from None


def _add(name: str, rules: "Sequence[Rule]") -> Policy:
    text, before = "", None
    if os.path.exists(name):
        text, before = _text(name), os.stat(name)
    known = {write(rule) for rule in parse(text, name).rules}
    new = [written for rule in rules if (written := write(rule)) not in known]
    if new:
        start = text if not text or text.endswith("\n") else f"{text}\n"
        text = "\n".join([*([start] if start else []), *dict.fromkeys(new)])
        write_file(name, text.encode(), like=before)
    return Policy(parse(text, name).rules)


def _text(name: str) -> str:
    try:
        with open(name, encoding="utf-8") as file:
            text = file.read(_LONGEST + 1)
    except UnicodeDecodeError:
        raise InvalidRules(f"{name}: this is not UTF-8 text; write the rules as TOML", file=name) from None
    if len(text) > _LONGEST:
        raise InvalidRules(
            f"{name}: rules may have {_LONGEST} characters, and this has more; name another file", file=name
        )
    return text
