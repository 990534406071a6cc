"""What is ours on this machine: files that no confined command may change, folders that none may see."""

import os
import sys

from agent_exec.model.value import Value
from agent_exec.places import CONFIG, DATA, PACKAGE, STATE, place, sessions_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import ClassVar

    from agent_exec.sandbox.plan.plan import Plan
    from agent_exec.sandbox.report.guard import Guard
    from agent_exec.sandbox.sandbox import Spawner

_OWN = (sys.prefix, sys.base_prefix, os.path.dirname(os.path.realpath(sys.executable)), PACKAGE)


class Confining(Value):
    """What a command can be confined by: a profile, or its plan."""

    __slots__: "ClassVar[tuple[str, ...]]" = ()

    def ours(self) -> "Ours":
        """Return what of ours a plan protects and hides."""
        return ours()

    def guarded(self, spawner: "Spawner") -> "Guard":
        """Return what `Engine.start` confines a command by, planned now if no plan of before still holds."""
        from agent_exec.sandbox.sandbox import shared_sandbox

        return shared_sandbox().guard(self, spawner, self.ours())

    def warmed(self, spawner: "Spawner", boxes: int) -> "Plan":
        """Return a plan for which so many boxes wait."""
        from agent_exec.sandbox.sandbox import shared_sandbox

        return shared_sandbox().warmed(self, spawner, self.ours(), boxes)


class Ours(Value):
    """The `files` that stay as they are where they lie in a root, and the `folders` that are hidden."""

    files: tuple[str, ...]
    folders: tuple[str, ...]


def ours(files: "Sequence[str]" = (), folders: "Sequence[str]" = ()) -> Ours:
    """Return our interpreter, our code and `files`; our own folders and `folders`.

    Our own folders hold the configuration, the state with its tokens and
    history, the jobs and the output of sessions.
    """
    return Ours(
        (*own_paths(), *map(os.path.abspath, files)), (*own_folders(), *map(os.path.abspath, folders))
    )


def own_paths() -> tuple[str, ...]:
    """Return where our interpreter, its packages and our own code are."""
    return _OWN


def own_folders() -> tuple[str, ...]:
    """Return the folders that we keep, whether they exist or not."""
    found = [place("", *kind) for kind in (CONFIG, STATE, DATA)]
    found += [os.path.abspath(root) for root in (os.environ.get("AGENT_EXEC_ROOT"),) if root]
    return tuple(path.rstrip(os.sep) for path in (*found, sessions_folder()))
