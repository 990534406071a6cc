"""The verb `approvals`: lists the questions of the approval inbox, shows, answers and watches them."""

import os

from agent_exec.apps.parse import UsageError
from agent_exec.faces import approval_verbs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from agent_exec.apps.parse import Parsed
    from agent_exec.faces.verbs import Jobs

_COUNTS = {"show": 1, "answer": 2, "watch": 0}
_USAGE = (
    "say `approvals`, `approvals show ID`, `approvals answer ID once|session|always|no` or `approvals watch`"
)


def approvals(asked: "Parsed") -> "dict[str, Any]":
    """Return the questions that wait, or do what the first word says; `watch` ends the process."""
    what, words = (*asked.words[:1], "")[0], asked.words[1:]
    if what and (what not in _COUNTS or len(words) != _COUNTS[what]):
        raise UsageError(_USAGE, "approvals")
    if "until" in asked.options and what != "watch":
        raise UsageError("--until is for `approvals watch`", "approvals")
    if asked.remote is not None:
        return _remote(asked.remote, what, words)
    if what == "show":
        return approval_verbs.show(words[0])
    if what == "answer":
        return approval_verbs.give(words[0], words[1], "cli")
    if what == "watch":
        _watch(asked.options.get("until"))
    return approval_verbs.waiting()


def _remote(jobs: "Jobs", what: str, words: list[str]) -> "dict[str, Any]":
    """Do the same with the inbox of a server's user."""
    from agent_exec.faces.remote_jobs import RemoteJobs

    assert isinstance(jobs, RemoteJobs)
    if what == "watch":
        raise UsageError("watch works on this machine only; leave out --server", "approvals")
    if what == "show":
        return jobs.server.call("show_approval", approval=words[0])
    if what == "answer":
        return jobs.server.call("answer_approval", approval=words[0], answer=words[1])
    return jobs.server.call("approvals")


def _watch(seconds: float | None) -> "NoReturn":
    """Print each event on a line, until a signal comes or the reader has gone."""
    from agent_exec.host import Interrupts
    from agent_exec.model.jsonline import dump

    events = approval_verbs.follow(seconds, Interrupts(), present=True)
    try:
        for event in events:
            line = memoryview(dump(event).encode() + b"\n")
            while line:
                line = line[os.write(1, line) :]
    except BrokenPipeError:
        pass  # the reader has gone
    finally:
        events.close()  # type: ignore[attr-defined]  # a generator, which ends our presence
    os._exit(0)
