"""What is reported of a box after a command: its strength, and with evidence what it refused."""

import os
import re

from agent_exec.model.paths import below, inside
from agent_exec.model.visible import is_plainly_a_name
from agent_exec.sandbox.backends import backend

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from agent_exec.model.command import Outcome
    from agent_exec.sandbox.plan.plan import Plan

    Denial = dict[str, Any]

_REQUESTS = 100
"""How many of the last network requests are reported."""

_SHOWN = 5
"""How many changes a line for people names."""

_LIMITS = {"SIGXCPU": "cpu", "SIGXFSZ": "file_mb"}

_REFUSALS = {
    "Read-only file system": "EROFS",
    "Permission denied": "EACCES",
    "Operation not permitted": "EPERM",
    "Device or resource busy": "EBUSY",
    "Invalid cross-device link": "EXDEV",
    "No such file or directory": "ENOENT",
}
_READING = ("EACCES", "EPERM", "ENOENT")
"""The errors of a command that reads what is hidden: that is there and closed, or not there at all."""
_UNSURE = ("Permission denied", "Operation not permitted")
"""What is said also of reading and of running, if the file is there."""
_NETWORK = {
    "Network is unreachable": "ENETUNREACH",
    "Temporary failure in name resolution": "EAI_AGAIN",
    "Could not resolve host": "EAI_AGAIN",
    "Name or service not known": "EAI_NONAME",
    "No address associated with hostname": "EAI_NODATA",
}
_EXHAUSTED = {
    "procs": ("fork: retry", "fork: Resource temporarily", "Cannot fork", "can't start new thread"),
    "memory_mb": ("Cannot allocate memory", "MemoryError", "bad_alloc", "memory exhausted"),
    "file_mb": ("File too large",),
    "open_files": ("Too many open files",),
}
_QUOTED = re.compile("'([^'\n]+)'|\"([^\"\n]+)\"|\u2018([^\u2018\u2019\n]+)\u2019")
"""What is between quotes; no mark is looked for twice, however many open and none closes."""

_BARE = r"([\w.@%+~-]*(?:/[\w.@%+~-]*)+)"
_LAST = re.compile(rf"[\s:]{_BARE}\s*:\s*\Z")
_FIRST = re.compile(rf"\s*:\s*{_BARE}(?=[:\s]|\Z)")
"""A path without quotes must have a slash, for a word may be anything, and stand right before the refusal or
right after it: what a line begins with is the program that speaks."""
_MOST = 20
_LINES = 2000
_TEXT = 1 << 17
_NAMES = 8
"""How many names of a line, lines, and characters are looked at: a command may print as many as it likes."""
_LONGEST = 4096
"""How long a path may be."""


def block(plan: "Plan", outcome: "Outcome", cwd: str, text: str | None = None) -> "dict[str, Any]":
    """Return the `sandbox` part of an answer; `text` is what was printed, if the outcome has it not."""
    confined = bool(plan.backend)
    text = f"{outcome.stdout_text}\n{outcome.stderr_text}" if text is None else text
    found = [*refused_hosts(plan.profile.net, outcome.network), *denials(plan, text, cwd)] if confined else []
    limits = ["wall"] if outcome.timed_out else []
    if outcome.signal in _LIMITS:
        limits.append(_LIMITS[outcome.signal])
    if confined:
        limits += [name for name in exhausted(plan, text) if name not in limits]
    return {
        "backend": plan.backend or "none",
        "strength": backend(plan.backend).strength if confined else "none",
        "profile": plan.profile.name,
        "policy": plan.profile.digest,
        "denials": found,
        "limits_hit": limits,
        "unenforced": list(plan.unenforced),
        "protected_changes": [dict(change) for change in outcome.changes],
        "network": [dict(decision) for decision in outcome.network[-_REQUESTS:]],
        "message": "; ".join(filter(None, (human(found), said(outcome.changes)))),
    }


def said(changes: "Sequence[Mapping[str, object]]") -> str:
    """Return one line for people about what became of protected paths; "" if nothing did."""
    if not changes:
        return ""
    shown = [
        f"{change['path']!r} {change['what']}"
        + (f", and is now {change['moved_to']!r}" if "moved_to" in change else "")
        + (f" ({change['why']})" if "why" in change else "")
        for change in changes[:_SHOWN]
    ]
    more = f" and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
    moved = any("moved_to" in change for change in changes)
    allow = ". A person can let a name stay: --unprotect NAME, or `unprotect` in the profile" if moved else ""
    return f"[sandbox] protected: {'; '.join(shown)}{more}{allow}"


def refused_hosts(
    hosts: "Sequence[str]", network: "Sequence[Mapping[str, object]]"
) -> "list[dict[str, Any]]":
    """Return what the proxy to these hosts has refused, each once."""
    if not network:
        return []
    from agent_exec.sandbox.proxy.log import NO_TOKEN

    keys = {
        (one["host"], one["port"], one["reason"])
        for one in network
        if not one["allowed"] and one["reason"] != NO_TOKEN
    }
    common = {"kind": "net.connect", "evidence": "exact", "remedy": f"allowed: {', '.join(hosts)}"}
    return [
        {**common, "host": host, "port": port, "rule": reason}
        for host, port, reason in sorted(keys, key=str)[:_REQUESTS]
    ]


