"""What was asked (Command, with its Limits), what will be spawned (Launch), and how it ended (Outcome)."""

from agent_exec.model.errors import InvalidArgument
from agent_exec.model.output import Head, Keep, text
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from agent_exec.model.box_spec import Box
    from agent_exec.model.choices import Cause, Leftovers, OnEvent, OnOutput, Overflow, Word

LEFTOVERS = ("kill", "leave")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

LONGEST = 366 * 86400.0
"""No clock of ours runs longer than a year: longer is a mistake of units."""

OVERFLOWS = ("cut", "stop")


class Terminal(Value):
    """The size of a terminal, in rows and columns."""

    __slots__ = ("columns", "rows")

    def __init__(self, rows: int = 24, columns: int = 80) -> None:
        for name, value in (("rows", rows), ("columns", columns)):
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 65535:
                raise InvalidArgument(f"{name} must be a whole number from 1 to 65535; got {value!r}")
        self.rows = int(rows)
        self.columns = int(columns)


class Variables(dict[str | bytes, str | bytes]):
    """An environment that has been checked, and is not looked through again; not to be changed once made."""

    __slots__ = ("encoded",)

    def __init__(self, given: "Mapping[str, str] | Mapping[bytes, bytes]") -> None:
        super().__init__({_name(key): _word("env", value) for key, value in given.items()})
        self.encoded = all(isinstance(word, bytes) for pair in self.items() for word in pair)
        """Whether all of it is bytes."""

    def plus(self, more: "Mapping[str, str] | Mapping[bytes, bytes]") -> "Variables":
        """Return these and some more, which win."""
        found = Variables(more)
        added = dict(found)
        found.update(self)
        found.update(added)
        found.encoded = found.encoded and self.encoded
        return found


class Limits(Value):
    """The clocks and the overflow rule of one run; seconds throughout.

    `timeout` counts from the spawn. `grace` is the time between the polite
    signal and the forced one. `drain` is how long what a finished command
    left behind may go on writing. `overflow` says what happens when a stream
    outgrows its keeping: "cut" goes on counting, "stop" ends the run.
    """

    timeout: float | None = None
    grace: float = 0.5
    drain: float = 0.1
    overflow: "Overflow" = "cut"

    def __post_init__(self) -> None:
        if self.timeout is not None:
            _check_seconds("timeout", self.timeout)
            if self.timeout == 0:
                raise InvalidArgument("timeout must be more than 0 seconds; leave it out for no limit")
        _check_seconds("grace", self.grace)
        _check_seconds("drain", self.drain)
        if self.overflow not in OVERFLOWS:
            raise InvalidArgument(f"overflow must be one of {', '.join(OVERFLOWS)}; got {self.overflow!r}")


class Command(Value):
    """What was asked: a program with its arguments, and the terms of its run.

    `cwd` None is the caller's; a relative program path is relative to `cwd`.
    `env` None is the caller's; a mapping is the whole environment. `stdin` is
    fed and then ended; None is no input at all, unless `interactive` keeps
    the input open for `Run.write`. `tty` gives the command a terminal of
    `size`, whose output is in stdout. `keep` says what is kept of each
    stream. `leftovers` says what becomes of processes the command leaves
    behind: "kill" or "leave". `on_output(stream, chunk)` is called with every
    chunk, in order, from the loop that drives the run; so is
    `on_event(event, detail)`, with "spawned" and the pid, and with each
    "terminate" and "kill" that is sent and its cause.
    """

    __slots__ = (
        "argv",
        "cwd",
        "env",
        "interactive",
        "keep",
        "leftovers",
        "limits",
        "on_event",
        "on_output",
        "size",
        "stdin",
        "tty",
    )

    def __init__(
        self,
        argv: "Sequence[Word]",
        *,
        cwd: "Word | None" = None,
        env: "Mapping[str, str] | Mapping[bytes, bytes] | Variables | None" = None,
        stdin: bytes | None = None,
        interactive: bool = False,
        tty: bool = False,
        size: Terminal | None = None,
        limits: Limits | None = None,
        keep: Keep | None = None,
        leftovers: "Leftovers" = "kill",
        on_output: "OnOutput | None" = None,
        on_event: "OnEvent | None" = None,
    ) -> None:
        if isinstance(argv, str | bytes) or not hasattr(argv, "__len__") or not len(argv):
            raise InvalidArgument(
                "argv must be a list with the program first, such as ['ls', '-l']; "
                f"got {argv!r}. For a shell line, ask a shell: ['sh', '-c', line]"
            )
        self.argv = tuple(_word("argv", word) for word in argv)
        if not self.argv[0]:
            raise InvalidArgument("argv must name a program first; got an empty name")
        self.cwd = None if cwd is None else _word("cwd", cwd)
        if env is not None and not hasattr(env, "items"):
            raise InvalidArgument(f"env must be a mapping of names to values; got {type(env).__name__}")
        self.env = env if env is None or isinstance(env, Variables) else Variables(env)
        if stdin is not None and not isinstance(stdin, bytes | bytearray | memoryview):
            raise InvalidArgument(f"stdin must be bytes; encode the text first. Got {type(stdin).__name__}")
        self.stdin = None if stdin is None else bytes(stdin)
        self.interactive = bool(interactive)
        self.tty = bool(tty)
        self.size = Terminal() if size is None else size
        if not isinstance(self.size, Terminal):
            raise InvalidArgument(f"size must be a Terminal(rows, columns); got {size!r}")
        self.limits = Limits() if limits is None else limits
        if not isinstance(self.limits, Limits):
            raise InvalidArgument(f"limits must be Limits(timeout=…); got {limits!r}")
        self.keep = Head() if keep is None else keep
        if not isinstance(self.keep, Keep) or type(self.keep) is Keep:
            raise InvalidArgument(f"keep must be a Head, Tail, HeadTail or Lines; got {keep!r}")
        if leftovers not in LEFTOVERS:
            raise InvalidArgument(f"leftovers must be one of {', '.join(LEFTOVERS)}; got {leftovers!r}")
        self.leftovers = leftovers
        for name, callback in (("on_output", on_output), ("on_event", on_event)):
            if callback is not None and not callable(callback):
                raise InvalidArgument(f"{name} must be callable; got {callback!r}")
        self.on_output = on_output
        self.on_event = on_event

    def __hash__(self) -> int:
        return hash((self.argv, self.cwd))


