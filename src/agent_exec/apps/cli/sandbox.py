"""The verb `sandbox`: runs a command in a box, or tells what boxes work here."""

import os

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
    from agent_exec.sandbox.profile import NAMES, Profile

    options = asked.options
    name = options.get("profile", "workspace-write")
    if name not in NAMES:
        raise UsageError(f"--profile takes one of {', '.join(NAMES)}; got {name!r}", "sandbox")
    if options.get("net", "off") not in ("off", "on"):
        raise UsageError(f"--net takes off or on; got {options['net']!r}", "sandbox")
    cwd = os.path.realpath(options.get("cwd") or here())
    roots = [os.path.realpath(root) for root in options.get("root", [here()])]
    profile = Profile(name, roots, net=options.get("net", "off"))
    return face.run(profile, words, cwd=cwd, timeout=options.get("timeout") or None)
