"""The verb `mcp install`: adds this server to a client's configuration, after showing the change."""

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agent_exec.apps.mcp.install import config_file as installfile
from agent_exec.apps.mcp.install.clients import (
    CLIENTS,
    SCOPES,
    Here,
    can_allow,
    entry,
    next_step,
    permit_place,
    place,
)
from agent_exec.apps.mcp.install.config_text import by_hand, edited, permitted
from agent_exec.apps.mcp.install.json_text import Mistake
from agent_exec.apps.options import GLOBAL, VERBS
from agent_exec.apps.parse import UsageError
from agent_exec.apps.profile import is_file
from agent_exec.faces.answers import answer
from agent_exec.model.errors import AgentExecError, ApprovalRequired, Interrupted, InvalidConfig
from agent_exec.places import here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent_exec.apps.mcp.install.config_file import Found
    from agent_exec.apps.parse import Parsed

_PATHS = ("workspace", "rules", "root")
_VARIABLES: "dict[str, Callable[[str], str]]" = {
    "AGENT_EXEC_ROOT": os.path.abspath,
    "AGENT_EXEC_RULES": os.path.abspath,
    "AGENT_EXEC_APPROVAL_POLICY": str,
}
"""Variables that are passed to the server, and how they come to mean the same in every folder."""
_LONGEST = 64


def install(asked: "Parsed") -> dict[str, Any]:
    """Add the server, and return the answer; raise UsageError for invalid options."""
    options = asked.options
    client, scope, name = _named(asked)
    _check_server(asked)
    about = CLIENTS[client]
    allow = "allow" in options
    if allow and not can_allow(client):
        way = about.unasked.format(name=name)
        raise UsageError(f"no file of {about.title} allows calls; leave out --allow: {way}", "mcp")
    if about.nowhere and not options.get("workspace"):
        raise UsageError(f"{about.title} has no working directory: name one with --workspace DIR", "mcp")
    command = [*program(), *words(asked)]
    variables = {one: whole(value) for one, whole in _VARIABLES.items() if (value := os.environ.get(one))}
    for word in (*command, *variables.values()):
        if not word.isascii() and any("\ud800" <= letter <= "\udfff" for letter in word):
            raise UsageError(f"{word!r} is not in UTF-8, as configurations are; give it another name", "mcp")
    around = Here(_home() if scope == "user" else "", here(), os.environ, sys.platform)
    path = place(client, scope, around)
    if path is None:
        raise UsageError(f"{about.title} has no configuration of projects; say --scope user", "mcp")
    inside = around.folder if scope == "project" else None
    found = installfile.find(path, project=inside)
    wanted = entry(client, command, variables, allow=allow)
    with _in(found, client, by_hand(about, name, wanted)):
        text, known = edited(found.text, about, name, wanted)
    action = "created" if found.state is None else "changed" if known else "added"
    changes = [(found, text)]
    allowed = found.path if allow else None
    other = permit_place(client, scope, around) if allow else None
    if other is not None:
        permits = installfile.find(other, project=inside)
        allowed = permits.path
        with _in(permits, client, permitted("", f"mcp__{name}")):
            changes.insert(0, (permits, permitted(permits.text, f"mcp__{name}")))
    if found.state is not None and text == found.text:
        action = "unchanged"
    changes = [(old, new) for old, new in changes if old.state is None or new != old.text]
    for old, new in changes:
        _say(difference(old, new))
    backups = {}
    if not changes:
        _say(f"agent-exec: {found.path} has it already; nothing to do\n")
    elif "dry-run" not in options:
        if "yes" not in options:
            _ask(" and ".join(old.path for old, _ in changes))
        for old, new in changes:  # the entry last: a permission without a server allows nothing
            backups[old.path] = installfile.replace(old, new)
    return answer(
        "mcp_install",
        {
            "client": client,
            "scope": scope,
            "name": name,
            "file": found.path,
            "action": action,
            "dry_run": "dry-run" in options,
            "command": command,
            "env": variables,
            "backup": backups.get(found.path),
            "allowed": allowed,
            "next": next_step(client, scope, name, allow=allow),
        },
    )


@contextmanager
def _in(found: "Found", client: str, shown: str) -> "Iterator[None]":
    """Raise InvalidConfig for a Mistake in a file, with the text that a person could add to it."""
    try:
        yield
    except Mistake as mistake:
        line = {} if mistake.line is None else {"line": mistake.line}
        where = f"{found.path}, line {mistake.line}" if line else found.path
        message = f"{where}: {mistake.message}. It was left as it is; mend it, or add yourself:\n{shown}"
        raise InvalidConfig(message, file=found.path, client=client, **line) from None


