"""Who a process is, beyond a pid that another may wear tomorrow."""

from agent_exec.model.value import Value


class Identity(Value):
    """A process for all time: its pid, when it was started, and in which boot of the system."""

    __slots__ = ("boot", "pid", "start")

    def __init__(self, pid: int, start: int, boot: str) -> None:
        self.pid = pid
        self.start = start
        self.boot = boot
