"""The server of the Model Context Protocol: toolsets in, tools out."""
