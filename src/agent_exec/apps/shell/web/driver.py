"""The driver of an app that is shown in a browser: Textual's own, which also ends with its server."""

import asyncio

from textual import events, messages
from textual.drivers.web_driver import WebDriver


class Driver(WebDriver):
    """Begins in focus, as a tab that was just opened does, and ends the app at the end of its input."""

    _turning: asyncio.AbstractEventLoop | None = None

    def start_application_mode(self) -> None:
        """Start as Textual does, and say that the app has the focus."""
        self._turning = asyncio.get_running_loop()
        super().start_application_mode()
        self._app.call_later(self._app.post_message, events.AppFocus())

    def run_input_thread(self) -> None:
        """Read input to its end; unless we ended it, the server is gone."""
        super().run_input_thread()
        if self.exit_event.is_set() or self._turning is None:
            return
        try:
            asyncio.run_coroutine_threadsafe(self._app._post_message(messages.ExitApp()), self._turning)
        except RuntimeError:
            return  # the app has ended meanwhile
