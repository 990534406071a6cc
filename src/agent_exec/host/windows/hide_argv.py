"""Hides the arguments that this process was started with, where anyone on the machine may read them."""


def hide_arguments(title: str) -> None:
    """Do nothing: here only who may read this process's memory may read its arguments."""
