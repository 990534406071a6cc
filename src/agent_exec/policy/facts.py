"""What the judge is told about the world, since it looks at nothing itself."""

from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.identity import Ancestor


class Facts(Value):
    """What holds where the command would run.

    `cwd` is the working directory, absolute, or None if unknown. `ancestors` are
    our own processes, which no command may end. `sets` are the names of the
    variables that are set for the command. `disguised` says that git would
    take a folder that is no `.git` for a repository there, and obey it.
    `writes` are files that it is known to write although its words do not
    say so.
    """

    __slots__ = ("ancestors", "cwd", "disguised", "sets", "writes")

    def __init__(
        self,
        cwd: str | None = None,
        ancestors: "tuple[Ancestor, ...]" = (),
        sets: tuple[str, ...] = (),
        *,
        disguised: bool = False,
        writes: tuple[str, ...] = (),
    ) -> None:
        self.cwd = cwd
        self.ancestors = ancestors
        self.sets = sets
        self.disguised = disguised
        self.writes = writes
