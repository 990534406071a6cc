"""The sandbox of a process: plans boxes, chooses the backend that makes them, confines commands or refuses.

A backend counts as working once a box of it was seen to work. Without one, a
command is refused.
"""

import os

from agent_exec.model.errors import SCARCE, NothingConfines, PlanFailed, SandboxUnavailable
from agent_exec.model.paths import inside
from agent_exec.places import make_folder
from agent_exec.sandbox.backends import Backend, backends, new_order
from agent_exec.sandbox.environment import scrub
from agent_exec.sandbox.plan.ours import Confining, Ours
from agent_exec.sandbox.plan.paths import identity
from agent_exec.sandbox.plan.plan import (
    Memory,
    Plan,
    changed_protections,
    changed_roots,
    make_plan,
    unmasked,
)
from agent_exec.sandbox.profile import Profile
from agent_exec.sandbox.report.guard import Guard, Watched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any, Protocol

    from agent_exec.model.box_spec import Box
    from agent_exec.model.command import Launch

    class Spawner(Protocol):
        """The pool of helper processes, as far as boxes need it."""

        def start_helpers(self) -> None:
            """Start the processes that make boxes, without waiting."""

        def await_helpers(self) -> None:
            """Leave no child behind that `start_helpers` has started."""

        def ready(self, box: Box) -> None:
            """Make a box and wait until it is ready; raise SandboxUnavailable if it cannot be made."""

        def warm(self, box: Box, boxes: int) -> None:
            """Have so many boxes wait for commands."""


_MOST_RECENT = 8
_MOST_ORDERS = 64
_TRIES = 5
"""How often a box is planned while what it protects changes."""


