"""How a toolset is opened by its name."""

import os
from typing import TYPE_CHECKING, NamedTuple

from agent_exec.model.errors import InvalidArgument
from agent_exec.places import here
from agent_exec.requests.opening import IN_FORCE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_exec.requests.arguments import Rules
    from agent_exec.requests.gate import Gate
    from agent_exec.sandbox.profile import Profile
    from agent_exec.tools.tool import Toolset

MAX_WAIT = 55.0
"""How long a call may wait, in seconds: clients are known to give up after a minute."""


def is_wide(folder: str) -> bool:
    """Return True if a folder is or holds the home folder, which no sandbox makes writable."""
    from agent_exec.model.paths import inside

    return inside(os.path.realpath(os.path.expanduser("~")), os.path.realpath(folder))


class Settings(NamedTuple):
    """The settings of a toolset."""

    sandbox: "Profile"
    """The profile of every command; full-access, which confines nothing, only if the user named it."""
    workspaces: tuple[str, ...] = ()
    """The real paths of the folders that were named, or that the client has named; none: the current one."""
    follows: bool = True
    """True if the sandbox's roots follow the workspaces."""
    note: str = ""
    """A further note to models."""
    warning: str = ""
    """A warning to people about the start."""
    rules: "Rules" = IN_FORCE
    """The rules that judge commands."""
    own: tuple[str, ...] = ()
    """Files that no confined command may change."""
    jobs: str | None = None
    """The folder of jobs."""
    max_wait: float = MAX_WAIT
    until: float | None = None
    """The default wait of `run` and `wait`; None is their own."""

    @property
    def hidden(self) -> tuple[str, ...]:
        """Folders that no confined command may see, beside those that every box hides."""
        return () if self.jobs is None else (self.jobs,)

    @property
    def roots(self) -> tuple[str, ...]:
        """The folders that commands run in; the first is where they start."""
        return self.workspaces or (here(),)

    def at(self, workspaces: tuple[str, ...]) -> "Settings":
        """Return the same for other folders; one that holds the home folder can be read, not written."""
        sandbox = self.sandbox
        if self.follows:
            sandbox = sandbox.replace(roots=[folder for folder in workspaces if not is_wide(folder)])
        return self._replace(workspaces=workspaces, sandbox=sandbox).checked()

    def checked(self) -> "Settings":
        """Return the same, if no command may write to the files that say what it may do; raise otherwise."""
        from agent_exec.requests.leaving import keep_out

        keep_out(self.own, self.sandbox)
        return self

    def gate(self) -> "Gate":
        """Return the gate that commands pass; the client is asked."""
        from agent_exec.apps.mcp.call import Client
        from agent_exec.requests.opening import open_gate

        return open_gate(self.rules, approver=Client())


def _jobs(settings: Settings) -> "Toolset":
    from agent_exec.faces.jobs import Jobs
    from agent_exec.faces.jobtools.tools import JobTools
    from agent_exec.settings import jobs_store

    return JobTools(
        Jobs(jobs_store(settings.jobs), settings.gate(), own=settings.own),
        settings.roots,
        sandbox=settings.sandbox,
        longest=settings.max_wait,
        usual=settings.until,
    )


def _session(settings: Settings) -> "Toolset":
    from agent_exec.faces.session.definitions import MOST_POLL_MS, Terms
    from agent_exec.faces.session.tools import open_tools

    return open_tools(
        workspace=settings.roots[0],
        roots=settings.roots,
        sandbox=settings.sandbox,
        gate=settings.gate(),
        terms=Terms(background_max_ms=min(MOST_POLL_MS, int(settings.max_wait * 1000))),
        own=settings.own,
        jobs=settings.jobs,
        longest=settings.max_wait,
    )


def _oneshot(settings: Settings) -> "Toolset":
    from agent_exec.faces.oneshot.apply_patch import APPLY_PATCH
    from agent_exec.faces.oneshot.kit import create_agent_toolkit
    from agent_exec.tools.define import reads_only

    return create_agent_toolkit(
        settings.roots[0],
        {"default_policy": "allow"},
        "read-only" if reads_only(settings.sandbox) else "workspace-write",
        gate=settings.gate(),
        sandbox=settings.sandbox,
        tools=[APPLY_PATCH],
        own=settings.own,
        hidden=settings.hidden,
        roots=settings.roots[1:],
        longest=settings.max_wait,
    )


def _executor(settings: Settings) -> "Toolset":
    from agent_exec.faces.executor.config import CommandExecutorConfig
    from agent_exec.faces.executor.executor import CommandExecutor
    from agent_exec.faces.executor.toolhandler import ToolHandler

    longest = settings.max_wait * 1000
    config = CommandExecutorConfig(
        timeout=longest, sandbox=settings.sandbox, own=settings.own, hidden=settings.hidden
    )
    executor = CommandExecutor(config=config, gate=settings.gate())
    return ToolHandler(executor, command_timeout_ms=longest, roots=settings.roots)


TOOLSETS: "dict[str, Callable[[Settings], Toolset]]" = {
    "jobs": _jobs,
    "session": _session,
    "oneshot": _oneshot,
    "executor": _executor,
}
"""How each is opened; the first is the default."""

SHARES = "jobs"
"""The one that may be there together with another."""


def check_names(names: "Sequence[str]") -> None:
    """Refuse a name that no toolset has, and toolsets that cannot be there together."""
    for name in names:
        if name not in TOOLSETS:
            raise InvalidArgument(f"there is no toolset {name!r}; there are {', '.join(TOOLSETS)}")
    if len(set(names)) < len(names):
        raise InvalidArgument(f"the toolset {max(names, key=names.count)!r} is named twice; name it once")
    others = [name for name in names if name != SHARES]
    if len(others) > 1:
        raise InvalidArgument(
            f"{others[0]} and {others[1]} cannot be served together, for tools of theirs share names; "
            f"{SHARES} may be joined by one of {', '.join(name for name in TOOLSETS if name != SHARES)}"
        )
