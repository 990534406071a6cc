"""What a launcher orders of a supervisor, and the words that pass between it and others."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_exec.sandbox.profile import Profile

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
    """What is asked for: a command with its surroundings, and the terms of the job.

    With a profile as `sandbox` it is confined; `own` are files of ours that it
    is kept from changing, should they lie where it may write.
    """

    __slots__ = (
        "argv",
        "cwd",
        "env",
        "env_keys",
        "grace",
        "leftovers",
        "mark",
        "own",
        "profile",
        "progress",
        "quota",
        "sandbox",
        "tags",
        "timeout",
    )

    def __init__(
        self,
        argv: "Sequence[str | bytes]",
        *,
        cwd: str | bytes,
        env: "Mapping[bytes, bytes]",
        grace: float,
        quota: int,
        env_keys: "Sequence[str]" = (),
        tags: "Sequence[str]" = (),
        timeout: float | None = None,
        leftovers: str = "kill",
        progress: float = 0.0,
        mark: bool = True,
        sandbox: "Profile | None" = None,
        own: "Sequence[str]" = (),
    ) -> None:
        # Of exactly these types: others cannot be sent.
        self.argv = [str(os.fsdecode(word)) for word in argv]
        self.cwd = str(os.path.abspath(os.fsdecode(cwd)))
        self.env = dict(env)
        self.env_keys = [str(name) for name in env_keys]
        self.tags: list[str] = []
        if tags:
            from agent_exec.jobs.tags import check_tags

            self.tags = check_tags(tags)
        self.timeout = None if timeout is None else float(timeout)
        self.grace = float(grace)
        self.leftovers = str(leftovers)
        self.quota = int(quota)
        """The most bytes that are kept of each stream; 0 is no limit."""
        self.progress = float(progress)
        self.mark = bool(mark)
        """Whether the command is told, by a variable, whose job it is."""
        self.sandbox: dict[str, object] | None = None
        """The profile by its name, its hash (`policy`) and its whole text, `own`, and what is known of it."""
        self.profile = sandbox
        self.own = [str(os.path.abspath(path)) for path in own]
        if sandbox is not None:
            self._confine(sandbox)

    def _confine(self, profile: "Profile") -> None:
        if self.leftovers != "kill":
            from agent_exec.model.errors import InvalidArgument

            raise InvalidArgument(
                "nothing that a confined command leaves behind lives on; leave out leftovers, or the sandbox"
            )
        wall = profile.limits.wall
        if wall is not None and (self.timeout is None or self.timeout > wall):
            self.timeout = float(wall)
        self.sandbox = {
            "profile": profile.name,
            "policy": profile.digest,
            "text": profile.to_text(),
            "own": self.own,
        }

    def fields(self) -> dict[str, object]:
        """Return it in a form that can be sent to another process."""
        return {name: getattr(self, name) for name in self.__slots__ if name not in ("own", "profile")}
