"""Starts a job, in one way for the program, Python and MCP, and watches how it begins.

At first nothing more is loaded than it takes to start a supervisor: it gets
ready while the caller parses.
"""

import os
from marshal import dumps, loads
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from agent_exec.host import Report
    from agent_exec.jobs.store import Store
    from agent_exec.model import errors
    from agent_exec.model.cancel import Cancel
    from agent_exec.requests.gate import Gate
    from agent_exec.sandbox.profile import Profile

    Detach = Callable[[str, Sequence[int]], None]
else:
    from agent_exec.model.lazy import Later

    errors = Later("agent_exec.model.errors")  # a start that succeeds needs none

SUPERVISOR = "agent_exec.jobs.supervise"
BOXED = "agent_exec.jobs.confined_job"
"""The same for a confined command: what a box needs is loaded first."""

_LONGEST = 1.0
"""How long a supervisor is listened to before it is looked after."""

_PATIENCE = 10.0
"""How long a supervisor may take to start the command; after that the job is `created`, and goes on."""

MARK = "AGENT_EXEC_JOB_ID"
"""The variable that tells a command, and all it starts, whose job it is."""

# What a supervisor tells, a line each.
JOB = "job"
"""with its id: the job is made, and holds its lock"""
HELD = "held"
"""the job is made, and its command waits for something"""
STARTED = "started"
READY = "ready"
"""the conditions of its readiness hold"""
ENDED = "ended"
REFUSED = "refused"
"""with an error as JSON: there is no job"""

# What someone may ask of a supervisor, with the number of a signal.
END = "end"
"""end the tree, politely if the signal allows it"""
SIGNAL = "signal"
"""send it to the tree, and nothing more"""
AMEND = "amend"
"""with the name of a file in the job's folder instead: write these facts to the record, then delete it"""
LOOK = "look"
"""with the id of another job, or nothing, instead: what this job waits for may have changed"""

TIMEOUT = "timeout_in_ms"
"""A fact that moves the deadline of a command: in so many milliseconds, None is never."""

_TAG_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


class Order:
    """What is asked for: a command with its surroundings, and the terms of the job.

    With a profile as `sandbox` it is confined; `own` are files of ours that it
    is kept from changing, should they lie where it may write. `terms` are what
    more is asked of the job, by the names of the duties in `jobs.duties`.
    """

    def __init__(
        self,
        argv: "Sequence[str | bytes]",
        *,
        cwd: str | bytes,
        env: "Mapping[bytes, bytes]",
        grace: float,
        quota: int,
        env_keys: "Sequence[str]" = (),
        tags: "Sequence[str]" = (),
        timeout: float | None = None,
        leftovers: str = "kill",
        progress: float = 0.0,
        mark: bool = True,
        inherit: bool = True,
        sandbox: "Profile | None" = None,
        own: "Sequence[str]" = (),
        terms: "Mapping[str, object] | None" = None,
    ) -> None:
        # Of exactly these types: others cannot be sent.
        self.argv = [str(os.fsdecode(word)) for word in argv]
        self.cwd = str(os.path.abspath(os.fsdecode(cwd)))
        self.env = dict(env)
        self.env_keys = [str(name) for name in env_keys]
        self.tags = check_tags(tags)
        self.timeout = None if timeout is None else float(timeout)
        self.grace = float(grace)
        self.leftovers = str(leftovers)
        self.quota = int(quota)
        """The most bytes that are kept of each stream; 0 is no limit."""
        self.progress = float(progress)
        self.mark = bool(mark)
        """Whether a variable gives the command the id of its job."""
        self.input = False
        """Whether the command has input: it is kept nowhere, and must be given again with another attempt."""
        self.inherit = bool(inherit)
        """Whether the variables of the caller are among those of the command."""
        self.terms = dict(terms or {})
        self.again: dict[str, object] | None = None
        """The job that is to be attempted, and the number of the attempt; None makes a new job."""
        self.sandbox: dict[str, object] | None = None
        """The profile by its name, its hash (`policy`) and its whole text, `own`, and what is known of it."""
        self.profile = sandbox
        self.own = [str(os.path.abspath(path)) for path in own]
        if sandbox is not None:
            self._confine(sandbox)

    def _confine(self, profile: "Profile") -> None:
        if self.leftovers != "kill":
            raise errors.InvalidArgument(
                "nothing that a confined command leaves behind lives on; leave out leftovers, or the sandbox"
            )
        wall = profile.limits.wall
        if wall is not None and (self.timeout is None or self.timeout > wall):
            self.timeout = float(wall)
        self.sandbox = {
            "profile": profile.name,
            "policy": profile.digest,
            "text": profile.to_text(),
            "own": self.own,
            "loopback": profile.loopback,
        }

    def fields(self) -> dict[str, object]:
        """Return it in a form that can be sent to another process."""
        return {name: value for name, value in vars(self).items() if name not in ("own", "profile")}