def program() -> list[str]:
    """Return the command that starts this program from any directory and environment."""
    from shutil import which

    uvx = which("uvx")
    if uvx is not None and any(part.startswith("archive-v") for part in sys.prefix.split(os.sep)):
        return [
            os.path.abspath(uvx),
            "--from",
            "agent-exec[mcp]",
            "agent-exec",
            "mcp",
        ]  # a temporary installation
    beside = os.path.join(os.path.dirname(sys.executable), "agent-exec")
    if os.name == "posix" and os.access(beside, os.X_OK):
        return [beside, "mcp"]
    return [sys.executable, "-P", "-m", "agent_exec", "mcp"]


def words(asked: "Parsed") -> list[str]:
    """Return the options of the server, with absolute paths."""
    from agent_exec.apps.mcp.main import INSTALL_OPTIONS

    found = []
    for name, kind, *_ in (*VERBS["mcp"].options, *GLOBAL):
        if name in INSTALL_OPTIONS or name not in asked.options or name in ("verbose", "help"):
            continue
        if kind == "flag":
            found.append(f"--{name}")
            continue
        for value in filter(None, asked.options[name] if kind == "many" else [asked.texts[name]]):
            whole = name in _PATHS or (name == "sandbox" and is_file(value))
            found += [f"--{name}", os.path.abspath(value) if whole else value]
    return found


def _home() -> str:
    """Return the home folder; raise UsageError if it does not exist, since no client would look there."""
    home = os.path.expanduser("~") if os.environ.get("HOME") != "" else ""
    if not (os.path.isabs(home) and os.path.isdir(home)):
        raise UsageError(
            f"the home folder {home!r} is not a folder: let HOME be the whole path of yours", "mcp"
        )
    return home


def difference(found: "Found", text: str) -> str:
    """Return the change as a unified diff."""
    from difflib import unified_diff

    old = [] if found.state is None else found.text.splitlines()
    name = found.path if found.state is not None else os.devnull
    lines = unified_diff(old, text.splitlines(), name, found.path, lineterm="")
    return "".join(f"{line}\n" for line in lines) or f"{found.path}: only the ends of lines change\n"


def _named(asked: "Parsed") -> tuple[str, str, str]:
    if len(asked.words) > 1:
        raise UsageError(f"{asked.words[1]!r} is one word too many", "mcp")
    options = asked.options
    clients = ", ".join(CLIENTS)
    if options.get("client") not in CLIENTS:
        got = f"; got {options['client']!r}" if "client" in options else ""
        raise UsageError(f"install needs --client, one of {clients}{got}", "mcp")
    scope = options.get("scope", SCOPES[0])
    if scope not in SCOPES:
        raise UsageError(f"--scope takes {' or '.join(SCOPES)}; got {scope!r}", "mcp")
    name = options.get("name", "agent-exec")
    plain = name.replace("-", "").replace("_", "")
    if not (plain.isascii() and plain.isalnum() and len(name) <= _LONGEST):
        raise UsageError(f"--name takes letters, digits, - and _, {_LONGEST} at most; got {name!r}", "mcp")
    return options["client"], scope, name


def _check_server(asked: "Parsed") -> None:
    """Raise UsageError for options that the server would refuse, or if the SDK is not installed."""
    from importlib.util import find_spec

    from agent_exec.apps.mcp.main import HTTP_OPTIONS, MISSING, settings_of, toolsets
    from agent_exec.requests.opening import IN_FORCE, open_gate

    for name in ("http", *HTTP_OPTIONS):
        if name in asked.options:
            raise UsageError(f"--{name} is not for `mcp install`: clients start the server themselves", "mcp")
    try:
        toolsets(asked)
        settings_of(asked)
        open_gate(asked.options.get("rules", IN_FORCE))
    except AgentExecError as error:
        raise UsageError(error.message, "mcp") from None
    if find_spec("mcp") is None:
        raise UsageError(MISSING, "mcp")


def _ask(paths: str) -> None:
    """Ask for confirmation; raise ApprovalRequired without one, or without a terminal."""
    if not (sys.stdin is not None and sys.stdin.isatty() and os.isatty(2)):
        raise ApprovalRequired(
            f"{paths} was not changed: no terminal to ask on; check the change, then use --yes"
        )
    try:
        _say(f"Change {paths}? [y/N] ")
        said = sys.stdin.readline()
    except KeyboardInterrupt:
        _say("\n")
        raise Interrupted(f"{paths} was not changed: you interrupted; call it again") from None
    if not said.endswith("\n"):
        _say("\n")  # what comes next begins a line
    if said.strip().lower() not in ("y", "yes"):
        raise ApprovalRequired(f"{paths} was not changed: you did not say yes; call it again to be asked")


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
