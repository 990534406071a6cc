"""Tries the sandbox at the start of a server, so that people hear before the first command if none works."""

import threading

from agent_exec.model.errors import AgentExecError, NothingConfines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.apps.mcp.toolset import Settings

_NONE = (
    "The sandbox {name} is in force, but none works on this machine: {why}. Every command is refused: {way}."
)
_FAILED = "The sandbox {name} could not be made at the start, and is tried again for each command: {why}"


class Trial:
    """Makes a box of some settings, in a thread, while other things are got ready.

    Whatever comes of it, the settings keep their sandbox: a server runs
    nothing unconfined unless it was started with full-access.
    """

    def __init__(self, settings: "Settings") -> None:
        self._settings = settings
        self._thread = threading.Thread(target=self._try, name="agent-exec sandbox", daemon=True)

    def begin(self) -> None:
        """Have a box made, and do not wait for it."""
        self._thread.start()

    def settings(self) -> "Settings":
        """Return the settings, with a warning if no box could be made."""
        self._thread.join()
        return self._settings

    def _try(self) -> None:
        from agent_exec.apps.mcp.notices import UNAVAILABLE, on_stderr
        from agent_exec.engine.engine import shared_spawner
        from agent_exec.sandbox.plan.ours import ours
        from agent_exec.sandbox.sandbox import shared_sandbox

        name = self._settings.sandbox.name
        try:
            known = ours(self._settings.own, self._settings.hidden)
            shared_sandbox().plan(self._settings.sandbox, shared_spawner(), known)
        except NothingConfines as error:
            warning = _NONE.format(name=name, why=error.details["reasons"], way=UNAVAILABLE)
            self._settings = self._settings._replace(note=f"{self._settings.note} {warning}".lstrip())
        except AgentExecError as error:
            warning = _FAILED.format(name=name, why=error.message)
        else:
            return
        self._settings = self._settings._replace(warning=warning)
        on_stderr(warning)
