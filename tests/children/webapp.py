"""A small app to be served to a browser; what is typed into it makes it behave, or misbehave."""

import os
import signal
import subprocess
import sys
import time

from textual.app import App, ComposeResult
from textual.widgets import Input, Label

if "--fail" in sys.argv:
    sys.exit("no app today: \x1b[31mred")


class Small(App[None]):
    """Echoes what is typed; some words do more."""

    def compose(self) -> ComposeResult:
        """Show what it is, and a line to type in."""
        yield Label(f"ready in {os.getcwd()}", id="told", markup=False)
        yield Input(id="line")

    def on_resize(self) -> None:
        """Tell the size."""
        self.sub_title = f"{self.size.width}x{self.size.height}"

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Do it."""
        event.input.value = ""
        word, _, rest = event.value.partition(" ")
        told = f"you typed {event.value}"
        if word == "daemon":  # leaves its session, and lets go of all that it was given
            subprocess.Popen(
                ["sleep", "1000"], start_new_session=True, stdout=-3, stderr=-3, stdin=-3, close_fds=True
            )
            told = "daemon started"
        elif word == "stubborn":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(1000)
        elif word == "leave":
            self.exit()
        elif word == "crash":
            raise RuntimeError("crashed on demand")
        elif word == "size":
            told = f"size {self.size.width}x{self.size.height}"
        elif word == "env":
            told = f"{rest} is {os.environ.get(rest)}"
        elif word == "flood":
            self.set_interval(0.001, self.refresh_all)
        self.query_one("#told", Label).update(told)

    def refresh_all(self) -> None:
        """Draw every cell anew."""
        self.query_one("#told", Label).update("\n".join(os.urandom(40).hex() for _ in range(20)))


if __name__ == "__main__":
    app = Small()
    app.run()
    sys.exit(app.return_code)
