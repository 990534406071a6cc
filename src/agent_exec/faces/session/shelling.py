"""The login environment of a shell, taken once.

Profiles can take a good part of a second, and every command of a session would pay that. With the
environment taken once, `-lc` becomes `-c`. What is lost by that: aliases, functions that are not
exported, shell options and umask of the profile, and later changes of it. So it is only done when
the user has said so.
"""

import os

from agent_exec.model.errors import LaunchFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.requests.shells import Shell

MARK = b"\0agent-exec environment\0"
SCRIPT = "printf '\\000agent-exec environment\\000'; exec /usr/bin/env -0"
"""The mark comes after the output of profiles; `exec` leaves no shell that would print when it ends."""

_OF_THE_SHELL = frozenset(("PWD", "OLDPWD", "SHLVL", "_"))


def capture(shell: "Shell", run: "Callable[[list[str]], bytes]") -> dict[str, str]:
    """Return the variables that a login shell exports; `run` runs an argv once and returns its stdout.

    The output of a profile is passed over, and variables about the shell itself
    are left out. Raise LaunchFailed if the shell does not print its environment.
    """
    pairs = run([shell.path, "-lc", SCRIPT]).partition(MARK)[2].split(b"\0")
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
