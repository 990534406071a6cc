"""Patches as models write them: found in a command, read, verified, and applied whole or not at all."""
