"""What a server serves: the jobs, sessions and one-shot commands of its workspaces, behind one gate."""

import os
from typing import TYPE_CHECKING, Any

from agent_exec.faces.oneshot.kit import create_agent_toolkit
from agent_exec.faces.session.tools import open_tools
from agent_exec.faces.verbs import Jobs
from agent_exec.host import close_loopback
from agent_exec.jobs.store import jobs_store
from agent_exec.model.errors import InvalidArgument
from agent_exec.requests.folders import Workspace
from agent_exec.requests.opening import open_gate
from agent_exec.sandbox.profile import NAMES
from agent_exec.tools.define import reads_only

if TYPE_CHECKING:
    from agent_exec.apps.mcp.toolset import Settings
    from agent_exec.requests.arguments import Approver
    from agent_exec.sandbox.profile import Profile


class Service:
    """All that requests act on; any thread may use it."""

    def __init__(self, settings: "Settings", approver: "Approver | None" = None) -> None:
        self.settings = settings
        self.workspace = Workspace(*settings.roots)
        gate = open_gate(settings.rules, approver=approver)
        self.jobs = Jobs(jobs_store(settings.jobs), gate, own=settings.own)
        self.sessions = open_tools(
            workspace=settings.roots[0],
            roots=settings.roots,
            sandbox=settings.sandbox,
            gate=gate,
            own=settings.own,
            jobs=settings.jobs,
        )
        self.kit = create_agent_toolkit(
            settings.roots[0],
            {"default_policy": "allow"},
            "read-only" if reads_only(settings.sandbox) else "workspace-write",
            gate=gate,
            sandbox=settings.sandbox,
            own=settings.own,
            hidden=settings.hidden,
            roots=settings.roots[1:],
        )

    def folder(self, given: "dict[str, Any]") -> str:
        """Return the real folder that a request names, by default the workspace's; it lies in a workspace."""
        return self.workspace.resolve(given.get("cwd") or ".", "cwd")

    def profile(self, name: str | None) -> "Profile | None":
        """Return the profile of a job: the server's own, or a stricter one that a request names.

        None confines nothing.
        """
        own = self.settings.sandbox
        wanted = own.name if name is None else name
        if NAMES.index(wanted) > NAMES.index(own.name):
            raise InvalidArgument(
                f"sandbox {wanted!r} is weaker than the server's own, {own.name!r}; leave it out, or have "
                f"the server started with --sandbox {wanted}",
                field="sandbox",
            )
        if wanted == "full-access":
            return None
        return own if wanted == own.name else own.replace(name=wanted, roots=self.settings.roots)

    def about(self) -> "dict[str, Any]":
        """Return what a client may want to know of the server."""
        from agent_exec.faces.answers import answer
        from agent_exec.version import __version__

        return answer(
            "serve_info",
            {
                "version": __version__,
                "pid": os.getpid(),
                "workspaces": list(self.settings.roots),
                "sandbox": self.settings.sandbox.name,
                "sandboxes": list(NAMES[: NAMES.index(self.settings.sandbox.name) + 1]),
                "root": self.jobs.root,
                "warning": self.settings.warning(),
            },
        )

    def close(self) -> None:
        """End all sessions and one-shot commands, and wait until they are gone; jobs go on."""
        self.sessions.close()
        self.kit.close()
        close_loopback(self.settings.sandbox.network or "")