class Sandbox:
    """Confines the commands of any profile; `only` are the names of the backends to try, all by default.

    It remembers which backends work, the identity of the roots when they were first
    used, and what was seen below them, which is checked again before each use.
    `broken` says why no backend worked when the last plan was made, "" if one did.
    """

    __slots__ = (
        "_cleaned",
        "_orders",
        "_proven",
        "_recent",
        "_roots",
        "_tokens",
        "_useless",
        "broken",
        "memory",
        "only",
        "watched",
    )

    def __init__(self, only: "Sequence[str]" = ()) -> None:
        self.only = tuple(only)
        self.broken = ""
        self.memory = Memory()
        self.watched = Watched()
        self._proven: set[str] = set()
        self._useless: dict[str, str] = {}  # backends that do not work here, while a strong one does
        self._roots: dict[str, tuple[int, int]] = {}
        self._recent: list[Plan] = []
        self._orders: dict[int, tuple[Plan, Box]] = {}
        self._tokens: dict[str, str] = {}  # what opens the proxy, by the boxes that have one
        self._cleaned: tuple[Mapping[Any, Any], Plan, dict[bytes, bytes]] | None = None

    def guard(self, wanted: Confining, spawner: "Spawner", ours: Ours) -> Guard:
        """Return a guard over what the plan of a profile protects, with the backend of the plan chosen.

        Every confined command of every face begins here. If something is there
        by now that a kept plan does not protect, it is planned anew.
        """
        self.watched.look_at_all()
        plan = self.plan(wanted, spawner, ours)
        guard = Guard(self, plan, fresh=isinstance(wanted, Profile))
        if guard.stale:
            plan = self.plan(plan.profile, spawner, plan.ours())
            guard = Guard(self, plan, fresh=True)
        return guard

    def plan(self, wanted: Confining, spawner: "Spawner", ours: Ours) -> Plan:
        """Return the plan of a profile, or a plan of before that still holds, with its backend chosen.

        The first time, that takes as long as to make a box, which is then
        used. Raise PlanFailed for what is the fault of this plan, or of this
        moment, NothingConfines if no backend makes even the smallest box.
        """
        try:
            plan = self._look_while_helpers_start(wanted, spawner, ours)
        except OSError as error:  # a folder that went, or changed, while it was looked at
            raise PlanFailed(
                f"the sandbox cannot be planned; nothing was run: {error.filename!r}: {error.strerror};"
                " try again",
                errno=error.errno,
            ) from None
        if plan.profile.name == "full-access" or plan.backend:
            return plan
        reasons: dict[str, str] = {}
        for one in self.candidates():
            if plan.profile.min_strength == "full" and one.strength != "full":
                reasons[one.name] = 'too weak, unless the profile says min_strength="degraded"'
            elif reason := self._useless.get(one.name) or self._prove(one, plan, spawner):
                reasons[one.name] = reason
            else:
                if one.strength == "full":
                    self._useless.update(reasons)
                self.broken = ""
                return self._chosen(plan, one)
        self.broken = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
        self.broken = self.broken or "there is no sandbox for this system yet"
        raise NothingConfines(
            f"nothing can confine a command here ({self.broken}), and so nothing was run; `agent-exec "
            "sandbox doctor` tells more, and only --sandbox full-access runs commands unconfined",
            reasons=self.broken,
        )

    def look(self, wanted: Confining, ours: Ours) -> Plan:
        """Return the plan of a profile, made now; or a plan that was made before, if it still holds.

        This is the only place where boxes are planned, and `ours` says what
        every one of them protects and hides. A root that has become another
        folder is refused for as long as this sandbox exists.
        """
        if isinstance(wanted, Plan):
            plan = wanted
            if changed_protections(plan) or unmasked(plan):
                plan = self._make(plan.profile, plan.own, plan.state)
            if changed := changed_roots(plan):
                raise PlanFailed(f"{changed[0]}; nothing was run")
        else:
            assert isinstance(wanted, Profile)
            _make_folders(wanted, ours.folders)
            plan = self._make(wanted, ours.files, ours.folders)
        for asked in plan.profile.roots:
            found = identity(asked, follow=True)
            if found is None or self._roots.setdefault(asked, found) != found:
                raise PlanFailed(
                    f"the root {asked!r} was replaced by another folder since it was first used; nothing was "
                    "run. If that is intended, restart this program"
                )
        return plan

    def _look_while_helpers_start(self, wanted: Confining, spawner: "Spawner", ours: Ours) -> Plan:
        """Plan the first box while the processes start that will make it."""
        if self._proven:
            return self.look(wanted, ours)
        try:
            spawner.start_helpers()
            return self.look(wanted, ours)
        finally:
            spawner.await_helpers()

    def candidates(self) -> tuple[Backend, ...]:
        """Return the backends to try, strongest first."""
        return tuple(one for one in backends() if not self.only or one.name in self.only)

    def probe(self, one: Backend, spawner: "Spawner") -> str:
        """Return why a backend does not work here, "" if it makes the smallest box."""
        smallest = _smallest()
        if reason := one.refuses(smallest):
            return reason
        try:
            self._try(one, smallest, spawner)
        except SandboxUnavailable as error:
            return _reason(error)
        return ""

    def warmed(self, wanted: Confining, spawner: "Spawner", ours: Ours, boxes: int) -> Plan:
        """Return the plan of a profile for which so many boxes wait, where there are boxes."""
        plan = self.plan(wanted, spawner, ours)
        if plan.backend and plan.backend != "seatbelt":
            spawner.warm(self.box(plan), boxes)
        return plan

    def box(self, plan: Plan) -> "Box":
        """Return the order to be a box for a plan; the same one for a plan that is kept."""
        known, order = self._orders.get(id(plan), (None, None))
        if known is not plan or order is None:
            order = new_order(plan, self._tokens)
            if len(self._orders) >= _MOST_ORDERS:
                self._orders.clear()
            self._orders[id(plan)] = plan, order
        return order

    def confine(self, launch: "Launch", plan: Plan, given: "Collection[str]" = ()) -> "Launch":
        """Return a launch that runs as its plan says, whose backend has been chosen.

        `given` are names of variables that were set for this command, even if they are as in this process.
        """
        if plan.profile.name == "full-access":
            return launch
        if not plan.backend:
            raise SandboxUnavailable("no backend was chosen to carry out the plan, and so nothing was run")
        env = self._environment(launch.env, plan, given)
        if plan.backend == "seatbelt":
            from agent_exec.sandbox.seatbelt import wrap

            words = wrap(plan, [os.fsdecode(launch.program), *map(os.fsdecode, launch.argv[1:])])
            return launch.replace(program=words[0], argv=tuple(words), env=env)
        order = self.box(plan)
        if order.on_listener is not None:
            from agent_exec.sandbox.linux.box_common import PORT
            from agent_exec.sandbox.proxy.server import variables

            shown = variables(PORT, self._tokens[order.digest])
            env = env | {name.encode(): value.encode() for name, value in shown.items()}
        return launch.replace(box=order, env=env)

    def knowledge(self, profile: Profile, plan: Plan | None) -> "dict[str, Any]":
        """Return a plan and what is known of its roots, in a form that `learn` of another process reads."""
        known: dict[str, Any] = {
            "roots": {asked: self._roots[asked] for asked in profile.roots if asked in self._roots}
        }
        if plan is not None:
            known["plan"] = plan.to_fields()
            known["known"] = {root.path: self.memory.surveyor.known(root.path) for root in plan.roots}
        return known

    def learn(self, profile: Profile, known: "Mapping[str, Any]") -> "Plan | None":
        """Take over what another process knows, and return its plan, if it could make one."""
        self._roots.update(known.get("roots", {}))
        if "plan" not in known:
            return None
        for root, found in known["known"].items():
            self.memory.surveyor.learn(root, found)
        return Plan.from_fields(profile, known["plan"])

    def _make(self, profile: Profile, own: "Sequence[str]", state: "Sequence[str]") -> Plan:
        """Return a plan made now; again if something has changed meanwhile, as other commands may do."""
        for left in reversed(range(_TRIES)):
            try:
                return make_plan(
                    profile, home=os.path.expanduser("~"), own=own, state=state, memory=self.memory
                )
            except (PlanFailed, FileNotFoundError):
                if not left:
                    raise
        raise AssertionError

    def _environment(
        self, env: "Mapping[Any, Any]", plan: Plan, given: "Collection[str]"
    ) -> dict[bytes, bytes]:
        """Return the variables that go into the box; only those that the last command had not are judged."""
        known, last, found = self._cleaned or (None, None, {})
        if last is plan and known == env and not given:
            return found
        before = (known, found) if known is not None and last is plan else None
        found = scrub(env, plan.profile, backend=plan.backend, given=given, before=before)
        if not given:
            self._cleaned = env, plan, found
        return found

    def _prove(self, one: Backend, plan: Plan, spawner: "Spawner") -> str:
        """Return why a backend does not work here, "" if it does; raise the fault of plan or moment."""
        if reason := one.refuses(plan):
            return reason
        if one.name in self._proven:
            return ""
        try:
            self._try(one, plan, spawner)
        except SandboxUnavailable as error:
            if _passes(error):
                raise
            try:
                self._try(one, _smallest(), spawner)
            except SandboxUnavailable as second:
                if not _passes(second):
                    return _reason(second)
            raise PlanFailed(error.message, **error.details) from None
        self._proven.add(one.name)
        return ""

    def _try(self, one: Backend, plan: Plan, spawner: "Spawner") -> None:
        """Have a box made, and wait until it is ready: nothing else tells whether it can be."""
        if one.entry:
            spawner.ready(self.box(self._chosen(plan, one)))
            return
        from agent_exec.sandbox.seatbelt import PROGRAM

        if not os.access(PROGRAM, os.X_OK):
            raise SandboxUnavailable(f"{PROGRAM} was not found")

    def _chosen(self, plan: Plan, one: Backend) -> Plan:
        """Return a plan as a backend carries it out; an equal one of before, whose order is known."""
        made = plan.replace(backend=one.name, unenforced=(*plan.unenforced, *one.gaps(plan)))
        for known in self._recent:
            if known == made:
                return known
        self._recent.insert(0, made)
        del self._recent[_MOST_RECENT:]
        return made


