"""Starts jobs from a process that runs already, as the library does."""

import atexit
import os
from collections.abc import Sequence

from agent_exec.host import Spawner, own_environment
from agent_exec.jobs.start import Launcher, Order, Started
from agent_exec.jobs.store import jobs_store


class Starter:
    """A warm factory of supervisors, and the store that is in force."""

    def __init__(self) -> None:
        self.store = jobs_store()
        self._spawner = Spawner()
        self._env = own_environment()
        atexit.register(self._spawner.close)

    def start(self, argv: Sequence[str]) -> Started:
        """Start a job, and return it when its command runs."""
        order = Order(argv, cwd=os.getcwd(), env=self._env, grace=2.0, quota=1 << 30)
        started = Launcher(self._spawner.detach).start(self.store.root, order)
        started.begin()
        return started
