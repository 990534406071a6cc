"""The verb `notify`, and the options of a job that choose its notifications."""

from agent_exec.apps.parse import UsageError
from agent_exec.requests.opening import IN_FORCE, gate_for

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.parse import Parsed
    from agent_exec.jobs.events.notification import Config

_SETTINGS = {
    "notify-command": "notify_command",
    "command": "notify_command",
    "notify-file": "notify_file",
    "notify-url": "notify_url",
    "notify-secret-file": "secret_file",
    "notify-secret-env": "secret_env",
    "notify-desktop": "notify_desktop",
    "notify-output": "notify_output",
    "notify-private": "allow_private",
}
_RULE = {
    "output-match-type": "match_type",
    "output-stream": "stream",
    "output-command": "command",
    "output-file": "file",
}


def notification(asked: "Parsed") -> "Config | None":
    """Return the notifications that the options ask for, checked and judged; None if there are none."""
    changes, rules = _given(asked)
    if not changes and rules is None:
        return None
    from agent_exec.jobs.events.notification import checked

    return judged(asked, checked({**changes, "output_matches": rules or ()}))


def _given(asked: "Parsed") -> "tuple[Config, list[Config] | None]":
    """Return the settings that were given, and the rules for output; None if there are none."""
    options = asked.options
    changes = {ours: options[name] for name, ours in _SETTINGS.items() if name in options}
    if "notify-on" in options:
        changes["notify_on"] = [kind for given in options["notify-on"] for kind in given.split(",")]
    if "notify-timeout" in options:
        changes["notify_timeout_ms"] = round(options["notify-timeout"] * 1000)
    if changes.keys() & {"secret_file", "secret_env", "notify_output", "allow_private"} and not (
        "notify_url" in changes or asked.verb == "notify"
    ):
        raise UsageError(
            "--notify-secret-…, --notify-output and --notify-private need --notify-url", asked.verb
        )
    common = {ours: options[name] for name, ours in _RULE.items() if name in options}
    if common and "output-pattern" not in options:
        name = next(name for name in _RULE if name in options)
        raise UsageError(f"--{name} needs --output-pattern", asked.verb)
    if "output-pattern" not in options:
        return changes, None
    return changes, [{"pattern": pattern, **common} for pattern in options["output-pattern"]]


def judged(asked: "Parsed", config: "Config") -> "Config":
    """Return the configuration once the rules in force have admitted the commands in it."""
    from agent_exec.faces.notify_verbs import judge
    from agent_exec.host import shell
    from agent_exec.jobs.events.notification import commands_of
    from agent_exec.places import here

    rules = asked.options.get("rules", IN_FORCE)
    gates = (gate_for(shell(line), rules) for line in commands_of(config))
    judge(config, next((gate for gate in gates if gate is not None), None), here())
    return config


def notify(asked: "Parsed") -> "dict[str, Any]":
    """Set, show or clear the notifications of a job."""
    from agent_exec.faces import notify_verbs

    what, words = asked.words[:1], asked.words[1:]
    if what not in (["set"], ["show"], ["clear"]) or len(words) != 1:
        raise UsageError("say what: `notify set JOB …`, `notify show JOB` or `notify clear JOB`", "notify")
    store = asked.store()
    if what == ["show"]:
        return notify_verbs.show(store, words[0])
    if what == ["clear"]:
        return notify_verbs.clear(store, words[0])
    changes, rules = _given(asked)
    if not changes and rules is None:
        raise UsageError("nothing to set: give --command, --output-pattern or another option", "notify")
    return notify_verbs.set_(store, words[0], changes, rules, check=lambda config: judged(asked, config))
