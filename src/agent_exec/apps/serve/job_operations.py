"""The operations on jobs: those of `faces.verbs.Jobs`, with its names and its answers."""

from typing import TYPE_CHECKING, Any

from agent_exec.apps.serve.operation import Operation
from agent_exec.faces import defaults
from agent_exec.faces.event_verbs import KINDS
from agent_exec.jobs.record import STATES
from agent_exec.model.errors import InvalidArgument
from agent_exec.sandbox.profile import NAMES
from agent_exec.tools.define import boolean, choice, integer, string, strings

if TYPE_CHECKING:
    from agent_exec.apps.serve.operation import Request
    from agent_exec.apps.serve.service import Service
    from agent_exec.tools.define import Schema

    Given = dict[str, Any]
    Answer = dict[str, Any]


def _seconds(about: str) -> "Schema":
    return {"type": "number", "minimum": 0, "description": about}


_TAIL: "Schema" = {
    "tail_lines": integer(f"Most lines of each stream ({defaults.TAIL_LINES}; 0: all).", 0),
    "max_bytes": integer(f"Most bytes of each stream ({defaults.MAX_BYTES}).", 1),
}
_WATCH: "Schema" = {
    "observe": _seconds(f"Seconds to watch it before the answer ({defaults.SNAPSHOT_CAP:g}; 0: not at all)."),
    **_TAIL,
}
_GIVEN: "Schema" = {
    "env": {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "Variables to set.",
    },
    "stdin": string("Its input."),
}
_CONDITIONS: "Schema" = {
    "conditions": strings("Ready when one holds: listen[:PORT], http=URL[,STATUS], match=REGEX, file=PATH …"),
    "every": boolean("Ready when all conditions hold."),
}
_ORDER: "Schema" = {
    "argv": {
        "type": "array",
        "items": {"type": "string"},
        "minItems": 1,
        "description": "Program and arguments.",
    },
    "line": string("Or one line for the shell."),
    "cwd": string("Its folder, in a workspace (default: the first)."),
    **_GIVEN,
    "sandbox": choice("A profile that is no weaker than the server's own.", NAMES),
    "timeout": _seconds("Seconds after which it is stopped."),
    "grace": _seconds(f"Seconds between TERM and KILL ({defaults.GRACE:g})."),
    "tags": strings("Labels."),
    "max_log_bytes": integer("How much of each stream is kept (1 GiB; 0: all).", 0),
    "retry": string("Run it again if it fails: N[,backoff=TIME][,on=exit|timeout|signal|oom]."),
    "restart": string("no, on-failure or always, with a maximum and a back-off."),
    "interval": string("Run it again and again, at this interval."),
    **_CONDITIONS,
    "ports": strings("auto[:NAME]: a stable free port, given as PORT or NAME."),
    "health": string("A shell line that checks it."),
    "health_every": _seconds("Seconds between checks."),
    "health_timeout": _seconds("Seconds that a check may take."),
    "health_failures": integer("Failures in a row that make it unhealthy.", 1),
    "stop_after_idle": _seconds("Stop it when it has been idle for so long."),
    "after": strings("Start it after JOB[:ok|any|ready]."),
    "needs": strings("Hold slots of groups while it runs: GROUP[:N]."),
    "priority": integer("The greatest number gets free slots first."),
    "at": string("Start it at a moment."),
    "notify": {"type": "object", "description": "Sinks of its events."},
}
_RUN: "Schema" = {**_ORDER, **_WATCH}


def _ordered(service: "Service", given: "Given") -> "tuple[list[str], Given]":
    """Return the words of a command and what else is asked, as `Jobs.run` takes it."""
    asked = dict(given)
    if "notify" in asked and service.confines:
        raise InvalidArgument(
            "notify has the server itself run commands, write files and send data; it needs a server "
            "that was started with --sandbox full-access"
        )
    argv, line = asked.pop("argv", None), asked.pop("line", None)
    if (argv is None) == (line is None):
        raise InvalidArgument("give argv, the program and its arguments, or line, a line for the shell")
    if argv is None:
        from agent_exec.host import shell

        argv = shell(line)
    asked["cwd"] = service.folder(given)
    asked["sandbox"] = service.profile(given.get("sandbox"))
    if "stdin" in asked:
        asked["stdin"] = asked["stdin"].encode("utf-8", "surrogateescape")
    return argv, asked


def _run(service: "Service", given: "Given", call: "Request") -> "Answer":
    argv, asked = _ordered(service, given)
    return service.jobs.run(argv, **asked, cancel=call, on_begin=call.on_begin)


def _create(service: "Service", given: "Given", _call: "Request") -> "Answer":
    argv, asked = _ordered(service, given)
    return service.jobs.create(argv, **asked)


def _begin(name: str) -> "Any":
    """Return the function that begins an attempt at a job, by `start` or `restart`."""

    def begin(service: "Service", given: "Given", call: "Request") -> "Answer":
        asked = dict(given)
        service.check_attempt(asked["job"])
        if "stdin" in asked:
            asked["stdin"] = asked["stdin"].encode("utf-8", "surrogateescape")
        verb = getattr(service.jobs, name)
        answer: Answer = verb(asked.pop("job"), **asked, cancel=call, on_begin=call.on_begin)
        return answer

    return begin


def _named(name: str, *positional: str) -> "Any":
    """Return the function that calls a verb of jobs with the fields of a request."""

    def act(service: "Service", given: "Given", _call: "Request") -> "Answer":
        asked = dict(given)
        first = [asked.pop(one) for one in positional]
        answer: Answer = getattr(service.jobs, name)(*first, **asked)
        return answer

    return act


