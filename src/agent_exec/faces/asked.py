"""The type of the arguments of `Jobs.run` and `Jobs.create`, for annotations; loaded only when asked for."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.choices import Leftovers
    from agent_exec.sandbox.profile import Profile


class Asked(TypedDict, total=False):
    """What may be asked of a job, by `Jobs.run` and `Jobs.create`."""

    cwd: str | None
    env: Mapping[str, str] | None
    env_files: Sequence[str]
    inherit_env: bool
    timeout: float | None
    grace: float
    tags: Sequence[str]
    leftovers: "Leftovers"
    max_log_bytes: int
    log: str | None
    sandbox: "Profile | None"
    notify: Mapping[str, Any] | None
    conditions: Sequence[str]
    every: bool
    ports: Sequence[str]
    health: str | None
    health_every: float | None
    health_timeout: float | None
    health_failures: int | None
    stop_after_idle: float | None
    retry: str | int | None
    restart: str | None
    interval: str | float | None
    after: str | Sequence[str]
    needs: str | Sequence[str] | Mapping[str, int]
    priority: int | None
    at: str | float | None
