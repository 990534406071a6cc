"""The clients that `mcp install` knows, a row each: where the configuration is, and the form of an entry."""

import posixpath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SCOPES = ("user", "project")
_SETTINGS = "settings"
"""The folder where programs with windows keep their settings, which differs by system."""
_STDIO = {"type": "stdio"}
_WINDOW = "it asks before a call; its window can remember the answer"


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
    fields: "Mapping[str, Any]" = {}  # noqa: RUF012  # never changed
    """Fields of every entry beside the command."""
    joined: bool = False
    """True if the command and its arguments are one list, and the variables are `environment`."""
    toml: bool = False
    """True if the configuration is TOML; it is JSON otherwise."""
    strict: bool = False
    """True if its JSON has no comments."""
    nowhere: bool = False
    """True if it has neither a working directory nor roots."""
    then: str = "start it anew"
    """What makes it read its configuration again."""
    allow: "Mapping[str, Any] | None" = None
    """Fields of an entry whose tools are called without approval; None if its entries have none."""
    permits: tuple[str, ...] = ()
    """The files, for each scope, whose `permissions.allow` lists what is called without approval."""
    unasked: str = ""
    """What calls without a person to approve them need; "" if they need nothing."""
    always: str = ""
    """What is needed in any case."""
    shared: str = ""
    """What the entry of a project needs besides."""


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
        fields=_STDIO,
        strict=True,
        then="start it anew, or say /mcp",
        permits=(".claude/settings.json", ".claude/settings.local.json"),
        unasked="`claude -p` needs `--allowedTools mcp__{name}`",
        shared="its approval is pending until you run `claude` in this folder",
    ),
    "claude-desktop": Client(
        "Claude Desktop",
        "mcpServers",
        "Claude/claude_desktop_config.json",
        folder=_SETTINGS,
        strict=True,
        nowhere=True,
        then="quit and start it",
        unasked=_WINDOW,
    ),
    "codex": Client(
        "Codex",
        "mcp_servers",
        "config.toml",
        folder=".codex",
        variable="CODEX_HOME",
        project=".codex/config.toml",
        toml=True,
        allow={"default_tools_approval_mode": "approve", "required": True},
        unasked='`codex exec` needs `-c mcp_servers.{name}.default_tools_approval_mode="approve"`',
        shared="it is read in trusted projects only",
    ),
    "copilot": Client(
        "Copilot CLI",
        "mcpServers",
        "mcp-config.json",
        folder=".copilot",
        variable="COPILOT_HOME",
        project=".mcp.json",
        fields={**_STDIO, "tools": ["*"]},
        unasked="`copilot -p` needs `--allow-tool {name}` (or `--allow-all-tools`)",
        shared="it is read in trusted folders only",
    ),
    "cursor": Client(
        "Cursor",
        "mcpServers",
        ".cursor/mcp.json",
        project=".cursor/mcp.json",
        then="turn the server on in its settings",
        unasked=_WINDOW,
    ),
    "gemini": Client(
        "Gemini CLI",
        "mcpServers",
        ".gemini/settings.json",
        project=".gemini/settings.json",
        allow={"trust": True},
        unasked='`gemini -p` needs `"trust": true` in the entry',
        always="it works in trusted folders only (`gemini --skip-trust`)",
    ),
    "opencode": Client(
        "opencode",
        "mcp",
        "opencode/opencode.json",
        folder=".config",
        variable="XDG_CONFIG_HOME",
        project="opencode.json",
        fields={"type": "local"},
        joined=True,
        allow={},
    ),
    "qwen": Client(
        "Qwen Code",
        "mcpServers",
        "settings.json",
        folder=".qwen",
        variable="QWEN_HOME",
        project=".qwen/settings.json",
        allow={"trust": True},
        unasked="`qwen -p` needs `--yolo`",
    ),
    "vscode": Client(
        "VS Code",
        "servers",
        "Code/User/mcp.json",
        folder=_SETTINGS,
        project=".vscode/mcp.json",
        fields=_STDIO,
        then="start the server from the list of MCP servers",
        unasked=_WINDOW,
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


def permit_place(client: str, scope: str, here: Here) -> str | None:
    """Return the file with the client's permissions; None if it has no such file."""
    about = CLIENTS[client]
    if not about.permits:
        return None
    if scope == "project":
        return posixpath.join(here.folder, about.permits[1])
    own = here.environ.get(about.variable)
    if own:  # it takes the place of the folder that the file lies in
        return posixpath.join(own, posixpath.basename(about.permits[0]))
    return posixpath.join(here.home, about.permits[0])


def _settings(here: Here) -> str:
    if here.platform == "win32":
        return here.environ.get("APPDATA") or posixpath.join(here.home, "AppData", "Roaming")
    if here.platform == "darwin":
        return posixpath.join(here.home, "Library", "Application Support")
    return here.environ.get("XDG_CONFIG_HOME") or posixpath.join(here.home, ".config")


def entry(
    client: str, command: list[str], environ: "Mapping[str, str]", *, allow: bool = False
) -> "dict[str, Any]":
    """Return the entry of a server that the client starts with this command.

    With `allow`, its tools are called without approval.
    """
    about = CLIENTS[client]
    found: dict[str, Any] = dict(about.fields)
    found |= {"command": command} if about.joined else {"command": command[0], "args": command[1:]}
    if environ:
        found["environment" if about.joined else "env"] = dict(environ)
    return {**found, **about.allow} if allow and about.allow else found


def next_step(client: str, scope: str, name: str, *, allow: bool) -> str:
    """Return what a person has to do until the tools can be called."""
    about = CLIENTS[client]
    said = [f"{about.title}: {about.then}"]
    said += [about.shared] if scope == "project" and about.shared else []
    said += [about.always] if about.always else []
    if about.unasked and not allow:
        way = " (or `mcp install --allow`)" if can_allow(client) else ""
        said.append(about.unasked.format(name=name) + way)
    return "; ".join(said)


def can_allow(client: str) -> bool:
    """True if a file of the client can allow calls without approval."""
    return CLIENTS[client].allow is not None or bool(CLIENTS[client].permits)
