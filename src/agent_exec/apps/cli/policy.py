"""The verb `policy`: explains what the rules say to a command, or checks a file of rules."""

import os

from agent_exec.apps.usage import UsageError
from agent_exec.faces import policy_verbs as judgement
from agent_exec.places import here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.parse import Parsed


def policy(asked: "Parsed") -> "dict[str, Any]":
    """Do it; refuse with a UsageError what makes no sense."""
    what, words = asked.words[:1], asked.words[1:]
    if what == ["explain"]:
        return _explain(asked, words)
    if what == ["check"]:
        return _check(asked, words)
    raise UsageError("say what: `policy explain -- COMMAND`, or `policy check FILE`", "policy")


def _explain(asked: "Parsed", words: list[str]) -> "dict[str, Any]":
    from agent_exec.host import own_processes
    from agent_exec.requests.opening import IN_FORCE, rules_file

    options = asked.options
    if ("line" in options) == bool(words):
        raise UsageError("explain takes a command, or --line and a shell line", "policy")
    command = options.get("line", words)
    cwd = os.path.realpath(options.get("cwd") or here())
    return judgement.explain(
        command, rules=rules_file(options.get("rules", IN_FORCE)), cwd=cwd, ancestors=own_processes()
    )


def _check(asked: "Parsed", words: list[str]) -> "dict[str, Any]":
    from agent_exec.requests.opening import IN_FORCE, rules_file, rules_place

    for name in ("line", "cwd"):
        if name in asked.options:
            raise UsageError(f"check takes no --{name}", "policy")
    if len(words) > 1 or (words and "rules" in asked.options):
        raise UsageError("check takes one file of rules", "policy")
    return judgement.check(
        words[0] if words else rules_file(asked.options.get("rules", IN_FORCE)) or rules_place()
    )
