"""Runs a shell line for real, and tells whether it ran the canary: a harmless program that leaves a mark."""

import os
from pathlib import Path

import agent_exec
from agent_exec.policy.facts import Facts
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from agent_exec.policy.verdict import Verdict

CANARY = "canary"


def everything_but_the_canary() -> Policy:
    """Return the broadest policy there is: all commands and all writes are allowed, but not the canary."""
    return Policy([Rule([], "allow"), Rule(write=["/"], verdict="allow"), Rule([CANARY], "deny")])


def judge(command: list[str] | str, cwd: str = "/nowhere") -> Verdict:
    """Judge by the broadest policy."""
    return everything_but_the_canary().judge(command, Facts(cwd))


def sings(folder: Path, command: list[str] | str, shell: str = "bash") -> bool:
    """Run a line with a shell, or an argument vector, in a folder of its own; tell whether the canary was run."""
    home = folder / "home"
    programs = folder / "programs"
    mark = folder / "mark"
    for place in (home, programs):
        place.mkdir(parents=True, exist_ok=True)
    program = programs / CANARY
    program.write_text(f"#!/bin/sh\necho sung >> '{mark}'\n")
    program.chmod(0o755)
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(home), "LC_ALL": "C.UTF-8"}
    argv = [shell, "-c", command] if isinstance(command, str) else command
    agent_exec.run(argv, cwd=home, env=environment, timeout=20, stdin=b"")
    return mark.exists()
