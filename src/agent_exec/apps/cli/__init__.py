"""The `agent-exec` command."""
