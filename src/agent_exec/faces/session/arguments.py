"""What a model asks the tools for, checked and complete; times are seconds from here on."""

from agent_exec.faces.session.failures import ToolFailure, login_refused, misread
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.limits import LONGEST
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

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
_LONGEST_MS = int(LONGEST * 1000)

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
        from agent_exec.sessions.keys import translate

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
    given = _Given(arguments, EXEC_FIELDS)
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
        wait_for=given.conditions("wait_for"),
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
    given = _Given(arguments, WRITE_FIELDS)
    chars = given.text("chars") or ""
    waited = max(given.whole("yield_time_ms", WRITE_YIELD_MS), LEAST_YIELD_MS)
    least, most = (LEAST_YIELD_MS, MOST_YIELD_MS) if chars else (LEAST_POLL_MS, terms.background_max_ms)
    parsed = WriteArguments(
        session_id=given.whole("session_id"),
        chars=chars,
        yield_seconds=clamped(waited, least, most),
        max_output_tokens=_tokens(given, terms),
        wait_for=given.conditions("wait_for"),
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
    given = _Given(arguments, READ_FIELDS)
    return ReadArguments(
        session_id=given.whole("session_id"),
        start=given.whole("from", 0),
        max_bytes=min(given.whole("max_bytes", MAX_BYTES, 1), MOST_BYTES),
    )


def parse_list(arguments: object, terms: Terms = USUAL) -> None:  # noqa: ARG001
    """Refuse what list_sessions is not to be asked for, which is anything."""
    _Given(arguments, ())


def parse_id(arguments: object, terms: Terms = USUAL) -> int:  # noqa: ARG001
    """Give the session that kill_session or close_stdin is asked for."""
    return _Given(arguments, ID_FIELDS).whole("session_id")


def parse_resize(arguments: object, terms: Terms = USUAL) -> ResizeArguments:  # noqa: ARG001
    """Give what resize is asked for."""
    given = _Given(arguments, RESIZE_FIELDS)
    return ResizeArguments(
        session_id=given.whole("session_id"),
        rows=given.whole("rows", None, 1, LARGEST_SIDE),
        columns=given.whole("columns", None, 1, LARGEST_SIDE),
    )


def parse_patch(arguments: object, terms: Terms = USUAL) -> PatchArguments:  # noqa: ARG001
    """Give what apply_patch is asked for."""
    given = _Given(arguments, PATCH_FIELDS)
    return PatchArguments(input=given.text("input", required=True) or "", workdir=given.line("workdir"))


def clamped(milliseconds: int, least: int, most: int) -> float:
    """Give a time within its bounds, in seconds."""
    return min(max(milliseconds, least), most) / 1000


def _tokens(given: "_Given", terms: Terms) -> int:
    tokens = given.whole("max_output_tokens", terms.max_output_tokens)
    return tokens if terms.most_output_tokens is None else min(tokens, terms.most_output_tokens)


class _Given:
    """The fields of a call; each is asked for by its kind. An absent one and null are the same."""

    def __init__(self, arguments: object, known: tuple[str, ...]) -> None:
        fields = _loaded(arguments) if isinstance(arguments, str | bytes) else arguments
        if fields is None:
            fields = {}
        if not isinstance(fields, dict):
            raise misread(f"expected an object with named fields; got {_shown(fields)}")
        for name in fields:
            if name not in known:
                names = ", ".join(f"`{one}`" for one in known) or "none"
                raise misread(f"unknown field {_shown(name)}; there are {names}", field=name)
        self._fields: Mapping[str, object] = fields

    def text(self, name: str, *, required: bool = False) -> str | None:
        """Give a text that can be written as bytes; an empty one is absent, unless it is required."""
        value = self._get(name, required)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.wrong(name, "a string", value)
        if not value.isascii():
            try:
                value.encode("utf-8", "surrogateescape")
            except UnicodeEncodeError as error:
                raise misread(
                    f"`{name}` has half of a surrogate pair at character {error.start}", field=name
                ) from None
        return value if value or required else None

    def line(self, name: str, *, required: bool = False) -> str | None:
        """Give a text that a system call can carry."""
        value = self.text(name, required=required)
        if value and "\0" in value:
            raise misread(f"`{name}` must not contain a NUL character", field=name)
        return value

    def choice(self, name: str, choices: tuple[str, ...]) -> str | None:
        value = self._get(name)
        if value is not None and (not isinstance(value, str) or value not in choices):
            raise self.wrong(name, f"one of {', '.join(choices)}", value)
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self._get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(name, "a boolean", value)
        return value

    def whole(self, name: str, default: int | None = None, least: int = 0, most: int | None = None) -> int:
        """Give a whole number; a float that is whole is one. Without a default it is required."""
        value = self._get(name, required=default is None)
        if value is None and default is not None:
            return default
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= (most or value):
            bounds = f", {least} or more" if most is None else f" from {least} to {most}"
            raise self.wrong(name, f"a whole number{bounds}", value)
        return value

    def seconds(self, name: str) -> float | None:
        if self._get(name) is None:
            return None
        return self.whole(name, None, 1, _LONGEST_MS) / 1000

    def words(self, name: str) -> tuple[str, ...] | None:
        value = self._get(name)
        if value is None:
            return None
        if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
            raise self.wrong(name, "an array of strings", value)
        return tuple(value) or None

    def conditions(self, name: str) -> tuple[Condition, ...]:
        value = self._get(name)
        words = [value] if isinstance(value, str) else [] if value is None else value
        if not isinstance(words, list | tuple):
            raise self.wrong(name, CONDITIONS, value)
        return tuple(dict.fromkeys(self._condition(name, word) for word in words))

    def wrong(self, name: str, expected: str, value: object) -> ToolFailure:
        return misread(f"`{name}` must be {expected}; got {_shown(value)}", field=name)

    def _condition(self, name: str, word: object) -> Condition:
        kind, colon, rest = word.partition(":") if isinstance(word, str) else ("", "", "")
        if kind in ("exit", "output") and not colon:
            return Condition(kind)
        if kind == "match" and rest:
            return Condition("match", regex=_checked_regex(name, rest))
        number = int(rest) if rest.isascii() and rest.isdigit() and len(rest) <= 12 else 0
        if kind == "idle" and 1 <= number <= _LONGEST_MS:
            return Condition("idle", seconds=number / 1000)
        if kind == "port" and 1 <= number <= 65535:
            return Condition("port", port=number)
        raise self.wrong(name, CONDITIONS, word)

    def _get(self, name: str, required: bool = False) -> object:
        value = self._fields.get(name)
        if required and value is None:
            raise misread(f"missing field `{name}`", field=name)
        return value


def _checked_regex(name: str, regex: str) -> str:
    import re

    if len(regex) > LONGEST_REGEX:
        raise misread(f"`{name}` has a regular expression of over {LONGEST_REGEX} characters", field=name)
    try:
        re.compile(regex)
    except (re.error, OverflowError, RecursionError) as error:
        place = getattr(error, "pos", None)
        raise misread(
            f"`{name}` has a bad regular expression, {_shown(regex)}: {error}", field=name, position=place
        ) from None
    return regex


def _loaded(text: str | bytes) -> object:
    """Give the value of a JSON text; nothing at all is no arguments."""
    from agent_exec.model.jsonline import load

    try:
        written = text.decode() if isinstance(text, bytes) else text
        return load(written.strip()) if written.strip() else {}
    except (ValueError, RecursionError) as error:
        raise misread(f"expected an object of JSON; {error}") from None


def _shown(value: object) -> str:
    """Show what was given, but not all of what is long."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return str(value) if abs(value) < 1 << 64 else "a number of very many digits"
    if isinstance(value, float | str):
        text = repr(value)
        return text if len(text) <= 82 else f"{text[:78]}...{text[0]}"
    name = type(value).__name__
    return {"dict": "an object", "list": "an array"}.get(name, f"a value of type {name}")
