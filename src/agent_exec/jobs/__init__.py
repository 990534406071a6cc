"""Jobs: runs that are recorded on disk, each owned by a supervisor that outlives its caller.

The public names are those of the contract (`open_jobs`), which is built on the
modules in this package; they are loaded when first used, and no module inside
imports them from here. See docs/jobs.md.
"""

from agent_exec.model.lazy import loader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.jobs import Jobs, open_jobs
    from agent_exec.jobs.excerpt import Excerpt
    from agent_exec.model.choices import Answer, JobState

__all__ = [
    "Answer",
    "Excerpt",
    "JobState",
    "Jobs",
    "open_jobs",
]

_HOMES = {
    "Answer": "model.choices",
    "Excerpt": "jobs.excerpt",
    "JobState": "model.choices",
    "Jobs": "faces.jobs",
    "open_jobs": "faces.jobs",
}

__getattr__ = loader(__name__, _HOMES, "agent_exec")
