"""The verb `shell`: the terminal interface, until the user leaves."""

import gc
import os

from agent_exec.apps.parse import UsageError, end_after

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from agent_exec.apps.parse import Parsed


def shell(asked: "Parsed") -> "NoReturn":
    """Run the interface, and end the process: the terminal is the interface's, and no answer comes there.

    Refuses with a UsageError what makes no sense, and what cannot be shown.
    """
    gc.enable()  # which a call of the program has no time for

    def work() -> int:
        from agent_exec.apps.shell.settings import settings_of

        settings = settings_of(asked)
        if "web" not in asked.options:
            if "port" in asked.options:
                raise UsageError("--port goes with --web", "shell")
            if not (os.isatty(0) and os.isatty(2)) and "TEXTUAL_DRIVER" not in os.environ:
                raise UsageError(
                    "this is not a terminal: start it in one, or run commands with `agent-exec run`",
                    "shell",
                )
        try:
            import textual  # noqa: F401
        except ImportError as error:
            raise UsageError(
                f"the library of the interface is missing ({error}): "
                'install it with: pip install "agent-exec[shell]"',
                "shell",
            ) from None
        if "web" in asked.options:
            from agent_exec.apps.shell.web.server import serve_shell

            return serve_shell(asked, settings)
        from agent_exec.apps.shell.app import ShellApp

        app = ShellApp(settings)
        try:
            app.run()
        finally:
            app.core.close()
        return app.return_code or 0

    end_after("shell", work)
