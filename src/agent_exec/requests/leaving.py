"""Decides which commands may leave the sandbox again unasked: those that no confined command can change.

The policy takes no part in this: it is advice, and no other check follows
once a command is outside the sandbox. A line is accepted only if no character
in it is special to any shell, and a program only if it is known to do no more
than its words say.
"""

import os

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.paths import inside
from agent_exec.sandbox.plan.paths import settle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_exec.sandbox.profile import Profile

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./- ")
"""Characters that no shell treats specially, except `=` and `%` at the start of a word, and the space."""

_OF_FILES = frozenset(
    """
    cat cksum cmp df diff du head ls md5sum mkdir readlink realpath rmdir sha1sum sha256sum sha512sum stat
    tail touch wc who
    """.split()
)
"""Programs whose operands are files, which they read, or make empty."""

_OF_NOTHING = frozenset(
    """
    arch date dig free getent groups host hostname id lsblk lscpu lsof nproc nslookup ping ps ss uname uptime
    whoami
    """.split()
)
"""Programs that print something about the machine or the network."""

_FILE_LETTERS: "dict[str, str]" = dict(
    pair.split(":") for pair in "date:fr dig:fk du:X diff:X hostname:F lscpu:s lsof:Dkm ss:DF touch:r".split()
)
"""Short options whose value, attached or in the next word, is a file that need not exist yet."""
_FILE_OPTIONS = ("--d", "--e", "--f", "--r", "--s", "--t")
"""How the long options begin that take a file, in some of these programs."""


def standing(line: str, cwd: str, roots: "Sequence[str]", path: str | None) -> tuple[str, ...] | None:
    """Return the words for which an approval may be remembered; None if approval is needed each time.

    `roots` are the folders that a confined command may write to; `path` is
    the PATH of the shell, None if unknown. The command is simple, its program
    does no more than its words say, and no file that it names can be changed
    or replaced from inside the sandbox.
    """
    words = tuple(line.split(" "))
    if not _LETTERS.issuperset(line) or any(word[:1] in ("", "=", "%") for word in words):
        return None
    program, operands = words[0], words[1:]
    found = _program(program, roots, path)
    name = os.path.basename(program)
    if found is None or name not in _OF_FILES | _OF_NOTHING or os.path.basename(found) != name:
        return None
    for before, word in zip(words, operands, strict=False):
        for value, is_file in _values(name, before, word):
            file = os.path.join(cwd, value)
            if (is_file or "/" in value or os.path.lexists(file)) and not _outside(file, roots):
                return None
    return words


def writable(profile: "Profile | None") -> tuple[str, ...]:
    """Return the folders that commands may write to: `/` if they are not confined."""
    if profile is None or profile.name == "full-access":
        return ("/",)
    if profile.name == "read-only":
        return ()
    shared = profile.tmp == "shared" or profile.min_strength == "degraded"
    return tuple(map(os.path.realpath, (*profile.roots, *(("/tmp", "/var/tmp") if shared else ()))))


def within(path: str, roots: "Sequence[str]") -> bool:
    """True if a file lies in one of these folders, or its path leads through one."""
    return not _outside(os.path.abspath(path), roots)


def keep_out(files: "Sequence[str]", profile: "Profile | None") -> None:
    """Raise InvalidArgument if a file that decides what commands may do lies where commands may write.

    A bind mount protects such a file only until it is replaced, as editors
    do, and as we do when a rule is added.
    """
    if profile is None or profile.name != "workspace-write":
        return
    roots = writable(profile)
    for path in files:
        if os.path.lexists(path) and within(path, roots):
            raise InvalidArgument(
                f"{path!r} says what commands may do, and lies where they may write: move it out, such as to "
                "~/.config/agent-exec, and name it there",
                path=path,
            )


def _program(word: str, roots: "Sequence[str]", path: str | None) -> str | None:
    """Return the path of the program that a word names, if no file in the roots can take its place."""
    if "/" in word:
        return word if os.path.isabs(word) and _outside(word, roots) and os.access(word, os.X_OK) else None
    for folder in (path or "").split(os.pathsep):
        if not os.path.isabs(folder) or not _outside(folder, roots):
            return None
        file = os.path.join(folder, word)
        if os.path.isfile(file) and os.access(file, os.X_OK):
            return file if _outside(file, roots) else None
    return None


def _values(name: str, before: str, word: str) -> "Iterator[tuple[str, bool]]":
    """Yield each part of a word that may name a file, and whether it does even if there is none yet."""
    letters = _FILE_LETTERS.get(name, "")
    value = word.partition("=")[2]
    if word.startswith("--"):
        if value:
            yield value, word.startswith(_FILE_OPTIONS)
    elif word.startswith("-"):
        for at in range(2, len(word)):
            yield word[at:], word[at - 1] in letters
    else:
        is_file = name in _OF_FILES or before.startswith("--") or before[-1:] in letters
        yield word, is_file
        yield value or word, is_file


def _outside(path: str, roots: "Sequence[str]") -> bool:
    """True if a path lies outside all roots, whatever is changed in them."""
    if ".." in path.split("/") or any(inside(os.path.normpath(path), root) for root in roots):
        return False
    try:
        # A link in /proc leads elsewhere for the command than for us, such as to its working directory.
        real, _ = settle(path, (*roots, "/proc"), "path")
    except InvalidArgument:  # it goes through a link in a root
        return False
    return not any(inside(real, root) for root in roots)
