"""Enters the network of a confined job from outside, for the commands of `exec=`, which run in a box too."""

from agent_exec.host import network_of
from agent_exec.jobs.restart import profile_of
from agent_exec.model.errors import InvalidArgument, InvalidState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.jobs.readiness.checks import CheckBox
    from agent_exec.jobs.readiness.watching import Watching
    from agent_exec.jobs.record import Record


def check_joinable(job: "Record") -> None:
    """Raise InvalidArgument for a job whose network no other box can enter: one without checks of its own."""
    profile = profile_of(job)
    if profile is not None and profile.network == "":
        raise InvalidArgument(
            f"job {job.id} has a network of its own, which no command of exec= can enter; start it with "
            "--ready-when exec=COMMAND or --health COMMAND, or wait for http=URL, listen or match=REGEX",
            job_id=job.id,
        )


def join(watching: "Watching") -> "CheckBox":
    """Return what makes a box by the profile of a job, and in its network."""
    job = watching.job
    profile = profile_of(job)
    fds: list[int] = []
    if profile is not None and profile.network:
        looking = watching.listening()
        looking.look()
        pid = looking.network()
        try:
            fds = network_of(pid)
        except OSError:
            raise InvalidState(
                f"job {job.id} has no network that can be entered", job_id=job.id, state=job.state
            ) from None
    given = [str(name) for name in job.facts["env_keys"]]
    return (dict(job.facts["order"]["sandbox"]), watching.store.root, given), fds
