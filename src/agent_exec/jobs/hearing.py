"""How a supervisor hears of another job from inside its loop: of its end, and of facts that it adds.

The end of a supervisor is heard by its control pipe, and that of a command
without one by its process. For all else a follower leaves its name in the
folder of the other job, whose supervisor writes to the follower's pipe.
"""

import os

from agent_exec.host import Watch, ask
from agent_exec.jobs.record import CONTROL
from agent_exec.jobs.start import LOOK
from agent_exec.jobs.store import is_id
from agent_exec.logs.stream import create
from agent_exec.places import make_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from agent_exec.engine.loop import Loop, Timer
    from agent_exec.jobs.store import Store

_FOLLOWERS = "followers"
_LOOK_SECONDS = 0.02
"""How often to look at a job that is about to end, or where nothing tells of its end."""


class Ear:
    """Calls once when a job may have ended; `job` is its record after the ear was opened.

    A job that is gone or over has nothing more to tell. With `again`, its
    supervisor has hung up before, and is about to free its lock. With
    `attempts`, a job that is being restarted is not over.
    """

    __slots__ = ("_timer", "_watch", "job", "restarts")

    def __init__(
        self,
        store: "Store",
        job_id: str,
        loop: "Loop",
        call: "Callable[[], object]",
        *,
        again: bool = False,
        attempts: bool = False,
    ) -> None:
        # Opened before the look, so that no end can fall between the two.
        self._watch = Watch(os.path.join(store.folder(job_id), CONTROL))
        self._timer: Timer | None = None
        self.job = job = store.read(job_id)
        self.restarts = False
        """Whether the job has ended, and another attempt may follow at once."""
        if not self.alive:
            self.close()
            if attempts and job is not None:
                from agent_exec.jobs.amend import is_edited

                self.restarts = is_edited(job)
            if self.restarts:
                self._timer = loop.after(_LOOK_SECONDS, call)
            return
        if job is not None and job.supervisor == "lost" and job.identity is not None:
            from agent_exec.host import ExitWatch

            self._watch.close()
            self._watch = ExitWatch(job.identity)
            again = False
        if job is not None and job.supervisor is None:
            return  # it was only created: its start or its deletion wakes us
        if self._watch.hears and not again:
            self._watch.listen(loop, call)
        else:
            self._timer = loop.after(_LOOK_SECONDS, call)

    @property
    def alive(self) -> bool:
        """True if the job was not over when the ear was opened."""
        return self.job is not None and not self.job.ended

    def close(self) -> None:
        """Hear no more; harmless when repeated."""
        self._watch.close()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def follow(store: "Store", job_id: str, follower: str) -> None:
    """Have the supervisor of a job wake this follower when it adds facts to its record."""
    folder = os.path.join(store.folder(job_id), _FOLLOWERS)
    try:
        if os.path.isdir(store.folder(job_id)):
            make_folder(folder)
            os.close(create(os.path.join(folder, follower)))
    except OSError:
        return  # it is being deleted, or follows already; its end is heard in any case


def followers(store: "Store", job_id: str) -> list[str]:
    """Return the jobs that follow this one."""
    try:
        return list(filter(is_id, os.listdir(os.path.join(store.folder(job_id), _FOLLOWERS))))
    except OSError:
        return []


def wake(store: "Store", jobs: "Iterable[str]", about: str) -> None:
    """Have the supervisors of jobs look again, at what concerns a job or a group."""
    for job_id in jobs:
        ask(os.path.join(store.folder(job_id), CONTROL), f"{LOOK} {about}")
