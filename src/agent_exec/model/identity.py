"""Who a process is, beyond a pid that another may wear tomorrow."""

from agent_exec.model.value import Value


class Identity(Value):
    """A process for all time: its pid, when it was started, and in which boot of the system."""

    __slots__ = ("boot", "pid", "start")

    def __init__(self, pid: int, start: int, boot: str) -> None:
        self.pid = pid
        self.start = start
        self.boot = boot


class Ancestor(Value):
    """One of our own processes: this one, or one that this one descends from; as far as it is known."""

    __slots__ = ("group", "line", "name", "parent", "pid", "session", "user")

    def __init__(
        self,
        pid: int,
        name: str = "",
        *,
        line: str = "",
        parent: int | None = None,
        group: int | None = None,
        session: int | None = None,
        user: str = "",
    ) -> None:
        self.pid = pid
        self.name = name
        self.line = line
        self.parent = parent
        self.group = group
        self.session = session
        self.user = user
