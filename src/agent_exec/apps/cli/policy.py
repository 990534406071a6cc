"""The verb `policy`: explains verdicts, and checks files of rules."""

import os

from agent_exec.apps.parse import UsageError
from agent_exec.places import here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.parse import Parsed


def policy(asked: "Parsed") -> "dict[str, Any]":
    """Explain what the rules say to a command, or check a file of rules."""
    from agent_exec.faces import policy_verbs
    from agent_exec.requests.opening import IN_FORCE, rules_file, rules_place

    what, words, options = asked.words[:1], asked.words[1:], asked.options
    rules = rules_file(options.get("rules", IN_FORCE))
    if what == ["explain"]:
        if ("line" in options) == bool(words):
            raise UsageError("explain takes a command, or --line and a shell line", "policy")
        cwd = os.path.realpath(options.get("cwd") or here())
        return policy_verbs.explain(options.get("line", words), rules=options.get("rules", IN_FORCE), cwd=cwd)
    if what != ["check"]:
        raise UsageError("say what: `policy explain -- COMMAND`, or `policy check FILE`", "policy")
    for name in ("line", "cwd"):
        if name in options:
            raise UsageError(f"check takes no --{name}", "policy")
    if len(words) > 1 or (words and "rules" in options):
        raise UsageError("check takes one file of rules", "policy")
    return policy_verbs.check(words[0] if words else rules or rules_place())
