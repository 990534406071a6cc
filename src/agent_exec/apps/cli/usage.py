"""What every verb of the command line needs: how to refuse words that make no sense."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from agent_exec.apps.cli.parse import Parsed
    from agent_exec.jobs.store import Store


class UsageError(Exception):
    """The words make no sense; the message says what would."""

    def __init__(self, message: str, verb: str | None = None) -> None:
        super().__init__(message)
        self.verb = verb


def end_after(verb: str, work: "Callable[[], int]") -> "NoReturn":
    """Do the work of a verb that gives no answer, and end the process with its status.

    What makes no sense, and what cannot be done, is refused with a UsageError.
    """
    from agent_exec.model.errors import AgentExecError

    try:
        status = work()
    except AgentExecError as error:
        raise UsageError(error.message, verb) from None
    except UsageError:
        raise
    except KeyboardInterrupt:
        status = 130
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        status = 1
    os._exit(status)  # whatever still has a thread


def store_of(asked: "Parsed") -> "Store":
    """Give the store that is meant."""
    from agent_exec.settings import jobs_store

    store = jobs_store(asked.options.get("root"))
    if "verbose" in asked.options:
        sys.stderr.write(f"agent-exec: {asked.verb} in {store.root}\n")
    return store
