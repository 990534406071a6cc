"""The one way of every face from a command to its outcome: judged, confined, started."""

import os
from _thread import RLock

from agent_exec.engine.engine import Engine, run_command, run_on, shared_spawner
from agent_exec.model.errors import InvalidArgument, InvalidState
from agent_exec.requests.opening import IN_FORCE, open_gate, rule_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.host import Spawner
    from agent_exec.model.cancel import Cancel
    from agent_exec.model.command import Command, Outcome
    from agent_exec.requests.arguments import Approver, Rules
    from agent_exec.requests.gate import Gate
    from agent_exec.sandbox.plan.ours import Ours
    from agent_exec.sandbox.plan.plan import Plan
    from agent_exec.sandbox.profile import Profile
    from agent_exec.sandbox.report.guard import Guard


class Dispatcher:
    """Has commands judged by its `gate`, confines them by its profile, and runs them; for any thread.

    The gate is open already, or made from the rules. No confined command may
    change the files `own`, to which those of the rules are added, or see the
    folders `hidden`. Commands that are awaited or can be cancelled run on an
    engine, `slots` at once, which is made when first needed.
    """

    __slots__ = ("_closed", "_engine", "_hidden", "_lock", "_own", "_slots", "gate", "sandbox")

    def __init__(
        self,
        rules: "Rules" = IN_FORCE,
        approver: "Approver | None" = None,
        approval: str | None = None,
        *,
        gate: "Gate | None" = None,
        sandbox: "Profile | None" = None,
        own: "Sequence[str]" = (),
        hidden: "Sequence[str]" = (),
        slots: int = 1024,
    ) -> None:
        files = [] if gate is not None else rule_files(rules)
        if check_profile(sandbox) is not None and files:
            from agent_exec.requests.leaving import keep_out

            keep_out(files, sandbox)
        self.gate = gate or open_gate(rules, approver=approver, approval=approval)
        self.sandbox = sandbox
        self._own = tuple(map(os.path.abspath, (*files, *own)))
        self._hidden = tuple(map(os.path.abspath, hidden))
        self._slots = slots
        self._engine: Engine | None = None
        self._lock = RLock()  # the garbage collector may close one while this thread holds it
        self._closed = False

    @property
    def ours(self) -> "Ours":
        """The files that no confined command may change, and the folders that none may see."""
        from agent_exec.sandbox.plan.ours import ours

        return ours(self._own, self._hidden)

    def guard(self, spawner: "Spawner | None" = None, root: str = "") -> "Guard | None":
        """Return what confines the next command, None if nothing does.

        The command is to be started by `spawner`, by default that of this
        process. `root` is the root of a profile that names none.
        """
        if self.sandbox is None:
            return None
        from agent_exec.sandbox.sandbox import shared_sandbox

        profile = self.sandbox
        if root and not profile.roots:
            profile = profile.replace(roots=(root,))
        return shared_sandbox().guard(profile, spawner or shared_spawner(), self.ours)

    def plan(self) -> "Plan | None":
        """Return what the profile allows now, for work in place of a command; None if it allows all."""
        if self.sandbox is None or self.sandbox.name == "full-access":
            return None
        from agent_exec.sandbox.sandbox import shared_sandbox

        return shared_sandbox().look(self.sandbox, self.ours)

    def run(
        self, command: "Command", cancel: "Cancel | None" = None, within: float | None = None
    ) -> "tuple[Outcome, Guard | None]":
        """Run a command to its end; return its outcome and what confined it.

        It is ended when `cancel` is set, and when it has not ended `within`
        so many seconds. Nothing of it is left when this returns or raises.
        """
        if cancel is None:
            guard = self.guard()
            return run_command(command, sandbox=guard), guard
        if cancel.is_set():
            raise InvalidState("this call was cancelled before its command was started; nothing was run")
        engine = self.engine
        guard = self.guard()
        return run_on(engine, command, cancel, sandbox=guard, within=within), guard

    @property
    def engine(self) -> Engine:
        """The engine; raise InvalidState if this is closed."""
        with self._lock:
            self.check_open()
            if self._engine is None:
                self._engine = Engine(self._slots)
            return self._engine

    def check_open(self) -> None:
        """Raise InvalidState if this is closed."""
        if self._closed:
            raise InvalidState("this is closed, and nothing was run; make a new one")

    def close(self) -> None:
        """End all that runs on the engine, and wait until it is gone; harmless when repeated."""
        with self._lock:
            self._closed = True
        if self._engine is not None:
            self._engine.close()


def check_profile(sandbox: object) -> "Profile | None":
    """Return a profile, or None for no sandbox; raise InvalidArgument for anything else."""
    if sandbox is None:
        return None
    from agent_exec.sandbox.profile import Profile

    if not isinstance(sandbox, Profile):
        raise InvalidArgument(f"sandbox must be a Profile; got {sandbox!r}")
    return sandbox