def _make_folders(profile: Profile, folders: "Sequence[str]") -> None:
    """Make folders of ours that would lie in a root: what is there can be hidden."""
    roots = [os.path.realpath(root) for root in (*profile.roots, *(("/tmp",) * (profile.tmp == "shared")))]
    for folder in folders:
        if not os.path.lexists(folder) and inside(os.path.realpath(folder), *roots):
            try:
                make_folder(folder)
            except OSError:
                continue  # the plan says why not


def _smallest() -> Plan:
    return Plan(Profile("read-only", deny_read=()))


def _passes(error: SandboxUnavailable) -> bool:
    """True if the machine is too busy now, which says nothing about a backend."""
    return error.details.get("errno") in SCARCE


def _reason(error: SandboxUnavailable) -> str:
    step, number = error.details.get("step"), error.details.get("errno")
    return f"{step}: {os.strerror(number)}" if step and isinstance(number, int) else error.message


def shared_sandbox() -> Sandbox:
    """Return the sandbox of this process, made when first needed."""
    global _shared  # noqa: PLW0603 - one for each process
    if _shared is None:
        _shared = Sandbox()
    return _shared


def share(sandbox: Sandbox) -> None:
    """Use this sandbox in the whole process, for operators that choose the backends."""
    global _shared  # noqa: PLW0603 - one for each process
    _shared = sandbox


def _forget_guards() -> None:
    if _shared is not None:
        _shared.watched.forget()


_shared: Sandbox | None = None
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_guards)
