"""What a profile comes to on this machine now: every path real, every mask and protection decided."""

import os
import stat

from agent_exec.model.errors import InvalidArgument, PlanFailed
from agent_exec.model.paths import inside
from agent_exec.model.value import Value
from agent_exec.sandbox.closing import Closing
from agent_exec.sandbox.plan.ours import Confining, Ours, own_paths
from agent_exec.sandbox.plan.paths import FOLDER, above_all, identity, outermost, settle
from agent_exec.sandbox.plan.protections import Protections, find_protections
from agent_exec.sandbox.plan.reading import Reader
from agent_exec.sandbox.plan.survey import BOUND, Surveyor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from agent_exec.sandbox.plan.homes import View
    from agent_exec.sandbox.plan.reading import Reading
    from agent_exec.sandbox.profile import Profile

_KERNEL = ("/dev", "/proc", "/sys")


class Memory:
    """What plans have seen of this machine, kept for the next plan and checked again before each use."""

    __slots__ = ("reader", "surveyor")

    def __init__(self) -> None:
        self.reader = Reader()
        self.surveyor = Surveyor()


class Root(Value):
    """A folder that may be written to, with its identity: a path may become another folder."""

    path: str
    device: int
    inode: int


class Plan(Confining):
    """What a backend carries out.

    `roots` may be written to, but not `protected`, which are real paths below
    them that exist, outer ones first; `identities` are their devices and
    inodes, in the same order. `visible` are not written to, but seen even if
    they lie in a /tmp that is hidden. `masks` are real paths that may not be
    read; `absent` are those that do not exist yet; `view` is how home folders
    and folders with secrets are shown (sandbox/plan/homes.py). `missing` are
    protected paths that do not exist yet, and are looked for afterwards, the
    `sought` ones by their paths, the others by a survey of the roots; `links`
    are protected links and where they lead. `gits` is every `.git` that was
    found below the roots, `obeyed` every other name or folder that programs
    obey. `held` are protected or hidden by mounts of their own, which come off
    when the host replaces them, with their identity; `loose` are folders that
    exist around those absent paths that a box made before them would show, and
    when they last changed. `unenforced` says in words what no backend will enforce.
    `own` and `state` are what it was planned with; `backend` is the name of who
    carries it out, "" until that is chosen.
    """

    profile: "Profile"
    roots: tuple[Root, ...] = ()
    protected: tuple[str, ...] = ()
    identities: tuple[tuple[int, int], ...] = ()
    visible: tuple[Root, ...] = ()
    masks: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    view: "View" = ()
    missing: tuple[str, ...] = ()
    sought: tuple[str, ...] = ()
    gits: tuple[str, ...] = ()
    obeyed: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    held: "tuple[tuple[str, tuple[int, int] | None], ...]" = ()
    loose: tuple[tuple[str, int], ...] = ()
    unenforced: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    backend: str = ""

    def ours(self) -> Ours:
        """Return what it was planned with."""
        return Ours(self.own, self.state)

    @property
    def loopback(self) -> str | None:
        """The network of its boxes, as `Profile.network`; one backend alone has boxes that share one."""
        network = self.profile.network
        return "" if network and self.backend != "ns" else network

    def to_fields(self) -> dict[str, object]:
        """Return all but the profile, in a form that can be sent to another process."""
        fields = {name: getattr(self, name) for name in self.__slots__ if name != "profile"}
        for name in ("roots", "visible"):
            fields[name] = tuple((root.path, root.device, root.inode) for root in fields[name])
        return fields

    @classmethod
    def from_fields(cls, profile: "Profile", fields: "dict[str, Any]") -> "Plan":
        """Return the plan that was sent."""
        roots = {name: tuple(Root(*root) for root in fields[name]) for name in ("roots", "visible")}
        return cls(profile, **(fields | roots))


def make_plan(
    profile: "Profile",
    *,
    home: str,
    state: "Sequence[str]" = (),
    own: "Sequence[str] | None" = None,
    bound: int = BOUND,
    memory: Memory | None = None,
) -> Plan:
    """Return the plan of a profile, or raise which of its paths cannot be kept safe, and why.

    `state` are folders of ours that no command may reach; `own` are paths of
    ours that are protected where they lie in a root, `own_paths()` by default.
    `bound` is how many entries of each root are looked at. `memory` is what
    earlier plans have seen.
    """
    memory = memory or Memory()
    if profile.name == "full-access":
        return Plan(profile, unenforced=("full access: nothing is confined",))
    if not home.startswith("/"):
        raise InvalidArgument(f"the home folder must be an absolute path; got {home!r}")
    home = os.path.realpath(home)
    own = tuple(own_paths() if own is None else own)
    asked = profile.roots
    if profile.tmp == "shared" and profile.name == "workspace-write":
        asked = (*asked, "/tmp")
    named = [_root(path, profile, home, state) for path in asked]
    for path in asked if len(asked) > 1 else ():  # a link in another root leads wherever its writer likes
        settle(path, [os.path.realpath(other) for other in asked if other != path], "roots")
    roots = _outer(named)
    real = [root.path for root in roots]
    reading = memory.reader.find(profile, home=home, roots=real, state=state, own=own_paths(), bound=bound)
    for path in real:
        for mask in reading.masks:
            if inside(path, mask):
                raise InvalidArgument(
                    f"the root {path!r} lies in {mask!r}, which deny_read hides; take one of them away",
                    path=path,
                )
    found = Protections()
    if profile.name == "workspace-write":
        found = find_protections(
            profile,
            real,
            named=list(dict.fromkeys(root.path for root in named)),
            home=home,
            own=own,
            bound=bound,
            surveyor=memory.surveyor,
        )
    for root in named:
        if held := [path for path in found.protected if inside(root.path, path)]:
            raise InvalidArgument(
                f"the root {root.path!r} lies in {held[0]!r}, which is protected; take one of them away",
                path=root.path,
            )
    plan = Plan(
        profile,
        roots=roots if profile.name == "workspace-write" else (),
        visible=roots if profile.name == "read-only" else (),
        protected=found.protected,
        identities=tuple(identity(path) or (0, 0) for path in found.protected),
        masks=reading.masks,
        absent=reading.absent,
        held=_held(found.protected, reading, real),
        loose=_loose(reading.loose),
        view=reading.view,
        missing=found.missing,
        sought=found.sought,
        gits=found.gits,
        obeyed=found.obeyed,
        links=found.links,
        unenforced=(*found.unenforced, *reading.unenforced),
        own=own,
        state=tuple(state),
    )
    if changed := revalidate(plan):
        raise PlanFailed(f"while the box was planned, {changed[0]}; nothing was run. Try again")
    return plan


