"""What a server serves: the jobs, sessions and one-shot commands of its workspaces, behind one gate."""

import os
from typing import TYPE_CHECKING, Any

from agent_exec.apps.serve.operation import current
from agent_exec.faces.oneshot.kit import create_agent_toolkit
from agent_exec.faces.session.tools import open_tools
from agent_exec.faces.verbs import Jobs
from agent_exec.host import close_loopback
from agent_exec.jobs.store import jobs_store
from agent_exec.model.errors import InvalidArgument, InvalidState, JobNotFound
from agent_exec.requests.dispatch import Dispatcher
from agent_exec.requests.folders import Workspace
from agent_exec.requests.opening import open_gate
from agent_exec.sandbox.profile import NAMES
from agent_exec.tools.define import reads_only

if TYPE_CHECKING:
    from agent_exec.apps.mcp.toolset import Settings
    from agent_exec.apps.serve.preview import Previews
    from agent_exec.sandbox.profile import Profile


class Service:
    """All that requests act on; any thread may use it."""

    def __init__(self, settings: "Settings", *, all_jobs: bool = False) -> None:
        self.settings = settings
        self.previews: Previews | None = None
        """What shows the ports of jobs; None if the server does not."""
        self.all_jobs = all_jobs
        """True if jobs are in reach whose folders lie outside of the workspaces."""
        self.workspace = Workspace(*settings.roots)
        self.gate = gate = open_gate(settings.rules, approver=settings.inbox("serve", current.get))
        self.dispatcher = Dispatcher(
            gate=gate, sandbox=settings.sandbox, own=settings.own, hidden=settings.hidden
        )
        self.jobs = Jobs(jobs_store(settings.jobs), gate, own=settings.own)
        self.sessions = open_tools(
            workspace=settings.roots[0],
            roots=settings.roots,
            sandbox=settings.sandbox,
            gate=gate,
            own=settings.own,
            jobs=settings.jobs,
            share="serve",
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

    def hidden(self) -> tuple[str, ...]:
        """Return the paths that no request may read or write: our own, and those hidden from commands."""
        plan, folders = self.dispatcher.plan(), self.dispatcher.ours.folders
        if plan is not None:
            return (*plan.masks, *plan.absent, *folders)
        return (*folders, *(path for path in self.settings.sandbox.deny_read if os.path.isabs(path)))

    @property
    def confines(self) -> bool:
        """True if what requests start is confined."""
        return self.settings.sandbox.name != "full-access"

    def within(self, folder: str) -> bool:
        """True if jobs that run in a folder are in reach."""
        return self.all_jobs or self.workspace.holds(folder)

    def job(self, named: str) -> str:
        """Return the whole id of a job; raise JobNotFound if there is none in reach."""
        whole, cwd = self.jobs.locate(named)
        if not self.within(cwd):
            raise JobNotFound(
                f"job {named} runs in {cwd}, outside of the workspaces {', '.join(self.workspace.roots)}; "
                "have the server started with --workspace for that folder, or with --all-jobs",
                job_id=named,
            )
        return whole

    def reaches(self, job_id: str) -> bool:
        """True if a job is in reach; one that is not there any more only if all are."""
        if self.all_jobs:
            return True
        try:
            return bool(self.job(job_id))
        except JobNotFound:
            return False

    def check_attempt(self, job_id: str) -> None:
        """Raise InvalidState for a job that must not be started again from here.

        A confining server starts nothing that is confined otherwise than what it starts itself.
        """
        from agent_exec.jobs.restart import profile_of

        if not self.confines:
            return
        found = profile_of(self.jobs.store.find(job_id))
        allowed = [profile.digest for name in self.sandboxes if (profile := self.profile(name)) is not None]
        if found is None or found.digest not in allowed:
            raise InvalidState(
                f"job {job_id} is confined otherwise than this server's own jobs, and cannot be started "
                f"again from here; use `agent-exec restart {job_id}`",
                job_id=job_id,
            )

    @property
    def sandboxes(self) -> tuple[str, ...]:
        """The names of the profiles that a request may ask for."""
        return NAMES[: NAMES.index(self.settings.sandbox.name) + 1]

    def profile(self, name: str | None) -> "Profile | None":
        """Return the profile of a job: the server's own, or a stricter one that a request names.

        None confines nothing.
        """
        own = self.settings.sandbox
        wanted = own.name if name is None else name
        if wanted not in self.sandboxes:
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
                "sandboxes": list(self.sandboxes),
                "all_jobs": self.all_jobs,
                "preview_port": None if self.previews is None else self.previews.port,
                "root": self.jobs.root,
                "warning": self.settings.warning(),
            },
        )

    def close(self) -> None:
        """End all sessions and one-shot commands, and wait until they are gone; jobs go on."""
        self.sessions.close()
        self.kit.close()
        self.dispatcher.close()
        close_loopback(self.settings.sandbox.network or "")
