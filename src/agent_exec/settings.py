"""Reads the environment, and says where things are."""

import os
import sys

from agent_exec.places import CONFIG, DATA, STATE, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_exec.faces.jobs import Jobs
    from agent_exec.jobs.store import Store
    from agent_exec.requests.gate import Approver, Gate


def open_jobs(
    root: str | None = None, *, rules: str | None = None, approver: "Approver | None" = None
) -> "Jobs":
    """Give the jobs of a folder, judged by a file of rules; or of the folder, by the rules in force here."""
    from agent_exec.faces.jobs import Jobs

    own = [rules_file(rules) or rules_place()]
    return Jobs(jobs_store(root), open_gate(rules, approver=approver), own=own)


def open_gate(
    rules: str | None = None,
    *,
    approver: "Approver | None" = None,
    unmatched: str = "run",
    environ: "Mapping[str, str] | None" = None,
) -> "Gate":
    """Give the gate that commands pass: by the rules of this file, or by those in force here, if any."""
    from agent_exec.requests.gate import Gate

    found = os.environ if environ is None else environ
    approval = approval_policy(found)
    file = rules_file(rules, found)
    if file is None and unmatched == "run" and approval != "untrusted":
        return Gate(None, approver=approver, approval=approval or "on-request")
    from agent_exec.policy.policy import Policy
    from agent_exec.policy.rulebook import Book
    from agent_exec.requests.rulefile import add_rules, load_book

    book = Book() if file is None else load_book(file)
    return Gate(
        Policy(book.rules),
        approver=approver,
        approval=approval or book.approval or "on-request",
        unmatched=unmatched,
        remember=lambda more: add_rules(file or rules_place(found), more),
    )


def approval_policy(environ: "Mapping[str, str] | None" = None) -> str | None:
    """Give AGENT_EXEC_APPROVAL_POLICY, which goes before what a file of rules says; None if it is not set."""
    found = os.environ if environ is None else environ
    return found.get("AGENT_EXEC_APPROVAL_POLICY") or None


def rules_file(option: str | None = None, environ: "Mapping[str, str] | None" = None) -> str | None:
    """Give the file of rules: the option, AGENT_EXEC_RULES, or the user's own if there is one.

    One that is named and missing is still named: whoever reads it says so.
    """
    found = os.environ if environ is None else environ
    if named := option or found.get("AGENT_EXEC_RULES"):
        return named
    usual = rules_place(found)
    return usual if os.path.lexists(usual) else None


def rules_place(
    environ: "Mapping[str, str] | None" = None, platform: str = sys.platform, home: str | None = None
) -> str:
    """Give where the system keeps the user's own rules."""
    return place("rules.toml", *CONFIG, environ, platform, home)


def history_place(
    environ: "Mapping[str, str] | None" = None, platform: str = sys.platform, home: str | None = None
) -> str:
    """Give where the system keeps what was typed: a file for this user alone."""
    return place("history", *STATE, environ, platform, home)


def token_place(
    environ: "Mapping[str, str] | None" = None, platform: str = sys.platform, home: str | None = None
) -> str:
    """Return where the token of the server over HTTP is, unless another file is named."""
    return place("token", *STATE, environ, platform, home)


def jobs_root(
    option: str | None = None,
    environ: "Mapping[str, str] | None" = None,
    platform: str = sys.platform,
    home: str | None = None,
) -> str:
    """Give the folder of jobs: the option, AGENT_EXEC_ROOT, $XDG_DATA_HOME, or the system's own place.

    What is empty counts as not given.
    """
    found = os.environ if environ is None else environ
    if option:
        return option
    if root := found.get("AGENT_EXEC_ROOT"):
        return root
    return place("jobs", *DATA, environ, platform, home)


def jobs_store(root: str | None = None) -> "Store":
    """Give the store of jobs that is in force."""
    from agent_exec.jobs.store import Store

    return Store(jobs_root(root))
