"""The verbs of the command line except `run`: each with its answer and exit status."""

import sys

from agent_exec.apps.parse import UsageError
from agent_exec.faces import defaults, verbs
from agent_exec.jobs.record import STATES
from agent_exec.places import here

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.parse import Parsed
    from agent_exec.faces.verbs import Jobs


def act(asked: "Parsed") -> "tuple[dict[str, Any], int]":
    """Do it; refuse with a UsageError what makes no sense, before anything is done."""
    assert asked.verb is not None
    home = _HOMES.get(asked.verb)
    if home is not None:
        __import__(home)
        told = getattr(sys.modules[home], _FUNCTIONS.get(asked.verb, asked.verb.replace("-", "_")))(asked)
    else:
        told = _VERBS[asked.verb](asked, jobs_of(asked))
    if not told:  # all has been printed
        return told, 0
    status = 0 if told["ok"] else 1
    if asked.options.get("exit-code"):
        status = verbs.exit_code(told)
    return told, status


def jobs_of(asked: "Parsed") -> "Jobs":
    """Return the jobs that the options name: those of a server, of a folder, or the default ones."""
    return asked.remote or verbs.Jobs(asked.store())


def job_of(asked: "Parsed") -> str:
    """Return the one word of a verb that takes a job."""
    if len(asked.words) != 1:
        raise UsageError("the id of one job is needed; `agent-exec list --all` shows them", asked.verb)
    word = asked.words[0]
    if word[:1] in ("@", "%") or word == "last":
        from agent_exec.apps.cli.people.names import named

        return named(jobs_of(asked), word)
    return word


def nothing_more(asked: "Parsed") -> None:
    """Raise UsageError if there are words, of which the verb takes none."""
    if asked.words:
        raise UsageError(f"{asked.words[0]!r} is one word too many", asked.verb)


def _status(asked: "Parsed", jobs: "Jobs") -> "dict[str, Any]":
    return jobs.status(job_of(asked))


def _tail(asked: "Parsed", jobs: "Jobs") -> "dict[str, Any]":
    options = asked.options
    ways: list[str] = [name for name in ("merged", "grep", "view") if name in options]
    if "view" in options:
        ways += [name for name in ("cursor", "tail-lines") if name in options]
    if len(ways) > 1:
        raise UsageError(f"--{ways[0]} and --{ways[1]} contradict each other", "tail")
    return jobs.tail(
        job_of(asked),
        tail_lines=options.get("tail-lines"),
        max_bytes=options.get("max-bytes", defaults.MAX_BYTES),
        cursor=options.get("cursor"),
        merged="merged" in options,
        grep=options.get("grep"),
        attempt=options.get("attempt"),
        view=options.get("view"),
    )


def _wait(asked: "Parsed", jobs: "Jobs") -> "dict[str, Any]":
    from agent_exec.host import Interrupts

    cancel = Interrupts()
    options = asked.options
    ways = [name for name in ("until", "forever", "timeout-ms") if name in options]
    if len(ways) > 1:
        raise UsageError(f"--{ways[0]} and --{ways[1]} contradict each other", "wait")
    seconds: float | None = options.get("until", defaults.WAIT)
    if "forever" in options or options.get("timeout-ms") == 0:
        seconds = None
    elif "timeout-ms" in options:
        seconds = options["timeout-ms"]
    conditions = options.get("for", [])
    if "all" in options and not conditions:
        raise UsageError("--all needs --for", "wait")
    if "from-json" in options:
        from agent_exec.apps.cli.reference import referenced

        theirs, job_id = referenced(asked, cancel)
        jobs = asked.remote or theirs
    else:
        job_id = job_of(asked)
    if asked.remote is None and any(text.startswith("exec=") for text in conditions):
        from agent_exec.apps.cli.readiness import gate_of

        jobs = verbs.Jobs(jobs.store, gate_of(asked, conditions))
    return jobs.wait(
        job_id,
        conditions=conditions,
        every="all" in options,
        forks=True,
        seconds=seconds,
        tail_lines=options.get("tail-lines", defaults.TAIL_LINES),
        max_bytes=options.get("max-bytes", defaults.MAX_BYTES),
        cancel=cancel,
    )


def _kill(asked: "Parsed", jobs: "Jobs") -> "dict[str, Any]":
    from agent_exec.host import Interrupts

    options = asked.options
    return jobs.kill(
        job_of(asked),
        signal=options.get("signal", "TERM"),
        wait="no-wait" not in options,
        cancel=Interrupts(),
    )


def _list(asked: "Parsed", jobs: "Jobs") -> "dict[str, Any]":
    options = asked.options
    nothing_more(asked)
    if "cwd" in options and "all" in options:
        raise UsageError("--cwd and --all contradict each other", asked.verb)
    states: tuple[str, ...] = ()
    if asked.verb == "ps":
        states = ("running",)
    elif "state" in options:
        states = (options["state"],)
        if states[0] not in (*STATES, "unknown"):  # which older stores had
            raise UsageError(f"--state takes one of {', '.join(STATES)}; got {states[0]!r}", "list")
    cwd = None if "all" in options else options.get("cwd") or (None if asked.far else here())
    tags = options.get("tag", ())
    told = jobs.list(cwd=cwd, states=states, tags=tags, limit=options.get("limit", defaults.LIST_LIMIT))
    if asked.verb == "ps" and cwd is not None:
        everywhere = jobs.list(states=states, tags=tags, limit=0)["jobs"]
        told["elsewhere"] = sum(one.get("cwd") != told["cwd_scope"] for one in everywhere)
    return told


def _delete(asked: "Parsed", jobs: "Jobs") -> "dict[str, Any]":
    dry_run = "dry-run" in asked.options
    if "all" in asked.options:
        if asked.words:
            raise UsageError("give the id of a job or --all, not both", "delete")
        if asked.remote is not None:
            raise UsageError("--all works without --server only; give the ids of jobs", "delete")
        return jobs.delete_all(here(), dry_run=dry_run)
    return jobs.delete(job_of(asked), dry_run=dry_run)


def _gc(asked: "Parsed", jobs: "Jobs") -> "dict[str, Any]":
    from agent_exec.places import settle_config

    options = asked.options
    nothing_more(asked)
    said: dict[str, Any] = {}
    if asked.remote is None and settle_config() is not None:
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
_HOMES = {
    "approvals": "agent_exec.apps.cli.approvals",
    **dict.fromkeys(
        ("create", "start", "restart", "timeout", "abandon", "tag"), "agent_exec.apps.cli.lifecycle"
    ),
    "events": "agent_exec.apps.cli.events",
    "notify": "agent_exec.apps.cli.notify",
    "plan": "agent_exec.apps.cli.plan",
    "group": "agent_exec.apps.cli.plan",
    **dict.fromkeys(("up", "down", "import"), "agent_exec.apps.cli.project"),
    "logs": "agent_exec.apps.cli.people.logs",
    "top": "agent_exec.apps.cli.people.top",
    **dict.fromkeys(("sessions", "attach", "send"), "agent_exec.apps.cli.people.attach"),
    "demo": "agent_exec.apps.cli.people.demo",
    "policy": "agent_exec.apps.cli.policy",
    "sandbox": "agent_exec.apps.cli.sandbox",
    "schema": "agent_exec.apps.cli.schema",
    "install-skills": "agent_exec.apps.cli.skills",
}
"""The modules of other verbs: each has a function of the verb's name, which returns the answer."""
_FUNCTIONS = {"import": "import_procfile"}
"""Verbs that are not names in Python."""
