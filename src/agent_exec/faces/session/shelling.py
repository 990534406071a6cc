"""What the shell of a command can report: its login environment, taken once, and failures in pipelines.

Profiles can take a good part of a second, and every command of a session would pay that. With the
environment taken once, `-lc` becomes `-c`. What is lost by that: aliases, functions that are not
exported, shell options and umask of the profile, and later changes of it. So it is only done when
the user has said so.

`make | tail` succeeds even if make fails. Bash reads a small file of ours before a command with a
pipe in it, which has it write the statuses of its last pipeline when it ends.
"""

import os

from agent_exec.model.errors import LaunchFailed
from agent_exec.places import make_folder, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.requests.shells import Shell

MARK = b"\0agent-exec environment\0"
SCRIPT = "printf '\\000agent-exec environment\\000'; exec /usr/bin/env -0"
"""The mark comes after the output of profiles; `exec` leaves no shell that would print when it ends."""

_OF_THE_SHELL = frozenset(("PWD", "OLDPWD", "SHLVL", "_"))
_TRAP = """\
unset BASH_ENV
trap '{{ printf "%s " "${{PIPESTATUS[@]}}" > {place}/"$AGENT_EXEC_SESSION_ID"; }} 2>/dev/null' EXIT
"""
_BROKEN_PIPE = 141
"""The status of a program that wrote to `head`, which is no failure."""


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


def pipeline_trap(folder: str) -> dict[bytes, bytes]:
    """Return the variables that have bash write into a folder how its last pipeline ended."""
    import shlex

    script = os.path.join(folder, "before")
    try:
        if not os.path.exists(script):
            make_folder(folder)
            write_file(script, os.fsencode(_TRAP.format(place=shlex.quote(folder))))
    except OSError:
        return {}
    return {b"BASH_ENV": os.fsencode(script)}


def masked_failures(folder: str, number: int, exit_code: int | None) -> list[str]:
    """Return a note if parts of a session's last pipeline failed although the whole did not."""
    path = os.path.join(folder, str(number))
    try:
        with open(path, encoding="ascii") as file:
            statuses = [int(word) for word in file.read(1000).split()]
        os.unlink(path)
    except (OSError, ValueError):
        return []
    if exit_code != 0 or all(status in (0, _BROKEN_PIPE) for status in statuses):
        return []
    told = " | ".join(map(str, statuses))
    return [f"the exit code is that of the last command of a pipeline, and others failed: {told}"]
