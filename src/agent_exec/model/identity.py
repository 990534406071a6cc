"""The identity of a process, beyond a pid that another process may get later."""

from agent_exec.model.value import Value


class Identity(Value):
    """A process for all time: its pid, when it was started, and in which boot of the system."""

    pid: int
    start: int
    boot: str


class Ancestor(Value):
    """One of our own processes: this one, or one that this one descends from; as far as it is known."""

    pid: int
    name: str = ""
    line: str = ""
    parent: int | None = None
    group: int | None = None
    session: int | None = None
    user: str = ""
