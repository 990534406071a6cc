"""Types of arguments that every contract takes, for annotations; loaded only when asked for."""

from os import PathLike
from typing import Protocol

from agent_exec.policy.policy import Policy
from agent_exec.requests.gate import Request
from agent_exec.requests.opening import InForce

Rules = str | PathLike[str] | Policy | InForce | None
"""The rules that judge commands: a file, a Policy, IN_FORCE (the user's own), or None for no rules."""


class Approver(Protocol):
    """A callback that is asked.

    If it cannot always be asked, its property `reachable` says so, and `unreachable` is the reason
    that refusals give. It raises ApprovalRequired with the reason if its question gets no answer.
    """

    def __call__(self, request: Request, /) -> str:
        """Return an Approval: "once", "session" or "always" allow the command, "no" refuses it."""
