"""Opens the durable jobs of a folder for Python callers, and turns their arguments into orders."""

import os

from agent_exec.faces import defaults
from agent_exec.faces.verbs import Jobs
from agent_exec.model.command import Command, Limits
from agent_exec.model.errors import InvalidArgument
from agent_exec.places import here
from agent_exec.requests.given_variables import Environment
from agent_exec.requests.opening import IN_FORCE, open_gate, rule_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from agent_exec.jobs.start import Order
    from agent_exec.jobs.store import Store
    from agent_exec.model.choices import ApprovalPolicy, Leftovers
    from agent_exec.requests.arguments import Approver, Rules
    from agent_exec.sandbox.profile import Profile

_INPUT = 1 << 40


def open_jobs(
    root: str | None = None,
    *,
    rules: "Rules" = IN_FORCE,
    approver: "Approver | None" = None,
    approval_policy: "ApprovalPolicy | None" = None,
) -> "Jobs":
    """Return the durable jobs of a folder, by default the one in force here.

    `rules`, a file of them or a Policy, judge what is to run; by default those
    in force, and with None no rules do. `approver` is asked where they say so,
    as `approval_policy` allows.
    """
    from agent_exec.jobs.store import jobs_store

    gate = open_gate(rules, approver=approver, approval=approval_policy)
    return Jobs(jobs_store(root), gate, own=rule_files(rules))


def order_of(
    jobs: "Jobs",
    argv: "Sequence[str]",
    *,
    cwd: str | None = None,
    env: "Mapping[str, str] | None" = None,
    env_files: "Sequence[str]" = (),
    inherit_env: bool = True,
    stdin: bytes | None = None,
    timeout: float | None = None,
    grace: float = defaults.GRACE,
    tags: "Sequence[str]" = (),
    leftovers: "Leftovers" = "kill",
    max_log_bytes: int = defaults.QUOTA,
    log: str | None = None,
    sandbox: "Profile | None" = None,
    notify: "Mapping[str, Any] | None" = None,
    conditions: "Sequence[str]" = (),
    every: bool = False,
    ports: "Sequence[str]" = (),
    health: str | None = None,
    health_every: float | None = None,
    health_timeout: float | None = None,
    health_failures: int | None = None,
    stop_after_idle: float | None = None,
    retry: "str | int | None" = None,
    restart: str | None = None,
    interval: "str | float | None" = None,
    after: "str | Sequence[str]" = (),
    needs: "str | Sequence[str] | Mapping[str, int]" = (),
    priority: int | None = None,
    at: "str | float | None" = None,
) -> "Order":
    """Return the order of a job; raise InvalidArgument for what is wrong, so that no supervisor meets it."""
    from agent_exec.jobs.start import Order

    command = Command(
        argv,
        cwd=cwd,
        env=env,
        stdin=stdin,
        limits=Limits(timeout=timeout, grace=grace),
        leftovers=leftovers,
    )
    again = None
    if not (retry is restart is interval is None):
        from agent_exec.faces.repeating import repeats

        again = repeats(retry, restart, interval)
    if again is not None and leftovers != "kill":
        raise InvalidArgument("a command that is run again leaves nothing behind; leave out leftovers")
    if max_log_bytes and max_log_bytes < defaults.SMALLEST_QUOTA:
        least = defaults.SMALLEST_QUOTA
        raise InvalidArgument(f"max_log_bytes must be 0 or {least} at least; got {max_log_bytes!r}")
    hidden = None
    if sandbox is not None:
        from agent_exec.requests.dispatch import check_profile

        check_profile(sandbox)
        if env_files:
            from agent_exec.faces.sandbox import hidden_by

            hidden = hidden_by(sandbox, [jobs.root])
    environment = environment_of(command, env_files, hidden, inherit=inherit_env)
    order = Order(
        command.argv,
        cwd=here() if command.cwd is None else command.cwd,
        env=environment.values,
        env_keys=environment.given,
        tags=tags,
        timeout=timeout,
        grace=grace,
        leftovers=leftovers,
        quota=max_log_bytes,
        mark=inherit_env,
        inherit=inherit_env,
        sandbox=sandbox,
        own=jobs.own,
        terms=None if again is None else {"again": again},
    )
    if log is not None:
        from agent_exec.jobs.duties.merged_log import writable

        order.terms["log"] = log and writable(log)
    if notify is not None:
        from agent_exec.faces.notify_verbs import wanted
        from agent_exec.jobs.store import place_of

        order.terms["notify"] = wanted(notify, jobs.gate, place_of(order.cwd))
    if conditions or ports or health is not None or stop_after_idle is not None:
        from agent_exec.faces.readiness import HEALTH_EVERY, HEALTH_FAILURES, HEALTH_TIMEOUT, add_terms

        add_terms(
            order,
            jobs.gate,
            conditions=conditions,
            every=every,
            ports=ports,
            health=health,
            health_every=HEALTH_EVERY if health_every is None else health_every,
            health_timeout=HEALTH_TIMEOUT if health_timeout is None else health_timeout,
            health_failures=HEALTH_FAILURES if health_failures is None else health_failures,
            stop_after_idle=stop_after_idle,
        )
    if after or needs or priority is not None or at is not None:
        from agent_exec.jobs.waiting import waiting_terms

        order.terms |= waiting_terms(jobs.store, after=after, needs=needs, priority=priority, at=at)
    return order


def environment_of(
    command: "Command",
    files: "Sequence[str]" = (),
    hidden: "Sequence[str] | None" = None,
    *,
    inherit: bool = True,
) -> "Environment":
    """Return the variables of a command: ours, and those that files and the caller give for it."""
    from agent_exec.host import own_environment

    given = [f"{os.fsdecode(name)}={os.fsdecode(value)}" for name, value in (command.env or {}).items()]
    return Environment(own_environment(), inherit=inherit, files=files, given=given, hidden=hidden)


def input_of(
    store: "Store", stdin: bytes | None, file: str | None, opened: int, sandbox: "Profile | None"
) -> int:
    """Return a descriptor of a command's input."""
    from agent_exec.jobs.stdin import from_bytes, from_file

    if opened >= 0:
        return os.dup(opened)
    if stdin is not None:
        return from_bytes(store, stdin, _INPUT)
    if sandbox is None:
        return from_file(file or "")
    from agent_exec.faces.sandbox import hidden_by

    return from_file(file or "", hidden=hidden_by(sandbox, [store.root]))
