"""A terminal emulator, and terminal output as text."""
