"""Which services of a project run: its jobs by their tags, and the locks that keep them apart."""

import os

from agent_exec.jobs.project.file import digest_of
from agent_exec.jobs.store import list_jobs, place_of
from agent_exec.places import make_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.host import FileLock
    from agent_exec.jobs.project.file import Service
    from agent_exec.jobs.record import Record
    from agent_exec.jobs.store import Store

_FOLDER = ".projects"


def tag_of(folder: str, name: str) -> str:
    """Return the tag of a service's jobs."""
    return f"project.{digest_of(folder)}.{name}"


def live_jobs(store: "Store", folder: str) -> "dict[str, Record]":
    """Return the jobs of a project that are not over, by the names of their services."""
    jobs, _, _ = list_jobs(
        store, states=("created", "running"), tags=[f"project.{digest_of(folder)}.*"], limit=0
    )
    found: dict[str, Record] = {}
    for job in jobs:  # the newest first
        about = job.facts.get("project")
        if isinstance(about, dict):
            found.setdefault(str(about.get("name")), job)
    return found


def last_job(store: "Store", folder: str, service: "Service") -> "Record | None":
    """Return the newest job of a service, whether it is over or not; None if there is none."""
    jobs, _, _ = list_jobs(store, cwd=place_of(service.cwd), tags=[tag_of(folder, service.name)], limit=1)
    return jobs[0] if jobs else None


def project_lock(store: "Store", folder: str) -> "FileLock":
    """Return the lock for starting and stopping services of a project."""
    return _lock(store, digest_of(folder))


def service_lock(store: "Store", folder: str, name: str) -> "FileLock":
    """Return the lock that the supervisor of a service holds."""
    return _lock(store, f"{digest_of(folder)}.{name}")


def _lock(store: "Store", name: str) -> "FileLock":
    from agent_exec.host import FileLock

    make_folder(os.path.join(store.root, _FOLDER))
    return FileLock(os.path.join(store.root, _FOLDER, name))
