"""Failures that a pipeline masks: `make | tail` succeeds, whatever make does; bash can tell.

Bash reads a small file of ours before a command with a pipe in it, which has
it write down the statuses of its last pipeline when it ends.
"""

import os

from agent_exec.places import make_folder, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.command import Variables
    from agent_exec.requests.shells import Shell

_SCRIPT = """\
unset BASH_ENV
trap '{{ printf "%s " "${{PIPESTATUS[@]}}" > {place}/"$AGENT_EXEC_SESSION_ID"; }} 2>/dev/null' EXIT
"""
_BROKEN_PIPE = 141
"""Who writes to `head` is ended so, and has not failed."""


class Pipelines:
    """Where commands write down how their pipelines ended: a folder of ours."""

    __slots__ = ("_folder",)

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, "pipelines")

    def variables(self, cmd: str, shell: "Shell", environ: "Variables") -> dict[bytes, bytes]:
        """Return what a command's environment needs for it; nothing where it would tell nothing."""
        if "|" not in cmd or shell.kind != "bash" or b"BASH_ENV" in environ:
            return {}
        import shlex

        script = os.path.join(self._folder, "before")
        try:
            if not os.path.exists(script):
                make_folder(self._folder)
                text = _SCRIPT.format(place=shlex.quote(self._folder))
                write_file(script, os.fsencode(text))
        except OSError:
            return {}
        return {b"BASH_ENV": os.fsencode(script)}

    def note(self, number: int, exit_code: int | None) -> str:
        """Return which parts of the last pipeline failed although the whole did not; "" if none."""
        try:
            with open(os.path.join(self._folder, str(number)), encoding="ascii") as file:
                statuses = [int(word) for word in file.read(1000).split()]
            os.unlink(os.path.join(self._folder, str(number)))
        except (OSError, ValueError):
            return ""
        if exit_code != 0 or not any(status not in (0, _BROKEN_PIPE) for status in statuses):
            return ""
        told = " | ".join(map(str, statuses))
        return f"the exit code is that of the last command of a pipeline, and others failed: {told}"
