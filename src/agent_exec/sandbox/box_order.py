"""The order to be a box for a plan, as a helper process carries it out."""

import os
from errno import EAGAIN

from agent_exec.model.box_spec import Box
from agent_exec.model.digest import sha256
from agent_exec.sandbox.backends import backend
from agent_exec.sandbox.setup_steps import STEPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_exec.model.box_spec import Server
    from agent_exec.sandbox.plan.plan import Plan


def new_order(plan: "Plan", tokens: "dict[str, str]") -> Box:
    """Return the order to be a box for a plan; `tokens` open the proxies, by the digests of boxes."""
    from marshal import dumps

    profile = plan.profile
    limits = profile.limits
    hosts = () if isinstance(profile.net, str) else profile.net
    chosen = backend(plan.backend)
    held = {path for path, _ in plan.held}
    spec: dict[str, object] = {
        "roots": [(os.fsencode(root.path), root.device, root.inode) for root in plan.roots or plan.visible],
        "writable": profile.name == "workspace-write",
        "protected": [
            (os.fsencode(path), *known) for path, known in zip(plan.protected, plan.identities, strict=True)
        ],
        "masks": [os.fsencode(path) for path in plan.masks if path in held],
        "view": [(kind, os.fsencode(path), os.fsencode(extra)) for kind, path, extra in plan.view],
        "own": [os.fsencode(os.path.realpath(path)) for path in plan.own],
        "tmp_mb": profile.tmp_mb if profile.tmp == "private" else 0,
        "net": profile.net == "on",
        "listen": bool(hosts),
        "procs": limits.procs,
        "cpu": limits.cpu,
        "memory": None if limits.memory_mb is None else limits.memory_mb << 20,
        "file": None if limits.file_mb is None else limits.file_mb << 20,
        "open_files": limits.open_files,
        "reuse": profile.reuse,
    }
    digest = sha256(dumps((chosen.name, hosts, sorted(spec.items())))).hexdigest()
    return Box(
        digest,
        chosen.entry,
        spec,
        STEPS,
        _way_out(hosts, tokens.setdefault(digest, os.urandom(16).hex())) if hosts else None,
        own_pids=chosen.own_pids,
        reuse=profile.reuse,
    )


def _way_out(hosts: "Sequence[str]", token: str) -> "Callable[[int], Server]":
    """Return what serves the listener of a box: a proxy to these hosts and no others."""

    def serve(fd: int) -> "Server":
        from agent_exec.sandbox.proxy import server

        try:
            return server.serve(fd, hosts, token)
        except RuntimeError as error:  # no thread can be had
            raise OSError(EAGAIN, str(error)) from error

    return serve
