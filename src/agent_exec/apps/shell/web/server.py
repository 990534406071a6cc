"""The shell in a browser: a small server on the loopback, whose apps end when it does."""

import errno
import os
import sys

from agent_exec.model.errors import Broken, Busy, InvalidArgument, Unsupported

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping, Sequence

    from agent_exec.apps.parse import Parsed
    from agent_exec.apps.shell.settings import Settings

_LAST_PORT = 65535


def serve_shell(asked: "Parsed", settings: "Settings") -> int:
    """Serve the shell until a signal comes; return the exit status."""
    permission = settings.permission
    allow = "1" if permission.allowed else os.environ.get("OX_ALLOW_SHELL", "").strip()
    # The permission is that of the server's start: a file that is written later grants nothing.
    env = {"OX_ALLOW_SHELL": allow or f"no ({permission.reason})"}
    words = [sys.executable, "-P", "-m", "agent_exec", "shell", *_passed_on(asked), "--", settings.folder]
    return serve_app(words, asked.options.get("port", 0), env)


def serve_app(argv: "Sequence[str]", port: int = 0, env: "Mapping[str, str] | None" = None) -> int:
    """Serve an app, with these variables beside ours, until a signal comes; return the exit status.

    The address is printed. Port 0 is any that is free. The status is 0 after
    Ctrl+C, the usual way to end it, and 128 more than the signal after any
    other.
    """
    try:
        import starlette  # noqa: F401
        import textual_serve  # noqa: F401 - its files are shown
        import uvicorn  # noqa: F401
        import websockets  # noqa: F401
    except ImportError as error:
        raise Unsupported(
            f"what serves the shell to a browser is missing ({error}): "
            'install it with: pip install "agent-exec[web]"'
        ) from None
    from agent_exec.apps.shell.web.access import Access
    from agent_exec.apps.shell.web.website import Site
    from agent_exec.apps.web.serving import serve

    listener = listen(port)
    access = Access(listener.getsockname()[1])

    async def opened() -> Site:
        return Site(argv, env or {}, _report, access.protect)

    def ready() -> None:
        print(
            f"Open {access.address} in a browser on this machine; Ctrl+C here ends it, and all that it runs.",
            flush=True,
        )

    number = serve(listener, access.visitors, opened, ready, websockets=True)
    return 0 if number == 2 else 128 + number


def listen(port: int) -> "socket.socket":
    """Return a socket that listens on the loopback alone; raise an error for a port that cannot be used."""
    from agent_exec.apps.web.server import bind

    if not 0 <= port <= _LAST_PORT:
        raise InvalidArgument(f"--port takes a number from 0 (any that is free) to {_LAST_PORT}; got {port}")
    try:
        return bind(("127.0.0.1", port))
    except OSError as error:
        other = "choose another with --port, or leave that out for any that is free"
        if error.errno == errno.EADDRINUSE:
            raise Busy(f"port {port} is taken; {other}", port=port) from None
        raise Broken(f"port {port} cannot be had: {error.strerror}; {other}", port=port) from None


def _passed_on(asked: "Parsed") -> list[str]:
    """Return the options of the command line that are the app's too."""
    words = []
    for name, value in asked.options.items():
        if isinstance(value, list):
            words += [f"--{name}={each}" for each in value]
        elif name not in ("web", "port"):
            words.append(f"--{name}" if value is True else f"--{name}={asked.texts[name]}")
    return words


def _report(failure: str) -> None:
    """Print why an app failed, the end of it, safe for a terminal."""
    safe = "".join(mark if mark in "\n\t" or mark.isprintable() else "\ufffd" for mark in failure[-2000:])
    print(f"agent-exec shell: the shell of a tab failed:\n{safe}", file=sys.stderr, flush=True)
