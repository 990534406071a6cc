"""Finds out which processes are our own: this one, and the one that started it."""

import os

from agent_exec.model.identity import Kin


def own_processes() -> tuple[Kin, ...]:
    """Give this process and the one that started it."""
    return Kin(os.getpid(), parent=os.getppid()), Kin(os.getppid())