class Launch(Value):
    """What will be spawned: everything resolved, nothing left to look up.

    `program` is the file to execute; `argv[0]` is the name that it gets
    called. Words are in the system's own form. `box` is where it is to be
    confined; None is nowhere.
    """

    program: str | bytes
    argv: "tuple[str | bytes, ...]"
    cwd: str | bytes
    env: "Mapping[str, str] | Mapping[bytes, bytes]"
    tty: bool
    size: Terminal
    input: bool
    box: "Box | None" = None


class Outcome(Value):
    """How a run ended, and what it printed.

    `exit_code` is the command's own, or 128 + n when signal n ended it, and
    then `signal` is its name ("SIGTERM"); both are None for a run that was
    stopped before it was started. `cause` says why *we* ended it, and is None
    when it ended by itself. `leaked` says that something the command had
    started outlived it, or still holds its output open. `duration` is in
    seconds, from spawn to end. `network` is what the proxy has decided
    about each request of a confined command that has a list of hosts. `tally`
    is how many processes there were when we ended it, or what it left behind, and how
    many of them are left; (0, 0) if it ended by itself, or if that is not known. `changes`
    is what became of paths that its sandbox protects. The `pid` of a confined
    command is its number inside.
    """

    exit_code: int | None
    signal: str | None
    cause: "Cause | None"
    duration: float
    leaked: bool
    stdout: bytes
    stdout_observed: int
    stderr: bytes
    stderr_observed: int
    pid: int | None
    network: "tuple[Mapping[str, object], ...]" = ()
    changes: "tuple[Mapping[str, object], ...]" = ()
    tally: tuple[int, int] = (0, 0)

    @property
    def ok(self) -> bool:
        """True if the command ended by itself with exit code 0."""
        return self.exit_code == 0 and self.cause is None

    @property
    def timed_out(self) -> bool:
        """True if its time ran out."""
        return self.cause == "timeout"

    @property
    def stdout_text(self) -> str:
        """What was kept of stdout, as text."""
        return text(self.stdout)

    @property
    def stderr_text(self) -> str:
        """What was kept of stderr, as text."""
        return text(self.stderr)


def _word(name: str, value: "Word") -> str | bytes:
    """Return a word as text or bytes; refuse what no system call can carry."""
    word: object = value
    if not isinstance(word, str | bytes):
        path = getattr(type(word), "__fspath__", None)
        word = path(word) if path is not None else word
    if isinstance(word, str):
        if "\0" in word:
            raise InvalidArgument(f"{name} must not contain a NUL character; got {word!r}")
        try:
            word.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise InvalidArgument(f"{name} must be text that can be encoded; got {word!r}") from None
        return word
    if isinstance(word, bytes):
        if b"\0" in word:
            raise InvalidArgument(f"{name} must not contain a NUL byte; got {word!r}")
        return word
    raise InvalidArgument(f"{name} must be text, bytes or a path; got {type(value).__name__}: {value!r}")


def _name(key: "Word") -> str | bytes:
    """Return the name of an environment variable; raise InvalidArgument for an invalid one."""
    word = _word("env", key)
    if not word or (b"=" in word if isinstance(word, bytes) else "=" in word):
        raise InvalidArgument(f"an environment variable's name must be non-empty, without '='; got {word!r}")
    return word


def _check_seconds(name: str, value: object) -> None:
    """Raise InvalidArgument unless a value is a number of seconds within a year."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidArgument(f"{name} must be a number of seconds; got {value!r}")
    if not 0 <= value <= LONGEST:
        raise InvalidArgument(f"{name} must be between 0 and {LONGEST:.0f} seconds; got {value!r}")


def seconds(text: str, *, bare: str) -> float:
    """Return a span in seconds; a number without a unit is in the unit `bare`."""
    word = text.strip().lower()
    number = word.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = word[len(number) :] or bare
    try:
        # Not every text that Python takes for a number looks like one to people.
        value = float(number) if number and set(number) <= set("0123456789.") else -1.0
    except ValueError:
        value = -1.0
    if value < 0 or unit not in _UNITS:
        raise InvalidArgument(f"invalid duration {text!r}: use 250ms, 2s, 5m, 1h or 30d")
    span = value * _UNITS[unit]
    if span > LONGEST:
        raise InvalidArgument(f"{text!r} is longer than a year; write 250ms, 2s, 5m, 1h or 30d")
    return span
