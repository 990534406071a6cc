"""What a toolset is to the server, and how one is opened by its name."""

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from agent_exec.model.errors import InvalidArgument

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.sandbox.profile import Profile


class Settings(NamedTuple):
    """What a toolset is opened with."""

    workspace: str | None = None
    """The real path of the folder that was named, if one was."""
    sandbox: "Profile | None" = None
    rules: str | None = None
    """The file of rules that judge commands, if there is one."""
    approval: str | None = None
    """When somebody is asked, if the environment says so."""
    own: tuple[str, ...] = ()
    """Files that no confined command may change."""
    jobs: str | None = None
    """The folder of the jobs that sessions can become."""


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


class Cancelled(Protocol):
    """Whether the caller has lost interest, as a threading.Event tells it."""

    def is_set(self) -> bool:
        """Tell whether it has."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has, or until the time is over."""


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

    def call(self, name: str, arguments: dict[str, Any], cancelled: Cancelled, /) -> Answer:
        """Do what a tool does, in a thread of the caller's; many of them call at once.

        What is raised becomes an error: an AgentExecError with its code and
        message, all else as one of ours. Nobody hears the answer of a call
        that was cancelled; it should come soon.
        """

    def close(self) -> None:
        """End all that runs, and wait until it is gone; calls that still wait should come back."""


def _oneshot(settings: Settings) -> Toolset:
    from agent_exec.apps.mcp.oneshot import Oneshot

    return Oneshot(settings)


def _session(settings: Settings) -> Toolset:
    from agent_exec.faces.session.tools import open_tools

    return open_tools(
        workspace=settings.workspace,
        sandbox=settings.sandbox,
        rules=settings.rules,
        approval_policy=settings.approval,
        own=settings.own,
        jobs=settings.jobs,
    )


TOOLSETS: "dict[str, Callable[[Settings], Toolset]]" = {"session": _session, "oneshot": _oneshot}
"""How each is opened; the first is the default."""


def check_name(name: str) -> None:
    """Refuse a name that no toolset has."""
    if name not in TOOLSETS:
        raise InvalidArgument(f"there is no toolset {name!r}; there are {', '.join(TOOLSETS)}")


def open_toolset(name: str, settings: Settings) -> Toolset:
    """Give the toolset of this name, ready to be called; raises an AgentExecError if it cannot be."""
    check_name(name)
    return TOOLSETS[name](settings)
