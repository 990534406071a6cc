"""Reads the environment, and says where things are."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent_exec.faces.jobs import Jobs
    from agent_exec.jobs.store import Store


def open_jobs(root: str | None = None) -> "Jobs":
    """Give the jobs of a folder, or of the one in force here."""
    from agent_exec.faces.jobs import Jobs

    return Jobs(jobs_store(root))


def jobs_root(
    option: str | None = None,
    environ: "Mapping[str, str] | None" = None,
    platform: str = sys.platform,
    home: str | None = None,
) -> str:
    """Give the folder of jobs: the option, AGENT_EXEC_ROOT, $XDG_DATA_HOME, or the system's own place.

    What is empty counts as not given.
    """
    found = os.environ if environ is None else environ
    if option:
        return option
    if root := found.get("AGENT_EXEC_ROOT"):
        return root
    if base := found.get("XDG_DATA_HOME"):
        return os.path.join(base, "agent-exec", "jobs")
    place = os.path.expanduser("~") if home is None else home
    if platform == "win32":
        local = found.get("LOCALAPPDATA") or os.path.join(place, "AppData", "Local")
        return os.path.join(local, "agent-exec", "jobs")
    return os.path.join(place, ".local", "share", "agent-exec", "jobs")


def jobs_store(root: str | None = None) -> "Store":
    """Give the store of jobs that is in force."""
    from agent_exec.jobs.store import Store

    return Store(jobs_root(root))
