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
    argv: "Sequence[str]",
    cwd: str | None,
    env: "Mapping[str, str] | None",
    stdin: bytes | None,
    timeout: float | None,
    grace: float,
    tags: "Sequence[str]",
    leftovers: "Leftovers",
    quota: int,
    sandbox: "Profile | None",
    own: "Sequence[str]",
    again: "dict[str, object] | None" = None,
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
    environment = environment_of(command)
    if again is not None and leftovers != "kill":
        raise InvalidArgument("a command that is run again leaves nothing behind; leave out leftovers")
    if quota and quota < defaults.SMALLEST_QUOTA:
        raise InvalidArgument(f"max_log_bytes must be 0 or {defaults.SMALLEST_QUOTA} at least; got {quota!r}")
    if sandbox is not None:
        from agent_exec.requests.dispatch import check_profile

        check_profile(sandbox)
    return Order(
        command.argv,
        cwd=here() if command.cwd is None else command.cwd,
        env=environment.values,
        env_keys=environment.given,
        tags=tags,
        timeout=timeout,
        grace=grace,
        leftovers=leftovers,
        quota=quota,
        sandbox=sandbox,
        own=own,
        terms=None if again is None else {"again": again},
    )


def environment_of(command: "Command") -> "Environment":
    """Return the variables of a command: ours, and those that are given for it."""
    from agent_exec.host import own_environment

    given = [f"{os.fsdecode(name)}={os.fsdecode(value)}" for name, value in (command.env or {}).items()]
    return Environment(own_environment(), given=given)


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
