"""The numbers of the contract, in milliseconds and bytes, and what may be set instead."""

import os
from dataclasses import dataclass

from agent_exec.faces.executor.lists import DEFAULT_LISTS
from agent_exec.model.command import LONGEST
from agent_exec.model.errors import InvalidArgument
from agent_exec.policy.policy import Policy
from agent_exec.requests.dispatch import check_profile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.choices import OnLimit
    from agent_exec.sandbox.profile import Profile

TIMEOUT_MS = 300_000
MAX_CONCURRENT = 3
MAX_OUTPUT_BYTES = 10 * 1024 * 1024
KILL_TIMEOUT_MS = 10_000
ON_LIMIT = ("raise", "queue")


@dataclass(frozen=True, slots=True)
class CommandExecutorConfig:
    """The terms on which an executor runs commands; every one has a default.

    `timeout` is how long a command may run, and `kill_timeout` how long it
    has between the polite signal and the forced one, in milliseconds;
    `timeout` 0 or None is the default. `max_output_bytes` is for each of the
    two streams. `on_limit` says what becomes of a command beyond
    `max_concurrent`: "raise" refuses it, "queue" lets it wait its turn.
    `workspace_root` is the folder that no `cwd` may lead out of, and the
    default one. `policy` are the lists of commands. `argument_guards` refuses
    arguments too that make an allowed program run others. `sandbox` is the
    profile by which the kernel confines every command; `own` are files of
    yours that none may change then, and `hidden` folders that none may see.
    """

    timeout: float | None = TIMEOUT_MS
    max_concurrent: int = MAX_CONCURRENT
    max_output_bytes: int = MAX_OUTPUT_BYTES
    kill_timeout: float = KILL_TIMEOUT_MS
    workspace_root: "str | os.PathLike[str] | None" = None
    on_limit: "OnLimit" = "raise"
    policy: Policy = DEFAULT_LISTS
    argument_guards: bool = False
    sandbox: "Profile | None" = None
    own: "tuple[str, ...]" = ()
    hidden: "tuple[str, ...]" = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "timeout", milliseconds("timeout", self.timeout) or TIMEOUT_MS)
        if self.kill_timeout is None:
            raise InvalidArgument("kill_timeout must be a number of milliseconds; got None")
        milliseconds("kill_timeout", self.kill_timeout)
        _count("max_concurrent", self.max_concurrent, least=1)
        _count("max_output_bytes", self.max_output_bytes, least=0)
        if self.workspace_root is not None:
            root = os.fspath(self.workspace_root)
            if not isinstance(root, str) or not root or "\0" in root:
                raise InvalidArgument(f"workspace_root must be the path of a folder; got {root!r}")
        if self.on_limit not in ON_LIMIT:
            raise InvalidArgument(f"on_limit must be one of {', '.join(ON_LIMIT)}; got {self.on_limit!r}")
        if not isinstance(self.policy, Policy):
            raise InvalidArgument(
                f"policy must be a Policy, such as CommandLists(whitelist=…); got {self.policy!r}"
            )
        check_profile(self.sandbox)


def milliseconds(name: str, value: object) -> float:
    """Return a time; None is 0. Refuse what is not a finite, sane number of milliseconds."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidArgument(f"{name} must be a number of milliseconds; got {value!r}")
    if not 0 <= value <= LONGEST * 1000:
        raise InvalidArgument(
            f"{name} must be between 0 and {LONGEST * 1000:.0f} milliseconds; got {value!r}"
        )
    return value


def _count(name: str, value: object, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidArgument(f"{name} must be a whole number, {least} or more; got {value!r}")
