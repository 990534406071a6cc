"""Shows the questions of the approval inbox in dialogs: a user of the terminal interface can answer them."""

from threading import Thread

from agent_exec.apps.shell.panes.dialogs import Inquiry
from agent_exec.model.cancel import Cancel
from agent_exec.model.errors import AgentExecError
from agent_exec.requests import inbox_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.shell.app import ShellApp

_DOOR = "shell"


class Questions:
    """A thread that watches the inbox for as long as the app runs; the inbox counts as watched meanwhile."""

    def __init__(self, app: "ShellApp") -> None:
        self._app = app
        self._cancel = Cancel()
        self._shown: dict[str, Inquiry] = {}
        self._thread = Thread(target=self._watch, name="agent-exec-inbox", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more, and wait for the end of the thread; questions go on to wait."""
        self._cancel.set()
        self._thread.join()

    def _watch(self) -> None:
        try:
            for event in inbox_folder.watch(cancel=self._cancel, present=True):
                self._app.call_later(self._show if event["kind"] == inbox_folder.ASKED else self._hide, event)
        except (AgentExecError, OSError) as error:
            self._app.call_later(self._app.main.tell, f"approvals: {error}", "Warn")

    def _show(self, question: "dict[str, Any]") -> None:
        one = question["id"]
        self._shown[one] = dialog = Inquiry(question)
        self._app.push_screen(dialog, lambda name: self._answer(one, name))

    def _hide(self, event: "dict[str, Any]") -> None:
        """Close the dialog of a question that has ended; below another one, its answer comes too late."""
        dialog = self._shown.pop(event["id"], None)
        if dialog is not None and dialog.is_current:
            dialog.dismiss(Inquiry.LATER)

    def _answer(self, one: str, name: str | None) -> None:
        self._shown.pop(one, None)
        if name is None or name == Inquiry.LATER:
            return
        try:
            inbox_folder.answer(one, name, _DOOR)
        except (AgentExecError, OSError) as error:
            self._app.main.tell(f"approvals: {error}", "Warn")