def revalidate(plan: Plan) -> list[str]:
    """Say in words what is no longer as it was planned; nothing, if a box made from the plan still holds."""
    return [*changed_roots(plan), *changed_protections(plan)]


def changed_roots(plan: Plan) -> list[str]:
    """Return the roots that have vanished or were replaced."""
    found: list[str] = []
    for root in (*plan.roots, *plan.visible):
        try:
            now = _open_root(root.path)
        except InvalidArgument as error:
            found.append(error.message)
            continue
        if now != root:
            found.append(f"the root {root.path!r} is another folder than before")
    return found


def changed_protections(plan: Plan) -> list[str]:
    """Return which protected paths are gone or others now: what a box has mounted there may have come off."""
    found: list[str] = []
    for path, known in zip(plan.protected, plan.identities, strict=True):
        now_there = identity(path)
        if now_there is None:
            found.append(f"the protected {path!r} is gone")
        elif now_there != known or os.path.realpath(path) != path:
            found.append(f"the protected {path!r} was replaced")
    return found


def unmasked(plan: Plan) -> list[str]:
    """Return the paths that may not be read and did not exist: a box made before they did shows them."""
    changed = [folder for folder, known in plan.loose if _changed_at(folder) != known]
    if not changed:
        return []
    return [path for path in plan.absent if inside(path, *changed) and os.path.lexists(path)]


def _loose(folders: "Iterable[str]") -> "tuple[tuple[str, int], ...]":
    """Return those of the folders that exist, or the nearest folder above, and when they last changed."""
    there = {next(filter(os.path.isdir, (folder, *above_all(folder))), "/") for folder in folders}
    return tuple((folder, _changed_at(folder)) for folder in sorted(there))


def _changed_at(folder: str) -> int:
    """Return when a folder was last changed, 0 if it is not there."""
    try:
        return os.lstat(folder).st_ctime_ns
    except OSError:
        return 0


def _held(
    protected: "Sequence[str]", reading: "Reading", roots: "Sequence[str]"
) -> "tuple[tuple[str, tuple[int, int] | None], ...]":
    """Return what a mount of its own protects or hides: the host can take it off by a rename.

    What this user could not read outside of the roots is not hidden once more.
    """
    masks = [mask for mask in reading.bare if inside(mask, *roots) or os.access(mask, os.R_OK)]
    return tuple((path, identity(path)) for path in (*protected, *reading.inner, *masks))


def _root(path: str, profile: "Profile", home: str, state: "Sequence[str]") -> Root:
    """Return a root that is safe to be one, by its real path."""
    root = _open_root(os.path.realpath(path))
    real = root.path
    reason = ""
    if real == "/":
        reason = "it is the whole machine"
    elif inside(real, *_KERNEL):
        reason = "it is the kernel's"
    elif inside(home, real):
        reason = f"it is or holds the home folder {home!r}"
    elif ".git" in real.lower().split("/") or all(
        os.path.lexists(os.path.join(real, name)) for name in ("HEAD", "objects", "refs")
    ):
        reason = "it lies in a repository's own folder"
    elif real == "/tmp" and profile.tmp == "private":
        reason = 'the box has a /tmp of its own; say tmp="shared" to use the machine\'s'
    for folder in map(os.path.realpath, state):
        if inside(real, folder) or (inside(folder, real) and not os.path.isdir(folder)):
            reason = f"agent-exec keeps its own files in {folder!r}"
    if reason:
        raise InvalidArgument(f"{path!r} cannot be a root: {reason}; name a folder of the work", path=path)
    return root


def _open_root(path: str) -> Root:
    try:
        fd = os.open(path, FOLDER)
    except OSError as error:
        raise InvalidArgument(
            f"the root {path!r} is not a folder that can be opened: {error.strerror}", path=path
        ) from None
    with Closing(fd):
        found = os.fstat(fd)
        try:
            real = os.readlink(f"/proc/self/fd/{fd}")
        except OSError:  # no /proc, as on macOS
            real = os.path.realpath(path)
    if not stat.S_ISDIR(found.st_mode) or real != path:
        raise InvalidArgument(f"the root {path!r} is not a folder by its real path", path=path)
    return Root(path, found.st_dev, found.st_ino)


def _outer(roots: list[Root]) -> tuple[Root, ...]:
    """Return roots without those that lie in others: a folder is written to once."""
    kept = outermost(root.path for root in roots)
    return tuple({root.path: root for root in roots if root.path in kept}.values())
