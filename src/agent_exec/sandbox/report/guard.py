"""Watches over a confined command: what it made and must not be there is taken away and reported."""

import os
from _thread import allocate_lock
from _weakrefset import WeakSet

from agent_exec.model.errors import InvalidArgument, SandboxUnavailable
from agent_exec.model.paths import below, inside
from agent_exec.sandbox.plan.gitdirs import danger, unprotectable
from agent_exec.sandbox.plan.paths import identity
from agent_exec.sandbox.plan.plan import Plan
from agent_exec.sandbox.plan.protections import MOST_PROTECTED, is_name
from agent_exec.sandbox.report.changes import (
    Change,
    Snapshot,
    compare,
    put_back,
    snapshot,
    take_away,
    was_taken_away,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    from agent_exec.model.command import Command, Launch, Outcome
    from agent_exec.sandbox.linux.watch import Watch
    from agent_exec.sandbox.report.changes import Surveys
    from agent_exec.sandbox.sandbox import Sandbox

    class Timer(Protocol):
        """A call at a time."""

        def cancel(self) -> None:
            """Make it never happen."""

    class Loop(Protocol):
        """The loop that calls when a descriptor is ready, or at a time."""

        def watch(self, fd: int, events: int, ready: Callable[[int], None]) -> None:
            """Call when it is ready."""

        def unwatch(self, fd: int) -> None:
            """Call no more."""

        def after(self, seconds: float, call: Callable[[], object]) -> Timer:
            """Call once."""


_SOON, _OFTEN = 0.05, 0.25
"""After how many seconds watching begins, and how often is looked where the kernel has no watch to give."""

_MOST = 1000
"""How many changes are kept: a command may make any number."""

_MOST_REPOSITORIES = MOST_PROTECTED // 5


class Watched:
    """The guards of commands that run, or whose changes were not looked at since they ended.

    `stuck` is what could not be taken away: while it is there, nothing else is run.
    """

    __slots__ = ("_guards", "_lock", "stuck")

    def __init__(self) -> None:
        self.stuck: set[str] = set()
        self.forget()

    def forget(self) -> None:
        """Have no guard, in a copy of the process: they are the original's, as the lock may be."""
        self._guards: WeakSet[Guard] = WeakSet()
        self._lock = allocate_lock()

    def add(self, guard: "Guard") -> None:
        """Look at this one too before a plan is made."""
        with self._lock:
            self._guards.add(guard)

    def discard(self, guard: "Guard") -> None:
        """Look no more at this one."""
        with self._lock:
            self._guards.discard(guard)

    def look_at_all(self) -> None:
        """Take away what commands that still run have made: it must not be taken for the user's."""
        surveys: Surveys = {}
        with self._lock:
            guards = tuple(self._guards)
        for guard in guards:
            guard.look(surveys)

    def check(self) -> None:
        """Raise SandboxUnavailable if something is there that could not be taken away."""
        for path in tuple(self.stuck):
            if os.path.lexists(path):
                raise SandboxUnavailable(
                    f"a command has made {path!r}, which programs on this machine obey, and it cannot be "
                    "taken away; nothing was run. Remove it, or name it in `unprotect`",
                    path=path,
                )
            self.stuck.discard(path)


class Guard:
    """What a plan protects, as it was before a command; any thread may `look` at any time."""

    __slots__ = (
        "__weakref__",
        "_before",
        "_found",
        "_lock",
        "_loop",
        "_over",
        "_reported",
        "_sandbox",
        "_timer",
        "_watch",
        "plan",
    )

    def __init__(
        self, sandbox: "Sandbox", plan: Plan, *, fresh: bool = False, before: Snapshot | None = None
    ) -> None:
        """Look at what the plan protects; see `snapshot` for `fresh`."""
        sandbox.watched.check()
        self.plan = plan
        self._sandbox = sandbox
        self._before = snapshot(plan, sandbox.memory.surveyor, fresh=fresh) if before is None else before
        self._found: dict[str, Change] = {}
        self._lock = allocate_lock()
        self._over = False
        self._reported = False
        self._loop: Loop | None = None
        self._timer: Timer | None = None
        self._watch: Watch | None = None

    @property
    def stale(self) -> bool:
        """True if something is there by now that the plan does not protect."""
        before, plan = self._before, self.plan
        return not (set(before.gits) <= set(plan.gits) and set(before.obeyed) <= set(plan.obeyed))

    def look(self, surveys: "Surveys | None" = None) -> tuple[Change, ...]:
        """Take away what must not be there, and return all changes since the command was started.

        `surveys` are shared by guards that look one after the other. The first
        look after the command has ended is the last that other commands need.
        """
        over = self._over
        with self._lock:
            kept = 0
            done: dict[str, Change] = {}
            for change in reversed(self._compare(surveys)):  # inner ones first
                if self._was_another_commands(change.path):
                    if change.what == "removed":
                        continue
                    change = Change(change.path, "appeared")  # noqa: PLW2901 - since that was taken away
                one = done[change.path] = self._undo(change, kept)
                kept += not one.moved_to
                for path in done if one.moved_to else ():  # what was taken away in it went with it
                    if below(done[path].moved_to, (one.path,)) and not inside(one.moved_to, one.path):
                        moved = one.moved_to + done[path].moved_to[len(one.path) :]
                        done[path] = Change(path, done[path].what, moved, done[path].why)
            for path in sorted(done):
                if path in self._found or len(self._found) < _MOST:
                    self._found[path] = done[path]
            if over:
                self._retire()
            return tuple(self._found[path] for path in sorted(self._found))

    def _compare(self, surveys: "Surveys | None") -> tuple[Change, ...]:
        return compare(self._before, self.plan, self._sandbox.memory.surveyor, surveys=surveys)

    def guarded(self, _spawner: object) -> "Guard":
        """Return itself: what `Engine.start` confines a command by."""
        return self

    def confine(self, command: "Command", launch: "Launch") -> "tuple[Command, Launch]":
        """Return a command whose time the profile bounds, and its launch in a box."""
        if command.leftovers != "kill":
            raise InvalidArgument("nothing of a confined command can be left running; leave out leftovers")
        wall, timeout = self.plan.profile.limits.wall, command.limits.timeout
        if wall is not None and (timeout is None or timeout > wall):
            command = command.replace(limits=command.limits.replace(timeout=wall))
        return command, self._sandbox.confine(launch, self.plan)

    def report(self, outcome: "Outcome | None") -> "Outcome | None":
        """Return an outcome with what became of protected paths; only the first time are they looked at."""
        if self._reported:
            return outcome
        changes = tuple(change.to_json() for change in self.look())
        self._reported = True
        self._retire()  # also where it was never started
        return outcome.replace(changes=changes) if outcome is not None and changes else outcome

    def watch(self, loop: "Loop", exposed: "Callable[[str], object]") -> None:
        """Call `exposed` with the reason when the host replaces what a box protects or hides in its roots.

        A bind comes off when another file is renamed over it. Most commands are
        over before this begins; what was replaced until then is found then.
        """
        self._sandbox.watched.add(self)
        if self.plan.held:
            self._loop = loop
            self._timer = loop.after(_SOON, lambda: self._begin(exposed))

    def end(self) -> None:
        """Watch no longer, since the command has ended; harmless when repeated."""
        self._over = True
        self._unwatch()

    def _unwatch(self) -> None:
        if self._loop is not None:
            if self._timer is not None:
                self._timer.cancel()
            if self._watch is not None:
                self._loop.unwatch(self._watch.fd)
                self._watch.close()
        self._loop = self._timer = self._watch = None

    def _begin(self, exposed: "Callable[[str], object]") -> None:
        """Have the kernel tell of changes; look now and then where it cannot."""
        from agent_exec.sandbox.linux.watch import READABLE, Watch

        assert self._loop is not None
        self._timer = None
        try:
            self._watch = watch = Watch({os.path.dirname(path) for path, _ in self.plan.held})
        except OSError:
            self._timer = self._loop.after(_OFTEN, lambda: self._begin(exposed))
        else:
            names = {os.path.basename(path) for path, _ in self.plan.held}
            self._loop.watch(watch.fd, READABLE, lambda _: self._check(exposed, heard=watch.heard(names)))
        self._check(exposed)

    def _check(self, exposed: "Callable[[str], object]", *, heard: bool = True) -> None:
        """Call `exposed` for the first path that is no longer what it was."""
        for path, known in self.plan.held if heard else ():
            if identity(path) != known and not was_taken_away(path, known):
                self._unwatch()
                exposed(
                    f"{path!r} was replaced while the command ran, and the sandbox can no longer protect or"
                    " hide it; the command was ended. Run it again"
                )
                return

    def to_fields(self) -> "dict[str, Any]":
        """Return the guard in a form that can be sent to another process, which `from_fields` reads.

        Between commands, that process looks from now on.
        """
        self._retire()
        before = tuple(getattr(self._before, name) for name in Snapshot.__slots__)
        return {"profile": self.plan.profile.to_text(), "plan": self.plan.to_fields(), "before": before}

    @classmethod
    def from_fields(cls, sandbox: "Sandbox", fields: "dict[str, Any]") -> "Guard":
        """Return the guard that was sent."""
        from agent_exec.sandbox.profile import Profile

        plan = Plan.from_fields(Profile.from_json(fields["profile"]), fields["plan"])
        return cls(
            sandbox, plan, before=Snapshot(**dict(zip(Snapshot.__slots__, fields["before"], strict=True)))
        )

    def _retire(self) -> None:
        """Look no more before the plans of others."""
        self._sandbox.watched.discard(self)

    def _was_another_commands(self, path: str) -> bool:
        """True if what the plan protects there was made by a command that ran then, and was taken away."""
        known = dict(zip(self.plan.protected, self.plan.identities, strict=True)).get(path)
        return was_taken_away(path, known)

    def _undo(self, change: Change, kept: int) -> Change:
        """Take away what appeared and is dangerous; put back a link; return what was done."""
        plan, path = self.plan, change.path
        roots = [os.path.realpath(root) for root in plan.profile.roots]
        # Of a repository under another name, its HEAD is taken: the folder, perhaps a root, is the command's.
        named = os.path.basename(path).lower() == ".git" or not self._is_repository(path)
        place = path if named else os.path.join(path, "HEAD")
        if plan.profile.missing != "remove" or not below(place, roots):  # others use a shared /tmp, too
            return change
        links = dict(plan.links)
        if path in links:
            why = "it is a link, and was put back"
        elif change.what != "appeared":
            return change
        else:
            why = self._reason(path, kept, roots)
        if not why:
            return change
        moved = ""
        try:
            if os.path.lexists(place):
                moved = take_away(place, roots)
                if named and os.path.lexists(head := os.path.join(moved, "HEAD")):
                    take_away(head, roots)  # else it would be a repository under another name
            if path in links:
                put_back(path, links[path], roots)
        except OSError as error:
            if os.path.lexists(place):  # else another command's guard was faster
                self._sandbox.watched.stuck.add(path)
                why = f"it could not be taken away: {error.strerror}"
        return Change(path, change.what, moved, why)

    def _is_repository(self, path: str) -> bool:
        """True if git takes it for a repository; one under another name needs its HEAD."""
        if os.path.basename(path).lower() == ".git":
            return True
        named = is_name(path) or path in self.plan.missing
        return not named and os.path.lexists(os.path.join(path, "HEAD"))

    def _reason(self, path: str, kept: int, roots: list[str]) -> str:
        """Return why something that appeared must not stay, "" if it may."""
        if self._is_repository(path):
            if len(self._before.gits) + kept >= _MOST_REPOSITORIES:
                return f"a plan can protect {_MOST_REPOSITORIES} repositories"
            if path in roots:
                return "a root cannot be a repository's own folder"
            writable = [root.path for root in self.plan.roots]
            if found := danger(path, writable, self._before.gits):
                return f"git would obey {found}"
            return unprotectable(path, writable)
        return "programs on this machine obey it"
