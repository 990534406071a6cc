"""What a model asks the tools for, checked and complete; times are seconds from here on."""

from agent_exec.faces.session.failures import ToolFailure, login_refused, misread
from agent_exec.faces.session.fields import LONGEST_MS, Given, shown
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

YIELD_MS = 10_000
WRITE_YIELD_MS = 250
LEAST_YIELD_MS = 250
MOST_YIELD_MS = 30_000
LEAST_POLL_MS = 5_000
MOST_POLL_MS = 300_000
MAX_OUTPUT_TOKENS = 10_000
MAX_BYTES = 40_000
MOST_BYTES = 1 << 20
ROWS, COLUMNS = 24, 80
LARGEST_SIDE = 2_000
LONGEST_REGEX = 2_000

PERMISSIONS = ("use_default", "require_escalated")
RENDERS = ("text", "screen", "raw")
CONDITIONS = 'one of "exit", "output", "idle:MS", "match:REGEX", "port:N", or a list of them'

EXEC_FIELDS = (
    *("cmd", "workdir", "shell", "login", "tty", "yield_time_ms", "max_output_tokens"),
    *("sandbox_permissions", "justification", "prefix_rule"),
    *("wait_for", "render", "timeout_ms", "idle_timeout_ms", "separate_streams", "rows", "columns"),
)
WRITE_FIELDS = ("session_id", "chars", "yield_time_ms", "max_output_tokens", "wait_for", "render", "keys")
READ_FIELDS = ("session_id", "from", "max_bytes")
RESIZE_FIELDS = ("session_id", "rows", "columns")
ID_FIELDS = ("session_id",)
PATCH_FIELDS = ("input", "workdir")


class Terms(Value):
    """How a server offers the tools.

    `allow_login`: commands may run in login shells, and do so unless told
    otherwise. `capture_login`: the user agrees that a login environment is
    taken once and used again (see `login`). `request_rule`: a model may
    propose a rule. `background_max_ms`: how long an empty write_stdin may
    wait. `max_output_tokens`: how much is shown if nothing is asked, and
    `most_output_tokens` whatever is asked.
    """

    __slots__ = tuple(
        "allow_login capture_login request_rule background_max_ms max_output_tokens"
        " most_output_tokens".split()
    )

    def __init__(
        self,
        *,
        allow_login: bool = True,
        capture_login: bool = False,
        request_rule: bool = True,
        background_max_ms: int = MOST_POLL_MS,
        max_output_tokens: int = MAX_OUTPUT_TOKENS,
        most_output_tokens: int | None = None,
    ) -> None:
        for name, count in (
            ("background_max_ms", background_max_ms),
            ("max_output_tokens", max_output_tokens),
            ("most_output_tokens", 0 if most_output_tokens is None else most_output_tokens),
        ):
            if isinstance(count, bool) or not isinstance(count, int) or count < 0:
                raise InvalidArgument(f"{name} must be a whole number, 0 or more; got {count!r}")
        self.allow_login = allow_login
        self.capture_login = capture_login
        self.request_rule = request_rule
        self.background_max_ms = max(background_max_ms, LEAST_POLL_MS)
        self.max_output_tokens = max_output_tokens
        self.most_output_tokens = most_output_tokens


USUAL = Terms()


class Condition(Value):
    """One thing that ends a wait: `kind` is exit, output, idle (`seconds`), match (`regex`) or port."""

    __slots__ = ("kind", "port", "regex", "seconds")

    def __init__(
        self, kind: str, *, seconds: float | None = None, regex: str | None = None, port: int | None = None
    ) -> None:
        self.kind = kind
        self.seconds = seconds
        self.regex = regex
        self.port = port

    def pattern(self) -> "re.Pattern[str]":
        """Give the regular expression, compiled."""
        import re

        return re.compile(self.regex or "")


class ExecArguments(Value):
    """What exec_command is asked for; None is absent."""

    __slots__ = tuple(
        "cmd workdir shell login tty yield_seconds max_output_tokens sandbox_permissions justification"
        " prefix_rule wait_for render timeout idle_timeout separate_streams rows columns".split()
    )

    def __init__(
        self,
        *,
        cmd: str,
        workdir: str | None = None,
        shell: str | None = None,
        login: bool = True,
        tty: bool = False,
        yield_seconds: float = YIELD_MS / 1000,
        max_output_tokens: int = MAX_OUTPUT_TOKENS,
        sandbox_permissions: str = PERMISSIONS[0],
        justification: str | None = None,
        prefix_rule: tuple[str, ...] | None = None,
        wait_for: tuple[Condition, ...] = (),
        render: str = RENDERS[0],
        timeout: float | None = None,
        idle_timeout: float | None = None,
        separate_streams: bool = False,
        rows: int = ROWS,
        columns: int = COLUMNS,
    ) -> None:
        self.cmd = cmd
        self.workdir = workdir
        self.shell = shell
        self.login = login
        self.tty = tty
        self.yield_seconds = yield_seconds
        self.max_output_tokens = max_output_tokens
        self.sandbox_permissions = sandbox_permissions
        self.justification = justification
        self.prefix_rule = prefix_rule
        self.wait_for = wait_for
        self.render = render
        self.timeout = timeout
        self.idle_timeout = idle_timeout
        self.separate_streams = separate_streams
        self.rows = rows
        self.columns = columns


