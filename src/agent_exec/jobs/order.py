"""What a launcher orders of a supervisor, and the words that pass between it and others."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

MARK = "AGENT_EXEC_JOB_ID"
"""The variable that tells a command, and all it starts, whose job it is."""

# What a supervisor tells, a line each.
JOB = "job"
"""with its id: the job is made, and holds its lock"""
STARTED = "started"
ENDED = "ended"
REFUSED = "refused"
"""with an error as JSON: there is no job"""

# What someone may ask of a supervisor, with the number of a signal.
END = "end"
"""end the tree, politely if the signal allows it"""
SIGNAL = "signal"
"""send it to the tree, and nothing more"""


class Order:
    """What is asked for: a command with its surroundings, and the terms of the job."""

    __slots__ = (
        "argv",
        "cwd",
        "env",
        "env_keys",
        "grace",
        "leftovers",
        "mark",
        "progress",
        "quota",
        "tags",
        "timeout",
    )

    def __init__(
        self,
        argv: "Sequence[str]",
        *,
        cwd: str,
        env: "Mapping[bytes, bytes]",
        env_keys: "Sequence[str]" = (),
        tags: "Sequence[str]" = (),
        timeout: float | None = None,
        grace: float = 2.0,
        leftovers: str = "kill",
        quota: int = 1 << 30,
        progress: float = 0.0,
        mark: bool = True,
    ) -> None:
        self.argv = list(argv)
        self.cwd = os.path.abspath(cwd)
        self.env = dict(env)
        self.env_keys = list(env_keys)
        self.tags = list(tags)
        self.timeout = timeout
        self.grace = grace
        self.leftovers = leftovers
        self.quota = quota
        self.progress = progress
        self.mark = mark
        """Whether the command is told, by a variable, whose job it is."""

    def fields(self) -> dict[str, object]:
        """Give it in a form that can be sent to another process."""
        return {name: getattr(self, name) for name in self.__slots__}
