"""Jobs: runs that are recorded on disk, each owned by a supervisor that outlives its caller.

The public names are those of the contract (`open_jobs`), which is built on the
modules in this package; they are loaded when first used, and no module inside
imports them from here. See docs/jobs.md.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.faces.asked import Asked as Asked
    from agent_exec.faces.jobs import open_jobs as open_jobs
    from agent_exec.faces.verbs import Jobs as Jobs
    from agent_exec.jobs.output import Excerpt as Excerpt
    from agent_exec.model.choices import Answer as Answer
    from agent_exec.model.choices import JobState as JobState

_HOMES = {
    "faces.asked": "Asked",
    "faces.jobs": "open_jobs",
    "faces.verbs": "Jobs",
    "jobs.output": "Excerpt",
    "model.choices": "Answer JobState",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        from agent_exec.model.lazy import public

        return public(__name__, name, _HOMES)

    def __dir__() -> list[str]:
        return __getattr__("__all__")
