"""`python -m agent_exec` is the `agent-exec` program."""

from agent_exec.apps.quick_import import program

program()
