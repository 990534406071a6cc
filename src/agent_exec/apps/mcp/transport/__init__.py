"""MCP over stdio and HTTP."""
