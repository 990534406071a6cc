"""Runs a job's command in a box of its supervisor's, which need not know: it has the shape of a LocalSpawner.

The box is a helper process of the supervisor's own. It ends with the
supervisor, however that ends, and all that is in it with it.
"""

import os

from agent_exec.engine.engine import shared_spawner
from agent_exec.host import Spawner, keep_loopback, prepare
from agent_exec.jobs import supervise
from agent_exec.jobs.store import place_of
from agent_exec.model.errors import AgentExecError
from agent_exec.model.jsonline import dump
from agent_exec.sandbox.backends import NS, backends, new_order
from agent_exec.sandbox.plan.ours import Ours, ours
from agent_exec.sandbox.plan.plan import Plan
from agent_exec.sandbox.profile import Profile
from agent_exec.sandbox.report.report import block
from agent_exec.sandbox.sandbox import shared_sandbox

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from agent_exec.host import Process
    from agent_exec.host.ports import Loop, Sink
    from agent_exec.jobs.readiness.checks import CheckBox
    from agent_exec.model.command import Command, Launch, Outcome
    from agent_exec.sandbox.report.guard import Guard

ROOM = 1 << 15
"""Maximum size of a box's report, in bytes: so much is reserved for it in the record."""

OWN_NETWORK = "checks-"
"""Begins the name of a network that only the box of a job and those of its checks share."""

_MORE = " (more was found than is listed here)"


def main(fds: list[int]) -> None:
    """Be the supervisor of a job in a box."""
    supervise.main(fds)


def preload() -> None:
    """Load all that such a supervisor and its box will need, for a process that forks many."""
    supervise.preload()
    for one in backends()[:1]:
        if one.entry:
            __import__(one.entry)


def ahead(profile: Profile, own: "Sequence[str]", state: str) -> "dict[str, Any]":
    """Plan a box for an order, in a process that may have looked at its roots before, and send what it knows.

    What cannot be planned is left to the supervisor, which records why.
    """
    sandbox = shared_sandbox()
    try:
        plan = sandbox.plan(profile, shared_spawner(), ours(own, [state]))
    except AgentExecError:
        return sandbox.knowledge(profile, None)
    return sandbox.knowledge(profile, plan)


def loopback(profile: Profile) -> list[int]:
    """Return copies of the descriptors of the network that the boxes of a profile share, to be closed.

    Without any, the box of a supervisor has a network of its own, or cannot
    be made, which its record says.
    """
    try:
        return shared_spawner().loopback(new_order(Plan(profile, backend=NS.name), {}))
    except AgentExecError:
        return []


class BoxedSpawner:
    """Gives one launch a process in a box; `stdin` is its input, `given` the variables that were set for it.

    `sandbox` is the order's; no root may hold the folder `state`. `loopback`
    are the descriptors of the network that the box shares. A box that was
    planned ahead is begun at once, and made while the job is.
    """

    room = ROOM
    keep = 1 << 16
    """The end of the output tells what was refused."""
    boxed = True
    ran = False
    gone = True
    """Whether nothing of the tree is left, once the run is over: nothing can be left alive in a box."""
    current = None
    stdin = -1
    """No descriptor that the taker has to close."""

    def __init__(
        self,
        stdin: int,
        sandbox: "dict[str, Any]",
        state: str,
        given: "Sequence[str]" = (),
        loopback: "Sequence[int]" = (),
    ) -> None:
        self._given = given
        self._state = state
        self._sandbox = sandbox
        self._ours: Ours = ours(sandbox["own"], [state])
        self._spawner = Spawner(forks=True)
        self._stdin = stdin
        self.guard: Guard | None = None
        self._process: Process | None = None
        self._cwd = "/"
        profile = Profile.from_json(sandbox["text"]).replace(loopback=sandbox["loopback"])
        if loopback:
            keep_loopback(profile.network or "", loopback)
        plan = shared_sandbox().learn(profile, sandbox)
        self._wanted: Profile | Plan = plan or profile
        if plan is not None:
            self._spawner.begin(shared_sandbox().box(plan))

    def start(
        self,
        argv: "Sequence[str | bytes]",  # noqa: ARG002
        cwd: str | bytes,
        env: "Mapping[str, str] | Mapping[bytes, bytes]",  # noqa: ARG002
    ) -> tuple[int, int] | None:
        """Plan and make the box, and look at what it protects; the command has to wait for its run."""
        self._cwd = place_of(os.fsdecode(cwd))
        self.guard = shared_sandbox().guard(self._wanted, self._spawner, self._ours)
        return None

    def prepare(self, command: "Command") -> "Launch":
        """Turn what was asked into what will be spawned in the box."""
        assert self.guard is not None
        return shared_sandbox().confine(prepare(command), self.guard.plan, self._given)

    def process(self, launch: "Launch", loop: "Loop", sink: "Sink") -> "Process":
        """Return the process of a launch, not spawned yet."""
        self._process = self._spawner.process(launch, loop, sink, self._stdin)
        return self._process

    def report(self, outcome: "Outcome") -> "dict[str, Any]":
        """Return what the record says of the box when the command has ended, no longer than its room."""
        assert self.guard is not None
        return {"sandbox": bounded(block(self.guard.plan, outcome, self._cwd))}

    def check_box(self) -> "CheckBox":
        """Return what makes another box by the same profile, for a check, in the network of this one."""
        assert self.guard is not None
        order = {name: self._sandbox[name] for name in ("text", "own", "loopback")}
        fds = self._spawner.loopback(shared_sandbox().box(self.guard.plan))
        return (order, self._state, list(self._given)), fds

    def renew(self, stdin: int) -> "BoxedSpawner":
        """Return a spawner for another attempt, in a box of its own, once nothing of the last one is left."""
        self.close()
        return BoxedSpawner(stdin, self._sandbox, self._state, self._given)

    def abandon(self) -> None:
        """End by force all that was started, and wait until it is gone."""
        if self._process is not None:
            self._process.abandon(0)
        self.close()

    def close(self) -> None:
        """Give back the box, and wait until it is gone; harmless when repeated."""
        self._spawner.close()


def bounded(told: "dict[str, Any]", room: int = ROOM) -> "dict[str, Any]":
    """Return a box's report with its longest lists cut until it fits."""
    lists = [name for name, value in told.items() if isinstance(value, list)]
    cut = False
    while len(dump(told).encode()) > room - len(_MORE):
        longest = max(lists, key=lambda name: len(dump(told[name])))
        if not told[longest]:
            told = told | {"message": told["message"][:200]}
            break
        told = told | {longest: told[longest][: len(told[longest]) // 2]}
        cut = True
    return told | {"message": told["message"] + _MORE} if cut else told
