"""What every verb of the command line needs: how to refuse words that make no sense, and where we are."""

import os


class UsageError(Exception):
    """The words make no sense; the message says what would."""

    def __init__(self, message: str, verb: str | None = None) -> None:
        super().__init__(message)
        self.verb = verb


def here() -> str:
    """Give the current working directory."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        from agent_exec.model.errors import WorkdirNotFound

        raise WorkdirNotFound(
            "the current working directory no longer exists; go to another, or name one with --cwd"
        ) from None
