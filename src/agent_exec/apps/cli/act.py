"""The verbs of the command line except `run`: each with its answer and exit status."""

import os

from agent_exec.apps.parse import UsageError
from agent_exec.faces import defaults, verbs
from agent_exec.jobs.record import STATES
from agent_exec.places import here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from agent_exec.apps.parse import Parsed
    from agent_exec.faces.verbs import Jobs


def act(asked: "Parsed") -> "tuple[dict[str, Any], int]":
    """Do it; refuse with a UsageError what makes no sense, before anything is done."""
    assert asked.verb is not None
    if asked.verb in _STORELESS:
        told = _STORELESS[asked.verb](asked)
    else:
        told = _VERBS[asked.verb](asked, verbs.Jobs(asked.store()))
    status = 0 if told["ok"] else 1
    if asked.options.get("exit-code"):
        status = verbs.exit_code(told)
    return told, status


def _job(asked: "Parsed") -> str:
    if len(asked.words) != 1:
        raise UsageError("the id of one job is needed; `agent-exec list --all` shows them", asked.verb)
    return asked.words[0]


def _nothing_more(asked: "Parsed") -> None:
    if asked.words:
        raise UsageError(f"{asked.words[0]!r} is one word too many", asked.verb)


def _status(asked: "Parsed", jobs: "Jobs") -> "dict[str, Any]":
    return jobs.status(_job(asked))


def _tail(asked: "Parsed", jobs: "Jobs") -> "dict[str, Any]":
    options = asked.options
    if "merged" in options and "grep" in options:
        raise UsageError("--merged and --grep contradict each other", "tail")
    return jobs.tail(
        _job(asked),
        tail_lines=options.get("tail-lines"),
        max_bytes=options.get("max-bytes", defaults.MAX_BYTES),
        cursor=options.get("cursor"),
        merged="merged" in options,
        grep=options.get("grep"),
    )


def _wait(asked: "Parsed", jobs: "Jobs") -> "dict[str, Any]":
    from agent_exec.host import Interrupts

    options = asked.options
    ways = [name for name in ("until", "forever", "timeout-ms") if name in options]
    if len(ways) > 1:
        raise UsageError(f"--{ways[0]} and --{ways[1]} contradict each other", "wait")
    seconds: float | None = options.get("until", defaults.WAIT)
    if "forever" in options or options.get("timeout-ms") == 0:
        seconds = None
    elif "timeout-ms" in options:
        seconds = options["timeout-ms"]
    return jobs.wait(
        _job(asked),
        seconds=seconds,
        tail_lines=options.get("tail-lines", defaults.TAIL_LINES),
        max_bytes=options.get("max-bytes", defaults.MAX_BYTES),
        cancel=Interrupts(),
    )


def _kill(asked: "Parsed", jobs: "Jobs") -> "dict[str, Any]":
    from agent_exec.host import Interrupts

    options = asked.options
    return jobs.kill(
        _job(asked),
        signal=options.get("signal", "TERM"),
        wait="no-wait" not in options,
        cancel=Interrupts(),
    )


def _list(asked: "Parsed", jobs: "Jobs") -> "dict[str, Any]":
    options = asked.options
    _nothing_more(asked)
    if "cwd" in options and "all" in options:
        raise UsageError("--cwd and --all contradict each other", asked.verb)
    states: tuple[str, ...] = ()
    if asked.verb == "ps":
        states = ("running",)
    elif "state" in options:
        states = (options["state"],)
        if states[0] not in (*STATES, "unknown"):  # which older stores had
            raise UsageError(f"--state takes one of {', '.join(STATES)}; got {states[0]!r}", "list")
    return jobs.list(
        cwd=None if "all" in options else options.get("cwd") or here(),
        states=states,
        tags=options.get("tag", ()),
        limit=options.get("limit", defaults.LIST_LIMIT),
    )


def _delete(asked: "Parsed", jobs: "Jobs") -> "dict[str, Any]":
    dry_run = "dry-run" in asked.options
    if "all" in asked.options:
        if asked.words:
            raise UsageError("give the id of a job or --all, not both", "delete")
        return jobs.delete_all(here(), dry_run=dry_run)
    return jobs.delete(_job(asked), dry_run=dry_run)


def _gc(asked: "Parsed", jobs: "Jobs") -> "dict[str, Any]":
    from agent_exec.places import settle_config

    options = asked.options
    _nothing_more(asked)
    said: dict[str, Any] = {}
    if settle_config() is not None:
        from agent_exec.requests.settings import settings

        found = settings()
        said = {} if found is None else found.gc
    return jobs.gc(
        older_than=options.get("older-than", said.get("older_than", defaults.OLDER_THAN)),
        given=asked.texts.get("older-than"),
        configured="older_than" in said,
        max_jobs=options.get("max-jobs", said.get("max_jobs")),
        max_bytes=options.get("max-bytes", said.get("max_bytes")),
        dry_run="dry-run" in options,
    )


def _policy(asked: "Parsed") -> "dict[str, Any]":
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


def _sandbox(asked: "Parsed") -> "dict[str, Any]":
    """Run a command in a box, explain what one may touch, or say which boxes work here."""
    from agent_exec.apps.profile import is_file, profile
    from agent_exec.faces import sandbox as face

    what, words = asked.words[:1], asked.words[1:]
    if what == ["doctor"] and not words:
        return face.doctor()
    if what not in (["run"], ["explain"]):
        usage = "say what: `sandbox run -- COMMAND`, `sandbox explain PATH`, or `sandbox doctor`"
        raise UsageError(usage, "sandbox")
    if not words or not words[0]:
        raise UsageError("a command is needed, such as: agent-exec sandbox run -- make test", "sandbox")
    if what == ["explain"] and len(words) > 1:
        raise UsageError("one path is explained at a time: agent-exec sandbox explain ~/.netrc", "sandbox")
    from agent_exec.places import jobs_root
    from agent_exec.requests.dispatch import Dispatcher
    from agent_exec.requests.leaving import keep_out

    options = asked.options
    named = options.get("profile", "")
    wanted = profile(asked, "profile", "root")
    cwd = os.path.realpath(options.get("cwd") or here())
    own = [named] if is_file(named) else []
    keep_out(own, wanted)
    dispatcher = Dispatcher(sandbox=wanted, own=own, hidden=[jobs_root()])
    if what == ["explain"]:
        path = os.path.normpath(os.path.join(cwd, os.path.expanduser(words[0])))
        return face.explain(wanted, path, dispatcher.ours)
    return face.run(dispatcher, words, cwd=cwd, timeout=options.get("timeout") or None)


def _events(asked: "Parsed") -> "dict[str, Any]":
    from agent_exec.apps.cli.events import events

    return events(asked)


def _schema(asked: "Parsed") -> "dict[str, Any]":
    _nothing_more(asked)
    return verbs.schema()


_VERBS = {
    "status": _status,
    "tail": _tail,
    "wait": _wait,
    "kill": _kill,
    "list": _list,
    "ps": _list,
    "delete": _delete,
    "gc": _gc,
}
_STORELESS: "dict[str, Callable[[Parsed], dict[str, Any]]]" = {
    "events": _events,
    "policy": _policy,
    "sandbox": _sandbox,
    "schema": _schema,
}
