"""The options of MCP over HTTP: address, token file, idle timeout."""

import os
from typing import TYPE_CHECKING, NamedTuple

from agent_exec.apps.usage import UsageError
from agent_exec.settings import token_place

if TYPE_CHECKING:
    from agent_exec.apps.parse import Parsed

HOST = "127.0.0.1"
PORT = 8765
IDLE = 1800.0
"""Seconds after which the toolset of an idle client is closed."""

OPTIONS = ("port", "host", "allow-remote", "token-file", "idle-timeout")
"""Options that are valid only with --http."""


class Where(NamedTuple):
    """An address of this machine, and which clients may connect."""

    token_file: str
    host: str = HOST
    port: int = PORT
    remote: bool = False
    """True if other machines may connect."""
    idle: float = IDLE


def where(asked: "Parsed") -> Where | None:
    """Return where to serve over HTTP; None without --http."""
    options = asked.options
    if "http" not in options:
        for name in OPTIONS:
            if name in options:
                raise UsageError(f"--{name} is for --http", "mcp")
        return None
    port, idle = options.get("port", PORT), options.get("idle-timeout", IDLE)
    if port > 65535:
        raise UsageError(f"--port takes a number from 0 to 65535; got {port}", "mcp")
    if not idle > 0:
        raise UsageError("--idle-timeout takes a time greater than 0", "mcp")
    if "allow-remote" in options and "host" not in options:
        raise UsageError("--allow-remote needs --host, such as --host 0.0.0.0", "mcp")
    for name in ("host", "token-file"):
        if options.get(name) == "":
            raise UsageError(f"--{name} is empty; give it a value, or leave it out", "mcp")
    token_file = os.path.abspath(options.get("token-file") or token_place())
    host = options.get("host", HOST)
    return Where(token_file, host, port, "allow-remote" in options, idle)
