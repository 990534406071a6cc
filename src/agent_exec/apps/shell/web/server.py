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
    from agent_exec.faces.slash.permission import ShellPermission

_OURS = ("web", "port")
_LAST_PORT = 65535


def serve(asked: "Parsed", settings: "Settings") -> int:
    """Serve the shell that the words ask for until a signal comes; return the exit status.

    Refuses with one of our errors what cannot be served.
    """
    words = [sys.executable, "-P", "-m", "agent_exec", "shell", *_passed_on(asked), "--", settings.folder]
    return serve_app(words, asked.options.get("port", 0), _permission(settings.permission))


def serve_app(argv: "Sequence[str]", port: int = 0, env: "Mapping[str, str] | None" = None) -> int:
    """Serve an app, with these variables beside ours, until a signal comes; return the exit status.

    The address is printed. Port 0 is any that is free. The status is 0 after
    Ctrl+C, which is how it is meant to be ended, and 128 more than the signal
    after any other.
    """
    try:
        import asyncio

        import starlette  # noqa: F401
        import textual_serve  # noqa: F401 - its files are shown
        import uvicorn  # noqa: F401
        import websockets  # noqa: F401
    except ImportError as error:
        raise Unsupported(
            f"what serves the shell to a browser is missing ({error}): "
            'install it with: pip install "agent-exec[web]"'
        ) from None
    with listen(port) as listener:
        return asyncio.run(_serve(listener, argv, env or {}))


def listen(port: int) -> "socket.socket":
    """Return a socket that hears this machine alone; refuses a port that cannot be had."""
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


async def _serve(listener: "socket.socket", argv: "Sequence[str]", env: "Mapping[str, str]") -> int:
    import asyncio

    from agent_exec.apps.shell.web.access import Access
    from agent_exec.apps.shell.web.website import Site
    from agent_exec.apps.signals import first_signal

    asked = first_signal(asyncio.get_running_loop())  # first: what is started is ended, whenever one comes
    access = Access(listener.getsockname()[1])
    async with Site(argv, env, _tell).open(listener, access):
        print(
            f"Open {access.address} in a browser on this machine; Ctrl+C here ends it, and all that it runs.",
            flush=True,
        )
        number = await asked
    return 0 if number == 2 else 128 + number


def _passed_on(asked: "Parsed") -> list[str]:
    """Return the options of the command line as the app is to have them."""
    words = []
    for name, value in asked.options.items():
        if name in _OURS:
            continue
        if isinstance(value, list):
            words += [f"--{name}={each}" for each in value]
        else:
            words.append(f"--{name}" if value is True else f"--{name}={asked.texts[name]}")
    return words


def _permission(permission: "ShellPermission") -> dict[str, str]:
    """Return the variable by which apps have the permission that was read when the server was started.

    A file that comes to be there later grants nothing to a tab that is opened later.
    """
    if permission.allowed:
        return {"OX_ALLOW_SHELL": "1"}
    return {"OX_ALLOW_SHELL": os.environ.get("OX_ALLOW_SHELL", "").strip() or f"no ({permission.reason})"}


def _tell(failure: str) -> None:
    """Say on stderr why an app failed, the end of it, with nothing that a terminal would obey."""
    safe = "".join(mark if mark in "\n\t" or mark.isprintable() else "\ufffd" for mark in failure[-2000:])
    print(f"agent-exec shell: the shell of a tab failed:\n{safe}", file=sys.stderr, flush=True)
