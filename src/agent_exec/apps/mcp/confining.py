"""The sandbox that is in force where none was named: `workspace-write`, if a box can be made here."""

import errno
import threading

from agent_exec.model.errors import SandboxUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.apps.mcp.toolset import Settings

_PASSING = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
"""What says nothing about a sandbox: the machine is too busy now."""


class Default:
    """Tries the sandbox of some settings, in a thread, while other things are got ready."""

    def __init__(self, settings: "Settings") -> None:
        self._settings = settings
        self._why = ""
        self._thread = threading.Thread(target=self._try, name="agent-exec sandbox", daemon=True)

    def begin(self) -> None:
        """Have a box made, and do not wait for it."""
        self._thread.start()

    def settings(self) -> "Settings":
        """Give the settings: as they are if the sandbox works; else without it, and with a note."""
        self._thread.join()
        if not self._why:
            return self._settings
        note = f"The sandbox workspace-write would be in force, but none works on this machine: {self._why}."
        return self._settings._replace(sandbox=None, note=note)

    def _try(self) -> None:
        from agent_exec.engine.confinement import settle
        from agent_exec.engine.engine import shared_spawner

        assert self._settings.sandbox is not None
        try:
            settle(self._settings.sandbox, shared_spawner(), own=self._settings.own)
        except SandboxUnavailable as error:
            if error.details.get("errno") not in _PASSING:
                self._why = error.message.partition(", and so nothing was run")[0]
        except Exception:  # whatever else it is, whoever runs a command in it is told
            return
