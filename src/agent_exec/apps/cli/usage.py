"""What every verb of the command line needs: how to refuse words that make no sense, and where we are."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.apps.cli.parse import Parsed
    from agent_exec.jobs.store import Store


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


def store_of(asked: "Parsed") -> "Store":
    """Give the store that is meant."""
    from agent_exec.settings import jobs_store

    store = jobs_store(asked.options.get("root"))
    if "verbose" in asked.options:
        sys.stderr.write(f"agent-exec: {asked.verb} in {store.root}\n")
    return store
