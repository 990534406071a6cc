"""The environment that a login shell makes, taken once, so that commands need not make it again.

Profiles can take a good part of a second, and every command of a session
would pay that. With the environment taken once, `-lc` becomes `-c`. What is
lost by that: aliases, functions that are not exported, shell options and
umask of the profile, and whatever it changes later on. So it is only done
when the user has said so.
"""

import os

from agent_exec.model.errors import LaunchFailed, Unsupported
from agent_exec.requests.shells import POSIX_KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_exec.requests.shells import Shell

MARK = b"\0agent-exec environment\0"
SCRIPT = "printf '\\000agent-exec environment\\000'; exec /usr/bin/env -0"
"""The mark comes after whatever profiles print; `exec` leaves no shell that would print when it ends."""

_OF_THE_SHELL = frozenset(("PWD", "OLDPWD", "SHLVL", "_"))


def capture(shell: "Shell", run: "Callable[[list[str]], bytes]") -> dict[str, str]:
    """Return the variables that a login shell exports; `run` runs an argv once and gives its stdout.

    What a profile prints is passed over, and what is about the shell itself
    is left out. Raise if the shell is not one with `-lc`, or if it does not
    get as far as telling.
    """
    if shell.kind not in POSIX_KINDS:
        raise Unsupported(f"the login environment of {shell.path} cannot be taken; only of bash, sh and zsh")
    told = run([shell.path, "-lc", SCRIPT])
    pairs = told.partition(MARK)[2].split(b"\0")
    if len(pairs) < 2 or pairs.pop():
        raise LaunchFailed(
            f"{shell.path} -lc did not tell its environment; see what its profile does, or leave it to -lc",
            shell=shell.path,
        )
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = os.fsdecode(pair).partition("=")
        if name and equals and name not in _OF_THE_SHELL:
            found.setdefault(name, value)
    return found


def as_nonlogin(argv: "Sequence[str]") -> list[str]:
    """Return the argv of a command to which the environment of a login shell is given already."""
    words = list(argv)
    if len(words) == 3 and words[1] == "-lc":
        words[1] = "-c"
    return words