def denials(plan: "Plan", text: str, cwd: str) -> "list[Denial]":
    """Find in what a command has printed which of its attempts the plan has refused.

    A path counts as `confirmed` when it stands in a line with the system's
    word for a refusal, the plan hides it or forbids to write there, and
    without the plan it would have been allowed; as `likely`, if that word may
    as well be about reading or running what is there, or about a file that
    does not exist. Words about the network are `likely`, when there is none.
    """
    unique: list[Denial] = []
    for line in text[-_TEXT:].splitlines()[-_LINES:]:
        refusal = next((word for word in _REFUSALS if word in line), None)
        found: list[Denial] = []
        if refusal is not None:
            found = _refused(plan, line, refusal, cwd)
        elif plan.profile.net != "on" and (word := next((one for one in _NETWORK if one in line), None)):
            found = [_network(plan, word)]
        unique += [denial for denial in found if denial not in unique]
        if len(unique) >= _MOST:
            break
    return unique


def exhausted(plan: "Plan", text: str) -> list[str]:
    """Return the names of the plan's limits that a command has reached."""
    limits, lines = plan.profile.limits, "\n".join(text.splitlines()[-_LINES:])
    return [
        name
        for name, words in _EXHAUSTED.items()
        if getattr(limits, name) is not None and any(word in lines for word in words)
    ]


def human(found: "Sequence[Denial]") -> str:
    """Return one line for people; "" if nothing was refused.

    A path is a command's own words: it is quoted if it is plainly one, and else left out.
    """
    told = [f"{_what(one)} ({one['rule']})" for one in found]
    more = " …" if len(told) > 3 else ""
    if any(one["kind"] == "fs.read" for one in found):
        more += "; how to show it: agent-exec sandbox explain PATH"
    return f"[sandbox] blocked: {'; '.join(told[:3])}{more}" if told else ""


def _what(denial: "Denial") -> str:
    if "path" in denial:
        what = f"{denial['kind'].removeprefix('fs.')} {_quoted(denial['path'])}"
        return what if denial["evidence"] == "confirmed" else f"likely {what}"
    if denial.get("host") and is_plainly_a_name(str(denial["host"]).replace(":", "")):
        return f"connect {denial['host']}:{denial['port']}"
    return "network"


def _refused(plan: "Plan", line: str, refusal: str, cwd: str) -> "list[Denial]":
    errno = _REFUSALS[refusal]
    for name in _names(line, refusal):
        if len(name) > _LONGEST:
            continue
        path = os.path.normpath(os.path.join(cwd, name))
        try:
            if errno in _READING and (hidden := _reading(plan, path)) is not None:
                evidence = "likely" if errno == "ENOENT" else "confirmed"
                return [{"kind": "fs.read", "path": path, "errno": errno, "evidence": evidence, **hidden}]
            if errno == "ENOENT":
                continue
            rule = forbids(plan, path)
            counts = rule and _would_be_allowed(path)
            unsure = refusal in _UNSURE and os.path.lexists(path)
            evidence = "likely" if unsure else "confirmed"
        except (OSError, ValueError):
            continue  # a link that cannot be read, or no name for a file: a command may print anything
        if counts:
            return [
                {
                    "kind": "fs.write",
                    "path": path,
                    "errno": errno,
                    "evidence": evidence,
                    "rule": rule,
                    "remedy": _remedy(plan),
                }
            ]
    return []


def _reading(plan: "Plan", path: str) -> "Denial | None":
    """Return the rule that hides a path that the system alone would let us read, and the remedy."""
    from agent_exec.sandbox.plan.explain import hidden_by

    if os.path.lexists(path) and not os.access(path, os.R_OK):
        return None  # whether it exists is not reported: what is not there counts as what is hidden
    home = os.path.realpath(os.path.expanduser("~"))
    for place in (path, os.path.realpath(path)):
        if (hidden := hidden_by(plan, place, home)) is not None:
            more = f"{hidden['remedy']}; see " if hidden["remedy"] else "see "
            return {"rule": hidden["rule"], "remedy": f"{more}`agent-exec sandbox explain PATH`"}
    return None


def _names(line: str, refusal: str) -> list[str]:
    """Return what a line may say was refused: all that is quoted, or else the path next to the refusal."""
    quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(line)]
    if quoted:
        return quoted[:_NAMES]
    before, _, after = line.partition(refusal)
    found = _LAST.search(before[-_LONGEST:]) or _FIRST.match(after[:_LONGEST])
    return [] if found is None else [found[1]]


def _quoted(path: str) -> str:
    return f'"{path}"' if is_plainly_a_name(path) else "a path that is not shown here"


def forbids(plan: "Plan", path: str) -> str:
    """Return which rule of the plan forbids to write to a path; "" if none does."""
    real = os.path.realpath(path)
    for one in plan.protected:
        if inside(real, one):
            return f"{_quoted(one)} is protected"
    if inside(real, *(root.path for root in plan.roots)):
        return ""
    if below(real, (place for kind, place, _ in plan.view if kind == "cover")):
        return "read-only outside the writable roots"
    if plan.profile.tmp == "private" and below(real, ("/tmp", "/var/tmp", "/dev")):
        return ""
    return "read-only outside the writable roots"


def _would_be_allowed(path: str) -> bool:
    """True if the system itself would have let us write there."""
    if os.path.lexists(path):
        return os.access(path, os.W_OK)
    return os.access(os.path.dirname(path), os.W_OK)


def _network(plan: "Plan", word: str) -> "Denial":
    rule = "the network is off" if plan.profile.net == "off" else "only what is on the list can be reached"
    return {
        "kind": "net.connect",
        "errno": _NETWORK[word],
        "evidence": "likely",
        "rule": rule,
        "remedy": "do without the network, or ask the operator to allow the host",
    }


def _remedy(plan: "Plan") -> str:
    roots = ", ".join(root.path for root in plan.roots)
    if not roots:
        return "ask the operator for a profile that lets you write"
    return f"write under {roots}, or ask the operator to add a writable root"