class WriteArguments(Value):
    """What write_stdin is asked for; a `render` of None is that of the session."""

    __slots__ = ("chars", "keys", "max_output_tokens", "render", "session_id", "wait_for", "yield_seconds")

    def __init__(
        self,
        *,
        session_id: int,
        chars: str = "",
        yield_seconds: float = WRITE_YIELD_MS / 1000,
        max_output_tokens: int = MAX_OUTPUT_TOKENS,
        wait_for: tuple[Condition, ...] = (),
        render: str | None = None,
        keys: bool = False,
    ) -> None:
        self.session_id = session_id
        self.chars = chars
        self.yield_seconds = yield_seconds
        self.max_output_tokens = max_output_tokens
        self.wait_for = wait_for
        self.render = render
        self.keys = keys

    def data(self, application: bool = False) -> bytes:
        """Give the bytes to write; `application` if the program wants the other form of cursor keys."""
        if not self.keys:
            return self.chars.encode("utf-8", "surrogateescape")
        from agent_exec.terminal.keys import translate

        return translate(self.chars, application)


class ReadArguments(Value):
    """What read_output is asked for: `max_bytes` of a transcript, `start` bytes from its beginning."""

    __slots__ = ("max_bytes", "session_id", "start")

    def __init__(self, *, session_id: int, start: int = 0, max_bytes: int = MAX_BYTES) -> None:
        self.session_id = session_id
        self.start = start
        self.max_bytes = max_bytes


class ResizeArguments(Value):
    """What resize is asked for."""

    __slots__ = ("columns", "rows", "session_id")

    def __init__(self, *, session_id: int, rows: int, columns: int) -> None:
        self.session_id = session_id
        self.rows = rows
        self.columns = columns


class PatchArguments(Value):
    """What apply_patch is asked for."""

    __slots__ = ("input", "workdir")

    def __init__(self, *, input: str, workdir: str | None = None) -> None:  # noqa: A002
        self.input = input
        self.workdir = workdir


def parse_exec(arguments: object, terms: Terms = USUAL) -> ExecArguments:
    """Give what exec_command is asked for; raise a ToolFailure that says what is wrong with it."""
    given = Given(arguments, EXEC_FIELDS)
    permissions = given.choice("sandbox_permissions", PERMISSIONS)
    justification = given.text("justification")
    tty = given.flag("tty")
    render = given.choice("render", RENDERS) or RENDERS[0]
    separate = given.flag("separate_streams")
    parsed = ExecArguments(
        cmd=given.line("cmd", required=True) or "",
        workdir=given.line("workdir"),
        shell=given.line("shell"),
        login=given.flag("login", terms.allow_login),
        tty=tty,
        yield_seconds=clamped(given.whole("yield_time_ms", YIELD_MS), LEAST_YIELD_MS, MOST_YIELD_MS),
        max_output_tokens=_tokens(given, terms),
        sandbox_permissions=permissions or PERMISSIONS[0],
        justification=justification,
        prefix_rule=given.words("prefix_rule") if terms.request_rule else None,
        wait_for=_conditions(given, "wait_for"),
        render=render,
        timeout=given.seconds("timeout_ms"),
        idle_timeout=given.seconds("idle_timeout_ms"),
        separate_streams=separate,
        rows=given.whole("rows", ROWS, 1, LARGEST_SIDE),
        columns=given.whole("columns", COLUMNS, 1, LARGEST_SIDE),
    )
    if parsed.login and not terms.allow_login:
        raise login_refused()
    if justification and permissions is None:
        raise ToolFailure(
            "`justification` was given without `sandbox_permissions`; set `sandbox_permissions` "
            f"explicitly ({' or '.join(PERMISSIONS)}), or leave `justification` out"
        )
    if separate and tty:
        raise ToolFailure("a terminal has one stream; set `tty` or `separate_streams`, not both")
    if render == "screen" and not tty:
        raise ToolFailure('only a terminal has a screen; set `tty` to true, or leave `render` at "text"')
    return parsed


