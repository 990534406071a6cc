"""Which command may leave the sandbox again without being asked for: one that nothing inside can change.

The judge has no part in this: it is manners, and what leaves the sandbox is
behind no other wall. A line is read here only if nothing in it is special to
any shell, and a program only if it is known to do no more than its words say.
"""

import os

from agent_exec.model.errors import InvalidArgument
from agent_exec.sandbox.plan.paths import inside, settle

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.sandbox.profile import Profile

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./- ")
"""What means itself to every shell, apart from blanks; `=` and `%` do not at the beginning of a word."""

_OF_FILES = frozenset(
    """
    cat cksum cmp df diff du head ls md5sum mkdir readlink realpath rmdir sha1sum sha256sum sha512sum stat
    tail touch wc
    """.split()
)
"""Programs whose operands are files, which they read, or make empty."""

_OF_NOTHING = frozenset(
    """
    arch date dig free getent groups host hostname id lsblk lscpu lsof nproc nslookup ping ps ss uname uptime
    who whoami
    """.split()
)
"""Programs that tell something about the machine or the network."""

_FILE_LETTERS = ("D", "F", "X", "f", "k", "r")
_FILE_OPTIONS = (*(f"-{letter}" for letter in _FILE_LETTERS), "--d", "--e", "--f", "--r")
"""How those options begin that take a file, in some of these programs; it need not be there yet."""


def standing(line: str, cwd: str, roots: "Sequence[str]", path: str | None) -> tuple[str, ...] | None:
    """Return the words of a command that a yes may be remembered for; None if it is asked for each time.

    `roots` are the folders that a confined command may write to, `path` is
    where the shell looks for programs, None if that is not known. The command
    is simple, its program does what its words say and no more, and no file
    that it names can be changed or replaced from inside of the sandbox.
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
        if word.startswith("-"):
            is_file = word.startswith(_FILE_OPTIONS) and (name in _OF_NOTHING or "=" in word)
        else:
            is_file = name in _OF_FILES or before.startswith("--") or before.endswith(_FILE_LETTERS)
        for file in (os.path.join(cwd, named) for named in _names(word)):
            if (is_file or "/" in word or os.path.lexists(file)) and not _outside(file, roots):
                return None
    return words


def writable(profile: "Profile | None") -> tuple[str, ...]:
    """Return the folders that commands may write to: all of the machine, if nothing confines them."""
    if profile is None or profile.name == "full-access":
        return ("/",)
    if profile.name == "read-only":
        return ()
    shared = profile.tmp == "shared" or profile.min_strength == "degraded"
    return tuple(map(os.path.realpath, (*profile.roots, *(("/tmp", "/var/tmp") if shared else ()))))


def within(path: str, roots: "Sequence[str]") -> bool:
    """True if a file lies in one of these folders, or is reached through one of them."""
    return not _outside(os.path.abspath(path), roots)


def keep_out(files: "Sequence[str]", profile: "Profile | None") -> None:
    """Raise InvalidArgument if a file that decides what commands may do lies where they may write.

    A bind keeps such a file as it is only until somebody replaces it, as
    editors do, and as we do when a rule is added.
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
    """Return the program that a word means, if nothing in the roots can come before it."""
    if "/" in word:
        return word if os.path.isabs(word) and _outside(word, roots) and os.access(word, os.X_OK) else None
    for folder in (path or "").split(os.pathsep):
        if not os.path.isabs(folder) or not _outside(folder, roots):
            return None
        file = os.path.join(folder, word)
        if os.path.isfile(file) and os.access(file, os.X_OK):
            return file if _outside(file, roots) else None
    return None


def _names(word: str) -> "Sequence[str]":
    """Return what in a word may be the name of a file: all of it, or the value of an option."""
    if not word.startswith("-"):
        return (word, word.partition("=")[2] or word)
    return [value for value in (word.partition("=")[2], word[2:] if word[1:2] != "-" else "") if value]


def _outside(path: str, roots: "Sequence[str]") -> bool:
    """True if a path leads out of all roots, now and whatever is changed in them."""
    if ".." in path.split("/") or any(inside(os.path.normpath(path), root) for root in roots):
        return False
    try:
        # A link in /proc leads elsewhere for the command than for us, such as to its working directory.
        real, _ = settle(path, (*roots, "/proc"), "path")
    except InvalidArgument:  # it goes through a link in a root
        return False
    return not any(inside(real, root) for root in roots)
