"""The verb `install-skills`: gives coding agents a skill that teaches them to use this program."""

import os

from agent_exec.apps.cli.act import nothing_more
from agent_exec.faces import answers
from agent_exec.model.errors import ConfigFailed
from agent_exec.places import here, make_folder, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.parse import Parsed

NAME = "agent-exec"
_SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "skill.md")


def install_skills(asked: "Parsed") -> "dict[str, Any]":
    """Write the skill to where agents look for skills: below this folder, or with --global the home."""
    nothing_more(asked)
    options = asked.options
    base = os.path.expanduser("~") if "global" in options else here()
    folder = os.path.join(base, ".claude" if "claude" in options else ".agents", "skills", NAME)
    path = os.path.join(folder, "SKILL.md")
    with open(_SOURCE, "rb") as file:
        text = file.read()
    try:
        action = _action(path, text)
        if action != "unchanged" and "dry-run" not in options:
            make_folder(folder)
            write_file(path, text)
    except OSError as error:
        raise ConfigFailed(
            f"the skill cannot be written: {error.strerror} ({error.filename or path}); make it writable",
            path=path,
            errno=error.errno,
        ) from error
    skill = {"name": NAME, "source_type": "embedded", "path": path, "action": action}
    return answers.answer("install_skills", {"skills": [skill], "dry_run": "dry-run" in options})


def _action(path: str, text: bytes) -> str:
    """Return what writing the file comes to: created, updated or unchanged."""
    try:
        with open(path, "rb") as file:
            return "unchanged" if file.read() == text else "updated"
    except FileNotFoundError:
        return "created"
