"""Parses which notifications a job has, and their sinks, before it starts; its record keeps them."""

import os

from agent_exec.model.errors import InvalidArgument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    Config = dict[str, Any]

FACT = "notification"
"""The name of it in the record."""

_TEXTS = ("notify_command", "notify_file", "notify_url", "secret_file", "secret_env")
_FLAGS = ("notify_desktop", "notify_output", "allow_private")
_RULE = ("pattern", "match_type", "stream", "command", "file")
_CHOICES = {"match_type": ("contains", "regex"), "stream": ("stdout", "stderr", "either")}
_LONGEST = 4096
_MOST_RULES = 32
_LONGEST_TIMEOUT = 3_600_000
ALWAYS = ("ended", "lost", "output-match")
"""The kinds of events that are delivered by default."""


def checked(given: "Mapping[str, Any]") -> "Config":
    """Return a configuration as it is recorded; raise InvalidArgument for what is wrong with it."""
    unknown = given.keys() - {*_TEXTS, *_FLAGS, "notify_on", "notify_timeout_ms", "output_matches"}
    if unknown:
        raise InvalidArgument(f"there is no notification setting {min(unknown)!r}")
    config: Config = {}
    for name in _TEXTS:
        if given.get(name) is not None:
            config[name] = _text(name, given[name])
    for name in _FLAGS:
        if given.get(name):
            config[name] = True
    for name in ("notify_file", "secret_file"):
        if name in config:
            config[name] = os.path.abspath(config[name])
    if "notify_url" in config:
        from agent_exec.jobs.events.webhook import check_url

        check_url(config["notify_url"], private=config.get("allow_private", False))
    if "secret_file" in config and "secret_env" in config:
        raise InvalidArgument("give the secret of a webhook by a file or by a variable, not both")
    if "secret_file" in config or "secret_env" in config:
        secret_of(config)
    if config.get("notify_desktop"):
        from agent_exec.host import on_path

        if on_path("notify-send", os.environ.get("PATH", "")) is None:
            raise InvalidArgument(
                "a desktop notification needs notify-send, which was not found on PATH; install libnotify"
            )
    if given.get("notify_timeout_ms") is not None:
        config["notify_timeout_ms"] = _milliseconds(given["notify_timeout_ms"])
    kinds = [kind for kind in given.get("notify_on", ()) if kind not in ALWAYS]
    if kinds:
        config["notify_on"] = [_text("notify_on", kind) for kind in kinds]
    rules = [_rule(rule) for rule in given.get("output_matches", ())]
    if len(rules) > _MOST_RULES:
        raise InvalidArgument(f"a job has at most {_MOST_RULES} output patterns; got {len(rules)}")
    if rules:
        config["output_matches"] = rules
    return config


def _rule(given: "Mapping[str, Any]") -> "Config":
    unknown = given.keys() - set(_RULE)
    if unknown or not given.get("pattern"):
        raise InvalidArgument(
            f"an output rule has a pattern, and {', '.join(_RULE[1:])}; got {dict(given)!r}"
        )
    rule: Config = {"pattern": _text("pattern", given["pattern"])}
    for name, known in _CHOICES.items():
        rule[name] = given.get(name) or ("contains" if name == "match_type" else "either")
        if rule[name] not in known:
            raise InvalidArgument(f"{name} must be one of {', '.join(known)}; got {rule[name]!r}")
    for name in ("command", "file"):
        if given.get(name) is not None:
            rule[name] = _text(name, given[name])
    if "file" in rule:
        rule["file"] = os.path.abspath(rule["file"])
    if rule["match_type"] == "regex":
        from agent_exec.model.patterns import compiled

        compiled(rule["pattern"])
    return rule


def _text(name: str, given: object) -> str:
    if not isinstance(given, str) or not given.strip() or "\0" in given or len(given) > _LONGEST:
        raise InvalidArgument(f"{name} must be a text of 1 to {_LONGEST} characters; got {given!r:.80}")
    return given


def _milliseconds(given: object) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or not 0 < given <= _LONGEST_TIMEOUT:
        raise InvalidArgument(
            f"notify_timeout_ms must be a whole number from 1 to {_LONGEST_TIMEOUT}; got {given!r:.80}"
        )
    return given


def commands_of(config: "Config") -> "list[str]":
    """Return the shell lines that a configuration may have run."""
    rules = config.get("output_matches", ())
    found = [config.get("notify_command"), *(rule.get("command") for rule in rules)]
    return [line for line in found if line]


def sinks_of(config: "Config", rule: "Config | None" = None) -> "list[list[str]]":
    """Return the ways to tell of an event, each by its type and its target; quick ones first.

    `rule` is the rule whose pattern was found, if it is that.
    """
    command, file = (rule or {}).get("command"), (rule or {}).get("file")
    if rule is None:
        command, file = config.get("notify_command"), config.get("notify_file")
    desktop = "notify-send" if config.get("notify_desktop") else None
    targets = {"file": file, "desktop": desktop, "webhook": config.get("notify_url"), "command": command}
    return [[kind, target] for kind, target in targets.items() if target]


def shown(config: "Config") -> "Config":
    """Return a configuration as answers show it: an address may hold a secret, so only its host."""
    told = {name: value for name, value in config.items() if name != "output_matches"}
    if "notify_url" in told:
        told["notify_url"] = hidden(told["notify_url"])
    rules = config.get("output_matches")
    if rules:
        told["on_output_match"] = rules[0]
        told["output_matches"] = rules
    return told


def hidden(url: str) -> str:
    """Return where an address leads, without what may be a secret in it."""
    scheme, _, rest = url.partition("://")
    host = rest.partition("/")[0].partition("?")[0]
    return f"{scheme}://{host}/…" if len(rest) > len(host) + 1 else url


def merged(config: "Config", changes: "Config", rules: "Iterable[Mapping[str, Any]] | None") -> "Config":
    """Return a configuration with changes; new rules replace the former ones, None keeps them."""
    found = {name: value for name, value in config.items() if name != "output_matches"} | changes
    found["output_matches"] = config.get("output_matches", ()) if rules is None else list(rules)
    return checked(found)


def secret_of(config: "Config") -> bytes | None:
    """Return the secret that signs webhooks, if there is one; raise InvalidArgument if it cannot be read."""
    if "secret_env" in config:
        name = config["secret_env"]
        found = os.environ.get(name, "").encode("utf-8", "surrogateescape")
        if not found:
            raise InvalidArgument(f"the variable {name} that has the webhook's secret is not set; export it")
    elif "secret_file" in config:
        from agent_exec.logs.folders import open_own_file

        try:
            fd = open_own_file(config["secret_file"])
        except OSError as error:
            raise InvalidArgument(
                f"the webhook's secret cannot be read from {config['secret_file']}: {error.strerror}"
            ) from None
        try:
            found = os.read(fd, _LONGEST).strip()
        finally:
            os.close(fd)
        if not found:
            raise InvalidArgument(f"the file of the webhook's secret, {config['secret_file']}, is empty")
    else:
        return None
    if found.startswith(b"whsec_"):
        from binascii import Error, a2b_base64

        try:
            return a2b_base64(found[6:])
        except Error:
            raise InvalidArgument("a secret that begins with whsec_ must go on in base64") from None
    return found
