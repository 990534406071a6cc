"""The verb `shell`: the terminal interface, until whoever uses it leaves."""

import gc
import os

from agent_exec.apps.usage import UsageError, end_after
from agent_exec.places import here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from agent_exec.apps.parse import Parsed
    from agent_exec.apps.shell.settings import Settings
    from agent_exec.sandbox.profile import Profile


def shell(asked: "Parsed") -> "NoReturn":
    """Do it, and end the process: the terminal is the interface's, and no answer comes there.

    Refuses with a UsageError what makes no sense, and what cannot be shown.
    """
    gc.enable()  # which a call of the program has no time for

    def work() -> int:
        settings = settings_of(asked)
        if "web" in asked.options:
            return _serve(asked, settings)
        if "port" in asked.options:
            raise UsageError("--port goes with --web", "shell")
        return run(settings)

    end_after("shell", work)


def run(settings: "Settings") -> int:
    """Show the interface on this terminal until it is left; return the exit status."""
    if not (os.isatty(0) and os.isatty(2)) and "TEXTUAL_DRIVER" not in os.environ:
        raise UsageError(
            "this is no terminal: start it where you can type, or run commands with `agent-exec run`", "shell"
        )
    _require()
    from agent_exec.apps.shell.app import ShellApp

    app = ShellApp(settings)
    try:
        app.run()
    finally:
        app.core.close()
    return app.return_code or 0


def settings_of(asked: "Parsed") -> "Settings":
    """Return what the words of the command line, the environment and the files ask for."""
    from agent_exec.apps.shell.settings import Settings
    from agent_exec.faces.slash.guard import TIMEOUT
    from agent_exec.faces.slash.permission import ShellPermission
    from agent_exec.requests.opening import IN_FORCE
    from agent_exec.settings import history_place

    options = asked.options
    if len(asked.words) > 1:
        raise UsageError(f"{asked.words[1]!r} is one word too many", "shell")
    start = here()
    timeout = options.get("timeout", TIMEOUT)
    return Settings(
        asked.words[0] if asked.words else start,
        ShellPermission.read(start),
        rules=options.get("rules", IN_FORCE),
        root=options.get("root"),
        profile=_profile(asked),
        history=history_place(),
        timeout=timeout or None,
        theme=options.get("theme", "auto"),
        own=_own(asked, start),
    )


def _own(asked: "Parsed", start: str) -> list[str]:
    """Return the files that decide what a command may do, and so are not for one to change."""
    from agent_exec.apps.profile import is_file
    from agent_exec.faces.slash.permission import CONFIG
    from agent_exec.requests.opening import IN_FORCE, rule_files

    found = [*rule_files(asked.options.get("rules", IN_FORCE)), os.path.join(start, CONFIG)]
    return [*found, *(one for one in (asked.options.get("sandbox", ""),) if is_file(one))]


def _profile(asked: "Parsed") -> "Profile | None":
    """Return the profile of the sandbox; if no roots are named, each command has its own folder."""
    if "sandbox" not in asked.options:
        if "sandbox-root" in asked.options:
            raise UsageError("--sandbox-root goes with --sandbox", "shell")
        return None
    from agent_exec.apps.profile import is_file, profile

    found = profile(asked, "sandbox", "sandbox-root")
    named = is_file(asked.options["sandbox"]) or "sandbox-root" in asked.options
    if not named:
        return found.replace(roots=())
    from agent_exec.requests.leaving import keep_out
    from agent_exec.requests.opening import IN_FORCE, rule_files

    files = (*rule_files(asked.options.get("rules", IN_FORCE)), asked.options["sandbox"])
    keep_out([file for file in files if is_file(file)], found)
    return found


def _serve(asked: "Parsed", settings: "Settings") -> int:
    _require()
    from agent_exec.apps.shell.web import server as web

    return web.serve(asked, settings)


def _require() -> None:
    """Raise a UsageError that says what to install if the interface's library is missing."""
    try:
        import textual  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"the library of the interface is missing ({error}): "
            'install it with: pip install "agent-exec[shell]"',
            "shell",
        ) from None