def check_tags(tags: "Iterable[str]") -> list[str]:
    """Return the tags as text, each once, in order; raise InvalidTag for one that is not a tag."""
    found: list[str] = []
    for tag in map(str, tags):
        if not all(part and _TAG_LETTERS.issuperset(part) for part in tag.split(".")):
            raise errors.InvalidTag(
                f"{tag!r} is not a tag; use letters, digits and -, joined by dots, such as build.linux",
                tag=tag,
            )
        if tag not in found:
            found.append(tag)
    return found


def start(
    store: "Store",
    order: "Order",
    *,
    gate: "Gate | None" = None,
    stdin: "Callable[[], int] | None" = None,
    shown: bytes = b"",
    cancel: "Cancel | None" = None,
    detach: "Detach | None" = None,
    launcher: "Launcher | None" = None,
) -> "Started":
    """Judge an order, then have a supervisor carry it out; the caller waits for it with `Started.begin`.

    `stdin` returns a descriptor of the command's input, which is closed here;
    `shown` is what an approver is shown of it. `launcher` is a supervisor that
    was started before, with its input; else `detach` starts one. A process
    that lives on gives none: its own helpers start the supervisor, and the
    box is planned here, by what it knows already.
    """
    judge(order, gate, shown)
    if "bash" in order.argv[0]:
        _have_reported(order)
    if launcher is None:
        launcher = _launcher(order, stdin, detach)
    try:
        if detach is None and order.profile is not None and order.sandbox is not None:
            from agent_exec.jobs.confined_job import ahead

            order.sandbox |= ahead(order.profile, order.own, store.root)  # while the supervisor gets ready
        if cancel is not None and cancel.is_set():
            raise errors.Interrupted("interrupted before a job was started; nothing was done")
        return launcher.start(store.root, order)
    finally:
        launcher.close()


def judge(order: "Order", gate: "Gate | None", shown: bytes = b"") -> None:
    """Raise for an order that the rules refuse, or whose box could change what decides about it."""
    if order.profile is not None:
        from agent_exec.requests.leaving import keep_out

        keep_out(order.own, order.profile)
    if gate is not None:
        from agent_exec.jobs.store import place_of

        gate.admit(order.argv, place_of(order.cwd), order.env_keys, stdin=shown)


def _have_reported(order: "Order") -> None:
    """Have the shell of an order report a failure that its exit code hides, if it can."""
    from agent_exec.requests.shells import asked_for, shell_line

    more = asked_for("bash", shell_line(order.argv), order.env)
    if more:
        order.env |= more
        order.terms["pipeline"] = "stderr"


def _launcher(order: "Order", stdin: "Callable[[], int] | None", detach: "Detach | None") -> "Launcher":
    shared: list[int] = []
    if detach is None:
        from agent_exec.engine.engine import shared_spawner

        detach = shared_spawner().detach
        if order.profile is not None and order.profile.loopback:
            from agent_exec.jobs.confined_job import OWN_NETWORK, loopback

            if not order.profile.loopback.startswith(OWN_NETWORK):
                shared = loopback(order.profile)
    fd = -1
    try:
        fd = -1 if stdin is None else stdin()
        order.input = fd >= 0
        return Launcher(detach, fd, SUPERVISOR if order.profile is None else BOXED, shared)
    finally:
        for one in (fd, *shared):
            if one >= 0:
                os.close(one)


class Launcher:
    """A supervisor that has been started and waits for its order; without one it exits.

    Made early, it gets ready while the order is still being put together.
    `stdin` is a descriptor of the command's input, `loopback` those of the
    network that its box shares; all are the caller's to close.
    """

    __slots__ = ("_order", "_report")

    def __init__(
        self, detach: "Detach", stdin: int = -1, entry: str = SUPERVISOR, loopback: "Sequence[int]" = ()
    ) -> None:
        from agent_exec.host import Report

        self._report = Report()
        reader, self._order = os.pipe()
        try:
            detach(entry, [reader, self._report.fd, stdin, *loopback])
        except BaseException:
            self.close()
            raise
        finally:
            os.close(reader)
            self._report.listen()

    def start(self, root: str, order: "Order") -> "Started":
        """Return it its order, for a store in this folder; `Started.begin` waits until it is carried out."""
        try:
            send_order(self._order, (root, order.fields()))
        except OSError:
            pass  # it is gone, and we hear so
        finally:
            os.close(self._order)
            self._order = -1
        return Started(root, self._report)

    def close(self) -> None:
        """Let it go without an order; harmless when repeated, and after one."""
        if self._order >= 0:
            os.close(self._order)
            self._order = -1
            self._report.close()


