"""A store of jobs for one measurement, on the disk that holds the user's own; it leaves nothing behind."""

import atexit
import json
import os
import shutil
import subprocess
import tempfile
import time
from types import TracebackType
from typing import Any, Self

from agent_exec.host import is_locked
from agent_exec.jobs.kill import force, kill
from agent_exec.jobs.record import LOCK, Record
from agent_exec.jobs.store import Store
from agent_exec.places import jobs_root
from bench import installed
from bench.worker import Misbehaved, require

_PATIENCE = 30.0


class Home:
    """A folder with a store in it; at its end every job in it is ended, and everything deleted."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix=".agent-exec-bench-", dir=_existing(jobs_root()))
        self.store = Store(os.path.join(self.folder, "jobs"))
        self.env = {**installed.ENV, "AGENT_EXEC_ROOT": self.store.root}
        """The variables of a worker whose jobs are to be here."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Deleted when all is measured: where much was deleted just now, ext4 makes files far more slowly.
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        end_jobs(self.store)

    def path(self, name: str) -> str:
        """Return the path of a file beside the store."""
        return os.path.join(self.folder, name)

    def run(self, *words: str) -> Record:
        """Have a job run to its end, and return it."""
        done = subprocess.run(
            [installed.program(), "run", "--wait", *words],
            env={**os.environ, **self.env},
            capture_output=True,
            check=False,
        )
        told: dict[str, Any] = json.loads(done.stdout)
        require(told["ok"] and told["exit_code"] == 0, f"the job did not run: {told}")
        job = self.store.find(told["job_id"])
        settle(job.folder)
        return job


def settle(folder: str) -> None:
    """Wait until the supervisor of a job that has ended is gone too, which first has all on the disk."""
    deadline = time.monotonic() + _PATIENCE
    while is_locked(os.path.join(folder, LOCK)):
        if time.monotonic() > deadline:
            raise Misbehaved(f"the supervisor of {os.path.basename(folder)} did not go")
        time.sleep(0.002)


def end_jobs(store: Store) -> None:
    """End every job of a store, and wait until all of their supervisors are gone."""
    for job_id in store.live_ids():
        job = store.read(job_id)
        if job is not None and not job.ended:
            kill(store, job, force())
    for job_id in store.ids():
        settle(store.folder(job_id))


def _existing(path: str) -> str:
    """Return the nearest folder above a path that is there."""
    above = os.path.dirname(os.path.abspath(path))
    return above if os.path.isdir(above) else _existing(above)
