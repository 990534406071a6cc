"""Makes a box of a process: namespaces, mounts, no privileges, Landlock, a filter; then it checks itself.

Runs in a small helper process without threads, which is forked once more:
the copy is the first process of the box and serves there, the original waits
for it and ends with it. Whatever fails, nothing is served.
"""

import os
from errno import ENOTSUP

from agent_exec.model.paths import below
from agent_exec.sandbox.linux import covers, devices, mounts, namespaces, privileges, proc, scratch
from agent_exec.sandbox.linux.box_common import (
    SHARED_BYTES,
    SHARED_MEMORY,
    Box,
    ancestors,
    checked,
    give_up,
    leave_devices,
    limit,
    private_folders,
)
from agent_exec.sandbox.setup_steps import At

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Sequence
    from typing import Any

    Spec = dict[str, Any]
else:
    import _signal


def confine(spec: "Spec") -> Box:
    """Make a box of this process; return in its copy, as the first process of the box."""
    at = At()
    roots = [(os.fsdecode(path), (device, inode)) for path, device, inode in spec["roots"]]
    private = private_folders(spec)
    with at("namespaces"):
        counts = namespaces.shares()
        _leave_groups()
        namespaces.unshare_all(network=not spec["net"])
    _mount(spec, roots, private, at)
    with at("the network"):
        if not spec["net"]:
            namespaces.loopback_up()
    with at("its first process"):
        pid = os.fork()
        if pid:
            _wait(pid)
        privileges.die_with_parent(0)
    _limit(spec, counts, at)
    return checked(spec, private, at, give_up(spec, private, at))


def _leave_groups() -> None:
    """Have no rights by further groups; who may not leave them, as an ordinary user, keeps their rights."""
    if os.geteuid() == 0:
        try:
            os.setgroups([])
        except PermissionError:
            return  # root of a namespace only, where groups cannot be changed


def _mount(
    spec: "Spec", roots: "Sequence[tuple[str, tuple[int, int]]]", private: "Sequence[str]", at: At
) -> None:
    """Rebuild what is to be seen; the order is what makes it hold."""
    protected = [(os.fsdecode(path), (device, inode)) for path, device, inode in spec["protected"]]
    with at("a mount tree of its own"):
        mounts.make_private()
    with at("the roots"):
        trees = [(path, mounts.clone(path, identity=identity)) for path, identity in roots]
        hidden = [os.fsdecode(path) for path in spec["masks"]]
        for path in ancestors([*hidden, *(path for path, _ in protected)], [path for path, _ in roots]):
            mounts.pin(path)
        covered = covers.open_tops(spec["view"])
    with at("everything read-only"):
        mounts.harden("/")
        mounts.seal("/")
    with at("a private /tmp"):
        folders = scratch.make_folders([*private, SHARED_MEMORY], (spec["tmp_mb"] << 20) or SHARED_BYTES)
        for folder in private:
            mounts.attach(folders[folder], folder)
    with at("home folders"):
        covers.put_up(covered)
    with at("the roots"):
        for path, tree in trees:
            (mounts.harden if spec["writable"] else mounts.seal)(tree)
            if below(path, private):
                mounts.make_folder(path)
            mounts.attach(tree, path)
    with at("protected paths"):
        for path, identity in protected:  # one after the other: there may be more than descriptors
            mounts.protect(path, identity=identity)
    with at("a private /dev"):
        devices.private_devices(shared_memory=folders[SHARED_MEMORY])
        leave_devices()
    with at("masks"):
        wanted = [*mounts.SYSTEM_MASKS, *(os.fsdecode(path) for path in spec["masks"])]
        mounts.mask(path for path in wanted if os.path.lexists(path))


def _limit(spec: "Spec", counts: "dict[str, int]", at: At) -> None:
    """Bound what the box can use, and see only its own processes."""
    with at("a private /proc"):
        proc.private_proc()
    with at("limits"):
        processes = None
        try:
            if spec["procs"]:
                namespaces.limit_pids(spec["procs"])
        except OSError as error:
            if error.errno != ENOTSUP:
                raise
            processes = spec["procs"]
        namespaces.limit_counts(counts)
        if not spec["net"]:
            namespaces.forget_connections()
        privileges.end_first()
        proc.seal_proc()
        limit(spec, processes)


def _wait(pid: int) -> None:
    """Be nothing but the parent of a box, continue it when somebody stops it, and go when it goes."""
    _signal.set_wakeup_fd(-1)
    os.closerange(3, 1 << 20)
    try:
        while os.WIFSTOPPED(os.waitpid(pid, os.WUNTRACED)[1]):
            os.kill(pid, _signal.SIGCONT)
    finally:
        os._exit(0)
