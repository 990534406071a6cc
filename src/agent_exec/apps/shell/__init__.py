"""The terminal interface: `agent-exec shell`."""
