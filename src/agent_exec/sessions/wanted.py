"""What a wait for a session is for, and why it has ended."""

from agent_exec.model.value import Value


class Wanted(Value):
    """Conditions, of which the first to hold ends a wait, beside the end of the command.

    `output` is any new output; `idle` is so many seconds without any; `ports` and `regexes`: one of
    the ports is listened on in the command's network, one of the expressions is found in what is
    new. With `only_exit`, not even a program that waits for input ends the wait.
    """

    only_exit: bool = False
    output: bool = False
    idle: float | None = None
    ports: tuple[int, ...] = ()
    regexes: tuple[str, ...] = ()


NOTHING = Wanted()


class Ending(Value):
    """Why a wait has ended: "exit", "deadline", "output", "idle", "match", "port" or "input".

    With "input", `evidence` is how sure that is, and `echo` whether what is typed is shown. `place`
    is the offset of the first match of a pattern, if it is known.
    """

    cause: str
    evidence: str = ""
    echo: bool = True
    place: int | None = None
