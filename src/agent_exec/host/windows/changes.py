"""Waits for changes in a folder by looking again from time to time (untested)."""

from time import sleep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from agent_exec.model.cancel import Cancel

_LOOK = 0.1


class Changes:
    """The changes of a folder's files: every wait is short, and the caller looks."""

    __slots__ = ()
    fd = -1

    def __init__(self, *folders: str, closed: bool = False) -> None:
        pass

    def read(self) -> None:
        """Do nothing: there is no descriptor."""

    def watch(self, pipes: "Collection[str]") -> None:
        """Do nothing: the caller looks anyway."""

    def wait(self, seconds: float | None, cancel: "Cancel | None" = None) -> bool:
        """Wait a moment, at most so long; return True: an owner may have gone."""
        pause = _LOOK if seconds is None else min(seconds, _LOOK)
        if cancel is None:
            sleep(pause)
        else:
            cancel.wait(pause)
        return True

    def close(self) -> None:
        """Do nothing: nothing is held."""
