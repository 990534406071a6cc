"""A Procfile, as foreman and Heroku read it, turned into the text of a project file."""

import os

from agent_exec.model.errors import InvalidSettings
from agent_exec.model.jsonline import dump
from agent_exec.requests.settings import read_text

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_RELEASE = "release"
"""The process type that Heroku runs to its end before it starts the others."""


def convert(file: str) -> str:
    """Return the text of the project file that says what a Procfile says; raise InvalidSettings.

    Lines stay shell lines, so variables are expanded by the shell. A command
    that names PORT gets a stable port of its own. `.env` beside the file is used.
    """
    name = os.path.abspath(file)
    text, _ = read_text(name, "the Procfile")
    commands = _parse(text, name)
    lines = [f"# Imported from {os.path.basename(name)}: see `agent-exec up --help`.\n"]
    if os.path.exists(os.path.join(os.path.dirname(name), ".env")):
        lines.append('env_file = ".env"\n')
    for process, command in commands.items():
        kind = "jobs" if process == _RELEASE else "services"
        lines.append(f"\n[{kind}.{process}]\ncommand = {_quoted(command)}\n")
        if kind == "services" and "PORT" in command:
            lines.append('port = "auto"\n')
        if kind == "services" and _RELEASE in commands:
            lines.append(f'after = ["{_RELEASE}"]\n')
    return "".join(lines)


def _parse(text: str, name: str) -> "dict[str, str]":
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        process, colon, command = line.partition(":")
        process = process.strip()
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if not colon or not process or not _LETTERS.issuperset(process) or not command.strip():
            _refuse(name, number, "write NAME: COMMAND, such as web: npm start")
        process = process.replace("_", "-")
        if process in found:
            _refuse(name, number, f"there is a {process!r} already; give this one another name")
        found[process] = command.strip()
    if not found:
        _refuse(name, 1, "there is no process; write NAME: COMMAND, such as web: npm start")
    return found


def _refuse(name: str, line: int, message: str) -> None:
    raise InvalidSettings(f"{name}:{line}: {message}", file=name, line=line)


def _quoted(text: str) -> str:
    """Return a text as TOML has it, which is as JSON has it but for one character."""
    return dump(text).replace("\x7f", "\\u007f")
