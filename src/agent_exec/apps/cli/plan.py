"""The verbs `plan` and `group`: what waits, and the slots that it waits for."""

from agent_exec.apps.cli.act import jobs_of, nothing_more
from agent_exec.apps.parse import UsageError
from agent_exec.faces import defaults

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.parse import Parsed


def plan(asked: "Parsed") -> "dict[str, Any]":
    """Show what waits."""
    nothing_more(asked)
    return jobs_of(asked).plan(limit=asked.options.get("limit", defaults.LIST_LIMIT))


def group(asked: "Parsed") -> "dict[str, Any]":
    """Set, list or remove groups."""
    what, names, options = asked.words[:1], asked.words[1:], asked.options
    if what not in (["set"], ["list"], ["remove"]):
        raise UsageError(
            "say what: `group set NAME --slots N`, `group list`, or `group remove NAME`", "group"
        )
    if len(names) != (what != ["list"]):
        raise UsageError(
            f"{what[0]} takes {'the name of one group' if what != ['list'] else 'no name'}", "group"
        )
    if ("slots" in options) != (what == ["set"]):
        raise UsageError(f"{what[0]} {'needs' if what == ['set'] else 'takes no'} --slots", "group")
    jobs = jobs_of(asked)
    if what == ["set"]:
        return jobs.set_group(names[0], options["slots"])
    return jobs.remove_group(names[0]) if names else jobs.groups()
