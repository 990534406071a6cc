"""What a toolset is to the server, and how one is opened by its name."""

import os
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from agent_exec.model.errors import InvalidArgument
from agent_exec.places import here
from agent_exec.requests.opening import IN_FORCE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_exec.apps.mcp.call import Call
    from agent_exec.requests.gate import Gate
    from agent_exec.requests.opening import Rules
    from agent_exec.sandbox.profile import Profile

MAX_WAIT = 55.0
"""How long a call may wait, in seconds: clients are known to give up after a minute."""


def is_wide(folder: str) -> bool:
    """Whether a folder is or holds the home folder, which no sandbox lets commands change."""
    from agent_exec.model.paths import inside

    return inside(os.path.realpath(os.path.expanduser("~")), os.path.realpath(folder))


class Settings(NamedTuple):
    """What a toolset is opened with."""

    sandbox: "Profile"
    """What confines every command; full-access, which confines none, only if the user has named it."""
    workspaces: tuple[str, ...] = ()
    """The real paths of the folders that were named, or that the client has named; none: the current one."""
    follows: bool = True
    """Whether the sandbox's roots are the workspaces, whichever they are."""
    note: str = ""
    """What models are told besides."""
    warning: str = ""
    """What people are told of the start."""
    rules: "Rules" = IN_FORCE
    """The rules that judge commands."""
    own: tuple[str, ...] = ()
    """Files that no confined command may change."""
    jobs: str | None = None
    """The folder of jobs."""
    max_wait: float = MAX_WAIT
    until: float | None = None
    """How long `run` and `wait` wait if they are not told, if that is not their own."""

    @property
    def hidden(self) -> tuple[str, ...]:
        """Folders that no confined command may see, beside those that every box hides."""
        return () if self.jobs is None else (self.jobs,)

    @property
    def roots(self) -> tuple[str, ...]:
        """The folders that commands run in; the first is where they start."""
        return self.workspaces or (here(),)

    @property
    def reads_only(self) -> bool:
        """Whether no command can change anything."""
        return self.sandbox.name == "read-only"

    @property
    def open_world(self) -> bool:
        """Whether a command may reach a network."""
        return self.sandbox.name == "full-access" or self.sandbox.net != "off"

    def at(self, workspaces: tuple[str, ...]) -> "Settings":
        """Give the same for other folders; one that no sandbox gives away can be read there, not written."""
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
        """Give the gate that commands pass; the client is asked."""
        from agent_exec.apps.mcp.call import Client
        from agent_exec.requests.opening import open_gate

        return open_gate(self.rules, approver=Client())


class Answer(Protocol):
    """What a call gives: a text, the same as an object if there is one, and whether it is an error.

    The object must be as the tool's `output_schema` says, in an error too.
    """

    @property
    def text(self) -> str:
        """What a model reads."""

    @property
    def structured(self) -> dict[str, Any] | None:
        """What a program reads."""

    @property
    def is_error(self) -> bool:
        """Whether the call did not do what was asked."""


class Result(NamedTuple):
    """An Answer of those who have no class of their own for it."""

    text: str
    structured: dict[str, Any] | None = None
    is_error: bool = False


class Toolset(Protocol):
    """The tools of one contract."""

    @property
    def name(self) -> str:
        """Its name on the command line."""

    @property
    def instructions(self) -> str:
        """What a model is told about all of them."""

    def definitions(self) -> list[dict[str, Any]]:
        """Give what a model is told about each, in order.

        Keys: name, description, parameters (a JSON Schema); and if there are
        any: title, output_schema, annotations (read_only_hint,
        destructive_hint, idempotent_hint, open_world_hint).
        """

    def call(self, name: str, arguments: dict[str, Any], call: "Call", /) -> Answer:
        """Do what a tool does, in a thread of the caller's; many of them call at once.

        What is raised becomes an error: an AgentExecError with its code and
        message, all else as one of ours. Nobody hears the answer of a call
        that was cancelled; it should come soon.
        """

    def close(self) -> None:
        """End all that runs, and wait until it is gone; calls that still wait should come back."""


def _jobs(settings: Settings) -> Toolset:
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


def _session(settings: Settings) -> Toolset:
    from agent_exec.faces.session.arguments import MOST_POLL_MS, Terms
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


def _oneshot(settings: Settings) -> Toolset:
    from agent_exec.apps.mcp.oneshot import Oneshot

    return Oneshot(settings)


def _executor(settings: Settings) -> Toolset:
    from agent_exec.apps.mcp.executor import Executor

    return Executor(settings)


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
