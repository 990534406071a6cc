"""The toolsets of a server: their settings, how each is opened by its name, and all of them as one."""

import os
import threading

from agent_exec.host import close_loopback
from agent_exec.model.errors import AgentExecError, InvalidArgument, NothingConfines
from agent_exec.model.value import Value
from agent_exec.places import here, inbox_place
from agent_exec.requests.opening import IN_FORCE
from agent_exec.tools.define import confined, listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from agent_exec.model.cancel import Cancel
    from agent_exec.requests.arguments import Rules
    from agent_exec.requests.gate import Gate
    from agent_exec.requests.inbox import Inbox
    from agent_exec.sandbox.profile import Profile
    from agent_exec.tools.tool import Call, Result, Toolset

MAX_WAIT = 55.0
"""How long a call may wait, in seconds: clients are known to give up after a minute."""

APPROVALS = ("auto", "inbox", "client", "off")
"""Where questions are asked: at the client, and in the approval inbox while a program shows that to a person;
in the inbox in any case; at the client alone; nowhere."""

MOST = 100
"""How many roots a client may have: a sandbox is made of all of them, for each command."""

_TELLING = ("session", "oneshot")
"""Toolsets whose instructions say where commands run."""
_PATIENCE = 0.05
"""How many seconds the start of a server waits for the survey of its workspace, if boxes can be made."""
_NONE = (
    "The sandbox {name} is in force, but none works on this machine: {why}. Every command is refused: {way}."
)
_FAILED = "The sandbox {name} could not be made at the start, and is tried again for each command: {why}"


def is_wide(folder: str) -> bool:
    """Return True if a folder is or holds the home folder, which no sandbox makes writable."""
    from agent_exec.model.paths import inside

    return inside(os.path.realpath(os.path.expanduser("~")), os.path.realpath(folder))


def _new_loopback() -> str:
    return os.urandom(16).hex()


class Settings(Value):
    """The settings of a toolset."""

    sandbox: "Profile"
    """The profile of every command; full-access, which confines nothing, only if the user named it."""
    workspaces: tuple[str, ...] = ()
    """The real paths of the folders that were named, or that the client has named; none: the current one."""
    follows: bool = True
    """True if the sandbox's roots follow the workspaces."""
    note: str = ""
    """A further note to models."""
    warning: "Callable[[], str]" = str
    """Returns a warning to people about the start, or an empty text: it may come late."""
    rules: "Rules" = IN_FORCE
    """The rules that judge commands."""
    own: tuple[str, ...] = ()
    """Files that no confined command may change."""
    jobs: str | None = None
    """The folder of jobs."""
    approvals: str = "auto"
    """Where questions are asked, one of `APPROVALS`."""
    approval_timeout: float | None = None
    """How many seconds a question waits in the approval inbox; None is the default."""
    max_wait: float = MAX_WAIT
    until: float | None = None
    """How long a call waits by default, in seconds; None is each tool's own default."""
    output_schemas: bool = False
    """True if tools have output schemas, and so answers objects beside their texts."""

    def with_loopback(self, name: str) -> "Settings":
        """Return the same whose boxes share this loopback network."""
        return self.replace(sandbox=self.sandbox.replace(loopback=name))

    def apart(self) -> "Settings":
        """Return the same for another client or workspace: with another loopback, if boxes share one."""
        return self.with_loopback(_new_loopback()) if self.sandbox.loopback else self

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
        return self.replace(workspaces=workspaces, sandbox=sandbox).apart().checked()

    def checked(self) -> "Settings":
        """Return the same, if no command may write to the files that say what it may do; raise otherwise."""
        from agent_exec.requests.leaving import keep_out

        keep_out(self.own, self.sandbox)
        return self

    def gate(self) -> "Gate":
        """Return the gate that commands pass; the client and the approval inbox are asked."""
        from agent_exec.apps.mcp.call import Client
        from agent_exec.requests.opening import open_gate

        return open_gate(self.rules, approver=Client(self.approvals))

    def inbox(self, server: str, cancel: "Callable[[], Cancel | None]" = lambda: None) -> "Inbox | None":
        """Return the approver that asks through the approval inbox; None if that is not to be asked."""
        if self.approvals in ("client", "off"):
            return None
        from agent_exec.requests.inbox import TIMEOUT, Inbox

        watched = self.approvals == "auto"
        timeout = TIMEOUT if self.approval_timeout is None else self.approval_timeout
        return Inbox(timeout, watched=watched, server=server, cancel=cancel)