def parse_write(arguments: object, terms: Terms = USUAL) -> WriteArguments:
    """Give what write_stdin is asked for; without `chars` it is a poll, and waits longer."""
    given = Given(arguments, WRITE_FIELDS)
    chars = given.text("chars") or ""
    waited = max(given.whole("yield_time_ms", WRITE_YIELD_MS), LEAST_YIELD_MS)
    least, most = (LEAST_YIELD_MS, MOST_YIELD_MS) if chars else (LEAST_POLL_MS, terms.background_max_ms)
    parsed = WriteArguments(
        session_id=given.whole("session_id"),
        chars=chars,
        yield_seconds=clamped(waited, least, most),
        max_output_tokens=_tokens(given, terms),
        wait_for=_conditions(given, "wait_for"),
        render=given.choice("render", RENDERS),
        keys=given.flag("keys"),
    )
    if parsed.keys:
        try:
            parsed.data()
        except InvalidArgument as error:
            raise ToolFailure(f"write_stdin failed: {error.message}", **error.details) from None
    return parsed


def parse_read(arguments: object, terms: Terms = USUAL) -> ReadArguments:  # noqa: ARG001
    """Give what read_output is asked for."""
    given = Given(arguments, READ_FIELDS)
    return ReadArguments(
        session_id=given.whole("session_id"),
        start=given.whole("from", 0),
        max_bytes=min(given.whole("max_bytes", MAX_BYTES, 1), MOST_BYTES),
    )


def parse_list(arguments: object, terms: Terms = USUAL) -> None:  # noqa: ARG001
    """Refuse what list_sessions is not to be asked for, which is anything."""
    Given(arguments, ())


def parse_id(arguments: object, terms: Terms = USUAL) -> int:  # noqa: ARG001
    """Give the session that kill_session or close_stdin is asked for."""
    return Given(arguments, ID_FIELDS).whole("session_id")


def parse_resize(arguments: object, terms: Terms = USUAL) -> ResizeArguments:  # noqa: ARG001
    """Give what resize is asked for."""
    given = Given(arguments, RESIZE_FIELDS)
    return ResizeArguments(
        session_id=given.whole("session_id"),
        rows=given.whole("rows", None, 1, LARGEST_SIDE),
        columns=given.whole("columns", None, 1, LARGEST_SIDE),
    )


def parse_patch(arguments: object, terms: Terms = USUAL) -> PatchArguments:  # noqa: ARG001
    """Give what apply_patch is asked for."""
    given = Given(arguments, PATCH_FIELDS)
    return PatchArguments(input=given.text("input", required=True) or "", workdir=given.line("workdir"))


def clamped(milliseconds: int, least: int, most: int) -> float:
    """Give a time within its bounds, in seconds."""
    return min(max(milliseconds, least), most) / 1000


def _tokens(given: Given, terms: Terms) -> int:
    tokens = given.whole("max_output_tokens", terms.max_output_tokens)
    return tokens if terms.most_output_tokens is None else min(tokens, terms.most_output_tokens)


def _conditions(given: Given, name: str) -> tuple[Condition, ...]:
    value = given.get(name)
    words = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(words, list | tuple):
        raise given.wrong(name, CONDITIONS, value)
    return tuple(dict.fromkeys(_condition(given, name, word) for word in words))


def _condition(given: Given, name: str, word: object) -> Condition:
    kind, colon, rest = word.partition(":") if isinstance(word, str) else ("", "", "")
    if kind in ("exit", "output") and not colon:
        return Condition(kind)
    if kind == "match" and rest:
        return Condition("match", regex=_checked_regex(name, rest))
    number = int(rest) if rest.isascii() and rest.isdigit() and len(rest) <= 12 else 0
    if kind == "idle" and 1 <= number <= LONGEST_MS:
        return Condition("idle", seconds=number / 1000)
    if kind == "port" and 1 <= number <= 65535:
        return Condition("port", port=number)
    raise given.wrong(name, CONDITIONS, word)


def _checked_regex(name: str, regex: str) -> str:
    import re

    if len(regex) > LONGEST_REGEX:
        raise misread(f"`{name}` has a regular expression of over {LONGEST_REGEX} characters", field=name)
    try:
        re.compile(regex)
    except (re.error, OverflowError, RecursionError) as error:
        place = getattr(error, "pos", None)
        raise misread(
            f"`{name}` has a bad regular expression, {shown(regex)}: {error}", field=name, position=place
        ) from None
    return regex
