"""Finds out which processes are our own: this one, and the one that started it."""

import os

from agent_exec.model.identity import Ancestor


def own_processes() -> tuple[Ancestor, ...]:
    """Return this process and the one that started it."""
    return Ancestor(os.getpid(), parent=os.getppid()), Ancestor(os.getppid())