def send_order(fd: int, order: "tuple[object, ...]") -> None:
    """Write a whole order for a supervisor to take."""
    request = dumps(order)  # type: ignore[arg-type]  # of what can be sent, all the way down
    frame = memoryview(len(request).to_bytes(8, "little") + request)
    while frame:
        frame = frame[os.write(fd, frame) :]


def take_order(fd: int) -> "Any":
    """Read the whole order; None if it never comes."""
    data = b""
    while len(data) < 8 or len(data) - 8 < int.from_bytes(data[:8], "little"):
        more = os.read(fd, 1 << 16)
        if not more:
            return None
        data += more
    return loads(data[8:])


class Started:
    """A job that has been ordered, and our ear at its supervisor."""

    __slots__ = ("_heard", "_report", "_root", "ended", "held", "hung_up", "id", "ready", "started")

    def __init__(self, root: str, report: "Report") -> None:
        self._root = root
        self._report = report
        self._heard = b""
        self.id = ""
        self.held = False
        """Whether the command waits for something before it may start."""
        self.started = False
        """Whether the command has been said to run."""
        self.ready = False
        """Whether the job has been said to be ready."""
        self.ended = False
        self.hung_up = False
        """Whether the supervisor is gone without having reported an end."""

    def begin(self) -> None:
        """Wait until the command runs or is held, or the record says why not; raise if there is no job."""
        self.hear_of(lambda: self.started or self.held)
        if not self.id:
            self._report.close()
            if not self.hung_up:
                raise errors.LaunchFailed(
                    f"the supervisor has made no job within {_PATIENCE:g} s, and may yet; "
                    "`agent-exec list --all` shows it if it does"
                )
            raise errors.LaunchFailed("the supervisor of the job went away before there was a job; try again")

    def hear_of(self, known: "Callable[[], object]") -> None:
        """Listen until something is known or the end has come, for as long as a supervisor may take."""
        deadline = monotonic() + _PATIENCE
        while not (known() or self.ended or self.hung_up) and (left := deadline - monotonic()) > 0:
            self._hear(left)

    def wait(
        self, seconds: float | None, cancel: "Cancel | None" = None, *, until_ready: bool = False
    ) -> None:
        """Wait until the job has ended with its output complete, or is ready, for at most so long."""
        deadline = None if seconds is None else monotonic() + seconds
        while not (self.ended or self.hung_up or (until_ready and self.ready)) and not (
            cancel is not None and cancel.is_set()
        ):
            left = None if deadline is None else deadline - monotonic()
            if left is not None and left <= 0:
                return
            self._hear(left, cancel)

    def _rouse(self) -> None:
        """Let no command keep its supervisor from telling of it by stopping it."""
        from agent_exec.jobs.store import Store
        from agent_exec.jobs.wait import rouse

        job = Store(self._root).read(self.id)
        if job is not None:
            rouse(job)

    def close(self) -> None:
        """Listen no more; the job goes on."""
        self._report.close()

    def _hear(self, seconds: float | None, cancel: "Cancel | None" = None) -> None:
        """Take what the supervisor tells next."""
        said = self._report.hear(_LONGEST if seconds is None else min(seconds, _LONGEST), cancel)
        if said == b"" and self.id:
            self._rouse()
        if said is None:
            self.hung_up = not self.ended
            return
        *lines, self._heard = (self._heard + said).split(b"\n")
        for line in lines:
            word, _, rest = line.decode().partition(" ")
            if word == JOB:
                self.id = rest
            elif word == HELD:
                self.held = True
            elif word == STARTED:
                self.started = True
            elif word == READY:
                self.ready = True
            elif word == ENDED:
                self.ended = True
            elif word == REFUSED:
                self._report.close()
                raise _error(rest)


def refuse(report: int, error: "errors.AgentExecError") -> None:
    """Report why there is no job."""
    from agent_exec.host import tell
    from agent_exec.model.jsonline import dump

    told = {"code": error.code, "message": error.message, "details": dict(error.details)}
    tell(report, f"{REFUSED} {dump(told)}\n".encode())


def _error(text: str) -> "errors.AgentExecError":
    """Return the error that a supervisor has sent."""
    from agent_exec.model.jsonline import load

    told = load(text)
    kinds = (errors.StoreFailed, errors.InvalidState, errors.JobNotFound, errors.Busy)
    kind = next((kind for kind in kinds if kind.code == told["code"]), errors.LaunchFailed)
    return kind(told["message"], **told["details"])
