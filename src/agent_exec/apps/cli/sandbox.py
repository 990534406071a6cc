"""The verb `sandbox`: runs a command in a box, or tells what boxes work here."""

import os

from agent_exec.apps.cli.profile import is_file, profile
from agent_exec.apps.cli.usage import UsageError, here
from agent_exec.faces import sandbox as face

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.cli.parse import Parsed


def sandbox(asked: "Parsed") -> "dict[str, Any]":
    """Do it; refuse with a UsageError what makes no sense."""
    what, words = asked.words[:1], asked.words[1:]
    if what == ["doctor"] and not words:
        return face.doctor()
    if what != ["run"]:
        raise UsageError("say what: `sandbox run -- COMMAND`, or `sandbox doctor`", "sandbox")
    if not words or not words[0]:
        raise UsageError("a command is needed, such as: agent-exec sandbox run -- make test", "sandbox")
    from agent_exec.sandbox.ours import ours
    from agent_exec.settings import jobs_root, rules_file, rules_place

    options = asked.options
    named = options.get("profile", "")
    return face.run(
        profile(asked, "profile", "root"),
        words,
        cwd=os.path.realpath(options.get("cwd") or here()),
        timeout=options.get("timeout") or None,
        ours=ours([rules_file() or rules_place(), *([named] if is_file(named) else [])], [jobs_root()]),
    )