def _jobs(settings: Settings) -> "Toolset":
    from agent_exec.faces.jobtools.tools import JobTools
    from agent_exec.faces.verbs import Jobs
    from agent_exec.jobs.store import jobs_store

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
    from agent_exec.tools.tool import PATIENCE

    return open_tools(
        workspace=settings.roots[0],
        roots=settings.roots,
        sandbox=settings.sandbox,
        gate=settings.gate(),
        terms=Terms(
            background_max_ms=min(MOST_POLL_MS, int(settings.max_wait * 1000)),
            brief=True,
            patience_ms=int((PATIENCE if settings.until is None else settings.until) * 1000),
        ),
        own=settings.own,
        jobs=settings.jobs,
        longest=settings.max_wait,
        share="mcp",
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
"""How each is opened."""

LEAN = "lean"
"""The default: the tools of `LEAN_PARTS` that nothing else can stand in for."""
LEAN_PARTS = ("session", "jobs")
_LEFT_OUT = ("status", "list_sessions", "resize", "close_stdin", "detach")
_UNLISTED = ("after", "restart")
"""Arguments that the lean `run` takes, and does not name."""

SHARES = "jobs"
"""The one that may be there together with another."""


def check_names(names: "Sequence[str]") -> None:
    """Refuse a name that no toolset has, and toolsets that cannot be there together."""
    if list(names) == [LEAN]:
        return
    for name in names:
        if name == LEAN:
            raise InvalidArgument(f"{LEAN} cannot be joined by others; it has tools of jobs and of session")
        if name not in TOOLSETS:
            raise InvalidArgument(f"there is no toolset {name!r}; there are {LEAN}, {', '.join(TOOLSETS)}")
    if len(set(names)) < len(names):
        raise InvalidArgument(f"the toolset {max(names, key=names.count)!r} is named twice; name it once")
    others = [name for name in names if name != SHARES]
    if len(others) > 1:
        raise InvalidArgument(
            f"{others[0]} and {others[1]} cannot be served together, for tools of theirs share names; "
            f"{SHARES} may be joined by one of {', '.join(name for name in TOOLSETS if name != SHARES)}"
        )


def _without_unlisted(tool: "dict[str, Any]") -> "dict[str, Any]":
    """Return the definition of a tool without the arguments that few calls need."""
    schema = tool["parameters"]
    fields = {name: field for name, field in schema["properties"].items() if name not in _UNLISTED}
    return {**tool, "parameters": {**schema, "properties": fields}}


class Offer:
    """A Toolset made of those that were asked for.

    Where no workspace was named, it is the current directory, until the
    client has been asked for its roots: `settle` says what came of that.
    """

    def __init__(self, names: "Sequence[str]", settings: Settings) -> None:
        check_names(names)
        self.name = "+".join(names)
        self._lean = LEAN in names
        self._names = LEAN_PARTS if self._lean else tuple(names)
        self._settings = settings
        self.wants_roots = not settings.workspaces
        """True if the client's roots must be asked for before the first call."""
        self.parts, self._by_tool = _open(self._names, settings)

    @property
    def inbox(self) -> "Inbox | None":
        """The approver for persons who are not at the client; None if it cannot be asked now."""
        if self._settings.approvals == "auto" and not os.path.isdir(inbox_place()):
            return None  # no program has shown it yet, and nothing is loaded
        return self._settings.inbox("mcp")

    @property
    def warning(self) -> str:
        """A warning to people about the start, or an empty text; it may come late."""
        return self._settings.warning()

    @property
    def instructions(self) -> str:
        """The text about all tools for a model, and where its commands run."""
        told = [part.instructions for part in self.parts]
        if not any(name in _TELLING for name in self._names):
            told.append(_where(self._settings))
        if self.wants_roots:
            told.append("If the client has roots, they are the workspace instead.")
        return " ".join((*told, self._settings.note)).rstrip()

    def definitions(self) -> "list[dict[str, Any]]":
        """Return the definition of each tool, in order."""
        tools = [tool for part in self.parts for tool in part.definitions()]
        if self._lean:
            tools = [_without_unlisted(tool) for tool in tools if tool["name"] not in _LEFT_OUT]
        return tools if self._settings.output_schemas else [listed(tool) for tool in tools]

    def call(self, name: str, arguments: "dict[str, Any]", call: "Call") -> "Result":
        """Call a tool; the lean `list` has the sessions too."""
        answer = self._by_tool[name].call(name, arguments, call)
        if not self._lean or name != "list" or answer.is_error:
            return answer
        sessions = self._by_tool["list_sessions"].call("list_sessions", {}, call)
        listed = (
            f"{answer.text}\n{sessions.text}" if (sessions.structured or {}).get("sessions") else answer.text
        )
        return answer.replace(text=listed)

    def settle(self, roots: "Sequence[str]") -> None:
        """Work in the client's roots from now on, those that are folders; nothing runs yet.

        If that cannot be, all stays as it was, and they are wanted still.
        """
        found = tuple(dict.fromkeys(os.path.realpath(root) for root in roots if os.path.isdir(root)))
        if len(found) > MOST:
            raise InvalidArgument(f"there are {len(found)}, and {MOST} may be; close some of them")
        if found and found != tuple(map(os.path.realpath, self._settings.roots)):
            settings = self._settings.at(found)
            before, (self.parts, self._by_tool) = self.parts, _open(self._names, settings)
            former, self._settings = self._settings, settings
            for part in before:
                part.close()
            close_loopback(former.sandbox.network or "")
        self.wants_roots = False  # last: until now, calls have to wait

    def close(self) -> None:
        """End all that runs, and wait until it is gone."""
        for part in self.parts:
            part.close()
        close_loopback(self._settings.sandbox.network or "")


def _open(names: "Sequence[str]", settings: Settings) -> "tuple[list[Toolset], dict[str, Toolset]]":
    """Return the opened toolsets, and the one of each tool; names of tools differ by `check_names`."""
    opened: list[Toolset] = []
    try:
        opened.extend(TOOLSETS[name](settings) for name in names)
        return opened, {tool["name"]: part for part in opened for tool in part.definitions()}
    except BaseException:
        for part in opened:
            part.close()
        raise


def _where(settings: Settings) -> str:
    first, *others = settings.roots
    more = f" (or {', '.join(others)}, where that is named)" if others else ""
    return f"Commands run in the workspace {first}{more}, and nowhere else; {confined(settings.sandbox)}"


class Trial(threading.Thread):
    """Makes a box of some settings while the server starts, so that people hear at once if none works.

    The settings keep their sandbox in any case: a server runs nothing
    unconfined unless it was started with full-access.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(name="agent-exec sandbox", daemon=True)
        self._warning = ""
        self._settings = settings.with_loopback(_new_loopback()).replace(warning=lambda: self._warning)
        self._given = threading.Lock()
        self._surveyed = threading.Event()

    def settings(self) -> Settings:
        """Return the settings of one more client, with a warning if no box could be made.

        The trial is waited for, but not for long if only the survey of a large
        workspace takes its time, and the best sandbox works: the first command
        waits for that. No two settings have the same loopback; the first has that of the box that was made.
        """
        if self._surveyed.wait(_PATIENCE) or not self._confines():
            self.join()
        return self._settings if self._given.acquire(blocking=False) else self._settings.apart()

    @staticmethod
    def _confines() -> bool:
        """True if the backend whose boxes share a loopback makes the smallest box."""
        from agent_exec.engine.engine import shared_spawner
        from agent_exec.sandbox.backends import NS
        from agent_exec.sandbox.sandbox import shared_sandbox

        sandbox = shared_sandbox()
        try:
            return sandbox.candidates()[:1] == (NS,) and not sandbox.probe(NS, shared_spawner())
        except AgentExecError:
            return False

    def run(self) -> None:
        """Make a box."""
        from agent_exec.apps.mcp.notices import UNAVAILABLE, on_stderr
        from agent_exec.engine.engine import shared_spawner
        from agent_exec.sandbox.plan.ours import ours
        from agent_exec.sandbox.sandbox import shared_sandbox

        settings = self._settings
        name, note = settings.sandbox.name, settings.note
        try:
            known = ours(settings.own, settings.hidden)
            sandbox, spawner = shared_sandbox(), shared_spawner()
            spawner.start_helpers()
            try:
                plan = sandbox.look(settings.sandbox, known)
            finally:
                self._surveyed.set()
                spawner.await_helpers()
            if not sandbox.plan(plan, spawner, known).loopback:
                self._settings = settings.with_loopback("")
            return
        except NothingConfines as error:
            warning = _NONE.format(name=name, why=error.details["reasons"], way=UNAVAILABLE)
            note = f"{note} {warning}".lstrip()
        except (AgentExecError, OSError) as error:
            warning = _FAILED.format(name=name, why=error)
        self._settings = settings.replace(note=note)
        self._warning = warning
        on_stderr(warning)
