"""`/shell` in a browser."""
