"""The facts that a supervisor writes to the record: how a job began, and how it ended."""

import os

from agent_exec.jobs.record import stamp
from agent_exec.jobs.store import created
from agent_exec.model.errors import AgentExecError, DependencyFailed, KeeperLost, SandboxUnavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.model.command import Outcome

    Facts = dict[str, Any]

_REASONS = {"timeout": "timeout", "stopped": "killed"}


def first_facts(job_id: str, cwd: str, order: "Facts") -> "Facts":
    """Return the first line of the record: names of variables, never their values."""
    timeout = order["timeout"]
    facts = {
        "job_id": job_id,
        "command": order["argv"],
        "cwd": cwd,
        "created_at": stamp(created(job_id)),
        "supervisor_pid": os.getpid(),
        "env_keys": order["env_keys"],
        "tags": order["tags"],
        "timeout_ms": None if timeout is None else round(timeout * 1000),
        "kill_after_ms": round(order["grace"] * 1000),
        "leftovers": order["leftovers"],
        "max_log_bytes": order["quota"],
    }
    if order["sandbox"] is not None:
        facts["sandbox"] = {name: order["sandbox"][name] for name in ("profile", "policy")}
    more = _unusual(order)
    if more:
        facts["order"] = more
    return facts


def _unusual(order: "Facts") -> "Facts":
    """Return what else must be known to start the command again, where it is not the default."""
    more: Facts = {name: order[name] for name in ("progress", "terms", "input") if order[name]}
    more |= {name: False for name in ("mark", "inherit") if not order[name]}
    box = order["sandbox"]
    if box is not None and "text" in box:
        more["sandbox"] = {name: box[name] for name in ("text", "own", "loopback")}
    return more


def ending(outcome: "Outcome", *, terminated: bool) -> "Facts":
    """Return how a command ended; `terminated` is True if its supervisor was asked to end."""
    reason = _REASONS.get(outcome.cause or "")
    if reason == "killed" and terminated:
        reason = "supervisor_terminated"
    ended, left = outcome.tally
    counts = {"processes_ended": ended, "processes_left": left} if ended else {}
    return counts | {
        "state": "killed" if outcome.cause or outcome.signal else "exited",
        "exit_code": None if outcome.signal else outcome.exit_code,
        "signal": outcome.signal,
        "reason": reason,
        "timed_out": outcome.timed_out,
        "leaked": outcome.leaked,
    }


def never_started(*, terminated: bool) -> "Facts":
    """Return the end of a job that was ended while its command waited."""
    return {
        "state": "killed",
        "exit_code": None,
        "signal": None,
        "reason": "supervisor_terminated" if terminated else "killed",
        "timed_out": False,
        "leaked": False,
    }


def failure(error: AgentExecError, *, began: bool, boxed: bool) -> "Facts":
    """Return the end of a job whose command never ran, or was lost with its box or keeper."""
    lost = isinstance(error, KeeperLost)
    gone = lost and boxed
    never = error.code if isinstance(error, DependencyFailed) else "spawn_failed"
    reason = "sandbox_lost" if gone else "supervisor_lost" if lost else never
    return {
        "state": "failed",
        "exit_code": None,
        "signal": None,
        "reason": reason if began else never,
        "code": SandboxUnavailable.code if gone else error.code,
        "message": error.message,
        "timed_out": False,
        "leaked": False,
    }
