"""A command that its owner has let go of, until another has it: what is sent there, and what is kept."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_exec.host.posix.process.process import Process
    from agent_exec.host.posix.process.spawner import Keeper
    from agent_exec.model.command import Launch


class Handed:
    """What another process needs to go on with a command: descriptors, and `facts` that can be marshalled.

    Nothing is read or written here meanwhile. To be taken back or given up,
    inside the loop, and only once.
    """

    __slots__ = ("_keeper", "_output", "_process", "facts", "fds")

    def __init__(
        self,
        process: "Process",
        keeper: "Keeper",
        launch: "Launch",
        output: list[int],
        left: tuple[int, bytes, bool],
    ) -> None:
        self._process = process
        self._keeper = keeper
        self._output = output
        written, pending, ended = left
        stdout, stderr = (*output, -1)[:2]
        self.fds = (*keeper.fds, stdout, stderr, -1 if launch.tty else written)
        """The sockets of its keeper and of the factory, its output (or its terminal), and its input."""
        box = launch.box
        self.facts: dict[str, object] = {
            "tty": launch.tty,
            "size": (launch.size.rows, launch.size.columns),
            "pending": pending,
            "ended": ended,
            "box": None if box is None else (box.digest, box.steps, box.own_pids),
        }

    def take_back(self) -> None:
        """Go on here, as if nothing had happened."""
        self._process._resume(self._keeper, self._output)

    def give_up(self) -> None:
        """Hold nothing of it any more: another has it, or it ends."""
        self._process._give_up(self._keeper, self._output)
