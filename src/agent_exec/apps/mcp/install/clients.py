"""The clients that we can enter ourselves into: where each keeps its configuration, and what it has there."""

import posixpath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Client(NamedTuple):
    """A program that speaks the protocol."""

    title: str
    key: str
    """The table of its servers."""
    typed: bool = False
    """Whether an entry says that it is of the kind stdio."""
    toml: bool = False
    strict: bool = False
    """Whether its JSON has no comments."""
    nowhere: bool = False
    """Whether it has neither a folder that it runs in nor roots."""
    then: str = "restart it"
    """What makes it look at its configuration."""


class Here(NamedTuple):
    """What decides where files are."""

    home: str
    folder: str
    environ: "Mapping[str, str]"
    platform: str


CLIENTS = {
    "claude-code": Client(
        "Claude Code", "mcpServers", typed=True, strict=True, then="start it anew, or say /mcp"
    ),
    "claude-desktop": Client(
        "Claude Desktop", "mcpServers", strict=True, nowhere=True, then="quit and start it"
    ),
    "codex": Client("Codex", "mcp_servers", toml=True, then="start it anew"),
    "cursor": Client("Cursor", "mcpServers", then="turn the server on in its settings"),
    "gemini": Client("Gemini CLI", "mcpServers", then="start it anew"),
    "vscode": Client("VS Code", "servers", typed=True, then="start the server from the list of MCP servers"),
}
SCOPES = ("user", "project")
_PROJECT = {
    "claude-code": ".mcp.json",
    "codex": ".codex/config.toml",
    "cursor": ".cursor/mcp.json",
    "gemini": ".gemini/settings.json",
    "vscode": ".vscode/mcp.json",
}
_USER = {
    "cursor": ".cursor/mcp.json",
    "gemini": ".gemini/settings.json",
}
_SETTINGS = {"claude-desktop": "Claude/claude_desktop_config.json", "vscode": "Code/User/mcp.json"}


def place(client: str, scope: str, here: Here) -> str | None:
    """Give the file that a client reads; nothing if it has none for this scope."""
    if scope == "project":
        inside = _PROJECT.get(client)
        return None if inside is None else posixpath.join(here.folder, inside)
    if client in _SETTINGS:
        return posixpath.join(_settings(here), _SETTINGS[client])
    if client == "claude-code":
        return posixpath.join(here.environ.get("CLAUDE_CONFIG_DIR") or here.home, ".claude.json")
    if client == "codex":
        folder = here.environ.get("CODEX_HOME") or posixpath.join(here.home, ".codex")
        return posixpath.join(folder, "config.toml")
    return posixpath.join(here.home, _USER[client])


def _settings(here: Here) -> str:
    """Give the folder where programs with windows keep their settings."""
    if here.platform == "win32":
        return here.environ.get("APPDATA") or posixpath.join(here.home, "AppData", "Roaming")
    if here.platform == "darwin":
        return posixpath.join(here.home, "Library", "Application Support")
    return here.environ.get("XDG_CONFIG_HOME") or posixpath.join(here.home, ".config")


def entry(client: str, command: list[str], environ: "Mapping[str, str]") -> "dict[str, Any]":
    """Give what a client has for a server that it starts with this command."""
    found: dict[str, Any] = {"type": "stdio"} if CLIENTS[client].typed else {}
    found |= {"command": command[0], "args": command[1:]}
    if environ:
        found["env"] = dict(environ)
    return found
