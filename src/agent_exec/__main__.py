"""`python -m agent_exec` is the `agent-exec` program."""

from agent_exec.apps.cli.main import program

program()
