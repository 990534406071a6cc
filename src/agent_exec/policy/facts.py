"""The facts by which a command is judged: the policy reads nothing from the system itself."""

from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.model.identity import Ancestor


class Facts(Value):
    """The facts about the place where a command would run.

    `cwd` is the working directory, absolute, or None if unknown. `ancestors`
    are our own processes, which no command may end. `env_names` are the names
    of the variables set for the command. `disguised` means that git would
    obey a folder there that is a repository but no `.git`. `writes` are files
    that the command is known to write although its words do not say so.
    """

    cwd: str | None = None
    ancestors: "tuple[Ancestor, ...]" = ()
    env_names: tuple[str, ...] = ()
    disguised: bool = False
    writes: tuple[str, ...] = ()
