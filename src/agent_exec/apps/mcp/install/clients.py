"""The clients that `mcp install` knows, a row each: where the configuration is, and the form of an entry."""

import posixpath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SCOPES = ("user", "project")
_SETTINGS = "settings"
"""The folder where programs with windows keep their settings, which differs by system."""


class Client(NamedTuple):
    """A program that speaks the protocol."""

    title: str
    key: str
    """The table of servers in its configuration."""
    user: str
    """The user's file, below `folder`."""
    folder: str = ""
    """A folder below the home folder, or _SETTINGS."""
    variable: str = ""
    """An environment variable that names another folder, if it is set."""
    project: str = ""
    """The file of a project, below the project's folder; "" if it has none."""
    typed: bool = False
    """True if an entry says that it is of the kind stdio."""
    toml: bool = False
    """True if the configuration is TOML; it is JSON otherwise."""
    strict: bool = False
    """True if its JSON has no comments."""
    nowhere: bool = False
    """True if it has neither a working directory nor roots."""
    then: str = "start it anew"
    """What makes it read its configuration again."""


class Here(NamedTuple):
    """What decides where files are."""

    home: str
    folder: str
    environ: "Mapping[str, str]"
    platform: str


CLIENTS = {
    "claude-code": Client(
        "Claude Code",
        "mcpServers",
        ".claude.json",
        variable="CLAUDE_CONFIG_DIR",
        project=".mcp.json",
        typed=True,
        strict=True,
        then="start it anew, or say /mcp",
    ),
    "claude-desktop": Client(
        "Claude Desktop",
        "mcpServers",
        "Claude/claude_desktop_config.json",
        folder=_SETTINGS,
        strict=True,
        nowhere=True,
        then="quit and start it",
    ),
    "codex": Client(
        "Codex",
        "mcp_servers",
        "config.toml",
        folder=".codex",
        variable="CODEX_HOME",
        project=".codex/config.toml",
        toml=True,
    ),
    "cursor": Client(
        "Cursor",
        "mcpServers",
        ".cursor/mcp.json",
        project=".cursor/mcp.json",
        then="turn the server on in its settings",
    ),
    "gemini": Client("Gemini CLI", "mcpServers", ".gemini/settings.json", project=".gemini/settings.json"),
    "vscode": Client(
        "VS Code",
        "servers",
        "Code/User/mcp.json",
        folder=_SETTINGS,
        project=".vscode/mcp.json",
        typed=True,
        then="start the server from the list of MCP servers",
    ),
}


def place(client: str, scope: str, here: Here) -> str | None:
    """Return the file that a client reads; None if it has none for this scope."""
    about = CLIENTS[client]
    if scope == "project":
        return posixpath.join(here.folder, about.project) if about.project else None
    if about.folder == _SETTINGS:
        folder = _settings(here)
    else:
        folder = here.environ.get(about.variable) or posixpath.join(here.home, about.folder)
    return posixpath.join(folder, about.user)


def _settings(here: Here) -> str:
    if here.platform == "win32":
        return here.environ.get("APPDATA") or posixpath.join(here.home, "AppData", "Roaming")
    if here.platform == "darwin":
        return posixpath.join(here.home, "Library", "Application Support")
    return here.environ.get("XDG_CONFIG_HOME") or posixpath.join(here.home, ".config")


def entry(client: str, command: list[str], environ: "Mapping[str, str]") -> "dict[str, Any]":
    """Return the entry of a server that the client starts with this command."""
    found: dict[str, Any] = {"type": "stdio"} if CLIENTS[client].typed else {}
    found |= {"command": command[0], "args": command[1:]}
    if environ:
        found["env"] = dict(environ)
    return found
