"""The program at its former place, for `agent-exec` scripts installed before it moved to `apps/main.py`."""

from agent_exec.apps.main import program

__all__ = ["program"]
