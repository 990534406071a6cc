"""Processes that outlive their parent: start, control, lock, clean up."""
