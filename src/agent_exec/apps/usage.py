"""Usage errors, and the end of a verb that owns its process."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn


class UsageError(Exception):
    """The command line is invalid; the message says what would be valid."""

    def __init__(self, message: str, verb: str | None = None) -> None:
        super().__init__(message)
        self.verb = verb


def end_after(verb: str, work: "Callable[[], int]") -> "NoReturn":
    """Run the work of a verb that prints no answer, then end the process with its status.

    Raise UsageError for invalid options, and for any AgentExecError of the work.
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
    os._exit(status)  # threads may still run
