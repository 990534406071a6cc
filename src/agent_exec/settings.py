"""Where jobs, history and tokens are, by options and the environment."""

import os
import sys

from agent_exec.places import DATA, STATE, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_exec.jobs.store import Store


def history_place(
    environ: "Mapping[str, str] | None" = None, platform: str = sys.platform, home: str | None = None
) -> str:
    """Return where the system keeps what was typed: a file for this user alone."""
    return place("history", *STATE, environ, platform, home)


def token_place(
    environ: "Mapping[str, str] | None" = None, platform: str = sys.platform, home: str | None = None
) -> str:
    """Return where the token of the server over HTTP is, unless another file is named."""
    return place("token", *STATE, environ, platform, home)


def jobs_root(
    option: str | None = None,
    environ: "Mapping[str, str] | None" = None,
    platform: str = sys.platform,
    home: str | None = None,
) -> str:
    """Return the folder of jobs: the option, AGENT_EXEC_ROOT, $XDG_DATA_HOME, or the system's own place.

    What is empty counts as not given.
    """
    found = os.environ if environ is None else environ
    if option:
        return option
    if root := found.get("AGENT_EXEC_ROOT"):
        return root
    return place("jobs", *DATA, environ, platform, home)


def jobs_store(root: str | None = None) -> "Store":
    """Return the store of jobs that is in force."""
    from agent_exec.jobs.store import Store

    return Store(jobs_root(root))