def _wait(service: "Service", given: "Given", call: "Request") -> "Answer":
    asked = dict(given)
    job = asked.pop("job")
    if service.confines and any(text.startswith("exec=") for text in asked.get("conditions", ())):
        raise InvalidArgument(
            "exec= has the server run a command; ask for it when the job is started, or start the server "
            "with --sandbox full-access"
        )
    if asked.pop("forever", False):
        asked["seconds"] = None
    return service.jobs.wait(job, **asked, cancel=call)


def _kill(service: "Service", given: "Given", call: "Request") -> "Answer":
    asked = dict(given)
    return service.jobs.kill(asked.pop("job"), **asked, cancel=call)


def _list(service: "Service", given: "Given", _call: "Request") -> "Answer":
    return service.jobs.list(**given, within=None if service.all_jobs else service.within)


def _plan(service: "Service", given: "Given", _call: "Request") -> "Answer":
    told = service.jobs.plan(**given)
    return {**told, "jobs": [job for job in told["jobs"] if service.within(str(job.get("cwd", "")))]}


def _events(service: "Service", given: "Given", _call: "Request") -> "Answer":
    told = service.jobs.events(**given)
    return {**told, "events": [one for one in told["events"] if service.reaches(str(one.get("job_id", "")))]}


def _gc(service: "Service", given: "Given", _call: "Request") -> "Answer":
    if not service.all_jobs:
        raise InvalidArgument(
            "gc deletes jobs of all folders; start the server with --all-jobs, or delete jobs one by one"
        )
    return service.jobs.gc(**given)


def _deadline(service: "Service", given: "Given", _call: "Request") -> "Answer":
    return service.jobs.set_timeout(given["job"], given.get("seconds"))


OPERATIONS = (
    Operation("run", "Start a job, and watch it for a moment.", _run, _RUN, starts=True),
    Operation(
        "list",
        "List jobs, the newest first.",
        _list,
        {
            "cwd": string("Only of this folder."),
            "states": {"type": "array", "items": choice("", STATES), "description": "Only in these states."},
            "tags": strings("Only with these tags."),
            "limit": integer(f"Most jobs ({defaults.LIST_LIMIT}; 0: all).", 0),
        },
        reads=True,
    ),
    Operation("create", "Create a job that is started later.", _create, _ORDER, starts=True),
    Operation("status", "Show all about a job but its output.", _named("status", "job"), reads=True),
    Operation(
        "delete",
        "Delete a job that has ended.",
        _named("delete", "job"),
        {"dry_run": boolean("Only say what would be deleted.")},
    ),
    Operation(
        "tail",
        "Show the end of a job's output, or what came since a cursor.",
        _named("tail", "job"),
        {
            **_TAIL,
            "cursor": string("Only what came since; from an earlier answer."),
            "merged": boolean("Both streams in the order in which they came."),
            "grep": string("Only lines that match this regular expression."),
            "attempt": integer("The number of an attempt (the current one).", 1),
            "view": string("auto, errors, grep=REGEX, range=A-B …"),
        },
        reads=True,
        streams="output",
    ),
    Operation(
        "wait",
        "Wait for the end of a job, or until a condition holds.",
        _wait,
        {
            "seconds": _seconds(f"Seconds to wait ({defaults.WAIT:g})."),
            "forever": boolean("Wait until it ends, however long that takes."),
            **_CONDITIONS,
            **_TAIL,
        },
        reads=True,
        acting=("conditions",),
    ),
    Operation(
        "kill",
        "End a job with all its processes, or send them a signal.",
        _kill,
        {"signal": string("Its name (TERM)."), "wait": boolean("Wait for the end (true).")},
    ),
    Operation(
        "start",
        "Start a job that was created.",
        _begin("start"),
        {**_GIVEN, **_WATCH},
        starts=True,
    ),
    Operation(
        "restart",
        "Start a job once more under its id.",
        _begin("restart"),
        {"signal": string("What ends it if it runs (TERM)."), **_GIVEN, **_WATCH},
        starts=True,
    ),
    Operation(
        "timeout",
        "Move the deadline of a running job.",
        _deadline,
        {"seconds": _seconds("Seconds from now; left out: no deadline.")},
    ),
    Operation(
        "tag",
        "Change the tags of a job.",
        _named("tag", "job"),
        {
            "replace": strings("All tags from now on."),
            "add": strings("Tags to add."),
            "remove": strings("Tags to remove."),
        },
    ),
    Operation(
        "gc",
        "Delete ended jobs that are too old or too many.",
        _gc,
        {
            "older_than": _seconds("Seconds."),
            "max_jobs": integer("Most jobs to keep.", 0),
            "max_bytes": integer("Most bytes to keep.", 0),
            "dry_run": boolean("Only say what would be deleted."),
        },
    ),
    Operation(
        "plan",
        "Show the jobs that wait before they start.",
        _plan,
        {"limit": integer("Most jobs (0: all).", 0)},
        reads=True,
    ),
    Operation("groups", "Show the groups and their slots.", _named("groups"), reads=True),
    Operation(
        "set_group",
        "Make a group, or change the number of its slots.",
        _named("set_group", "group", "slots"),
        {"slots": integer("How many.", 1)},
        ("slots",),
    ),
    Operation(
        "remove_group",
        "Remove a group that no job needs.",
        _named("remove_group", "group"),
    ),
    Operation(
        "events",
        "Show what has happened to jobs, since a cursor.",
        _events,
        {
            "since": string("A cursor of an earlier answer."),
            "job": string("Only of this job."),
            "kinds": {"type": "array", "items": choice("", KINDS), "description": "Only of these kinds."},
            "limit": integer("Most events (100; 0: all).", 0),
        },
        reads=True,
        streams="events",
    ),
)
