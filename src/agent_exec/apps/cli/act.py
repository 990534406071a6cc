"""The verbs of the command line that read jobs, rules and sandboxes: each with its answer and exit status."""

from agent_exec.apps.usage import UsageError
from agent_exec.faces import defaults, verbs
from agent_exec.jobs.record import STATES
from agent_exec.places import here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from agent_exec.apps.parse import Parsed
    from agent_exec.jobs.store import Store


def act(asked: "Parsed") -> "tuple[dict[str, Any], int]":
    """Do it; refuse with a UsageError what makes no sense, before anything is done."""
    assert asked.verb is not None
    if asked.verb in _STORELESS:
        told = _STORELESS[asked.verb](asked)
    else:
        told = _VERBS[asked.verb](asked, asked.store())
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


def _status(asked: "Parsed", store: "Store") -> "dict[str, Any]":
    return verbs.status(store, _job(asked))


def _tail(asked: "Parsed", store: "Store") -> "dict[str, Any]":
    options = asked.options
    if "merged" in options and "grep" in options:
        raise UsageError("--merged and --grep contradict each other", "tail")
    return verbs.tail(
        store,
        _job(asked),
        lines=options.get("tail-lines"),
        size=options.get("max-bytes", defaults.MAX_BYTES),
        cursor=options.get("cursor"),
        merged="merged" in options,
        grep=options.get("grep"),
    )


def _wait(asked: "Parsed", store: "Store") -> "dict[str, Any]":
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
    return verbs.wait(
        store,
        _job(asked),
        seconds=seconds,
        lines=options.get("tail-lines", defaults.TAIL_LINES),
        size=options.get("max-bytes", defaults.MAX_BYTES),
        cancel=Interrupts(),
    )


def _kill(asked: "Parsed", store: "Store") -> "dict[str, Any]":
    from agent_exec.host import Interrupts

    options = asked.options
    return verbs.kill(
        store,
        _job(asked),
        signal=options.get("signal", "TERM"),
        wait="no-wait" not in options,
        cancel=Interrupts(),
    )


def _list(asked: "Parsed", store: "Store") -> "dict[str, Any]":
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
    return verbs.list_(
        store,
        cwd=None if "all" in options else options.get("cwd") or here(),
        states=states,
        tags=options.get("tag", ()),
        limit=options.get("limit", defaults.LIST_LIMIT),
    )


def _delete(asked: "Parsed", store: "Store") -> "dict[str, Any]":
    dry_run = "dry-run" in asked.options
    if "all" in asked.options:
        if asked.words:
            raise UsageError("give the id of a job or --all, not both", "delete")
        return verbs.delete_all(store, here(), dry_run=dry_run)
    return verbs.delete(store, _job(asked), dry_run=dry_run)


def _gc(asked: "Parsed", store: "Store") -> "dict[str, Any]":
    options = asked.options
    _nothing_more(asked)
    return verbs.gc(
        store,
        older_than=options.get("older-than", defaults.OLDER_THAN),
        given=asked.texts.get("older-than"),
        max_jobs=options.get("max-jobs"),
        max_bytes=options.get("max-bytes"),
        dry_run="dry-run" in options,
    )


def _policy(asked: "Parsed") -> "dict[str, Any]":
    from agent_exec.apps.cli.policy import policy

    return policy(asked)


def _sandbox(asked: "Parsed") -> "dict[str, Any]":
    from agent_exec.apps.cli.sandbox import sandbox

    return sandbox(asked)


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
    "policy": _policy,
    "sandbox": _sandbox,
    "schema": _schema,
}
