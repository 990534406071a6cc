"""What a caller waits for, beside the end of the command and of its patience."""

from agent_exec.model.value import Value


class Wanted(Value):
    """Conditions, of which the first to hold ends a wait; none of them, and only the usual ones do.

    `output` is any new output; `idle` is so many seconds without any;
    `ports` are some of which one is listened on at this machine; for
    patterns see `Session.look_for`. With `only_exit`, not even a program that
    waits for input ends the wait.
    """

    only_exit: bool = False
    output: bool = False
    idle: float | None = None
    ports: tuple[int, ...] = ()


NOTHING = Wanted()
