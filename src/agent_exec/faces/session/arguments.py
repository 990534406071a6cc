"""The arguments of a call, validated and complete; times are seconds from here on."""

from agent_exec.faces.session.definitions import (
    COLUMNS,
    LEAST_POLL_MS,
    LEAST_YIELD_MS,
    LONGEST_MS,
    MAX_BYTES,
    MAX_OUTPUT_TOKENS,
    MOST_BYTES,
    MOST_CELLS,
    MOST_YIELD_MS,
    PERMISSIONS,
    RENDERS,
    ROWS,
    USUAL,
    WRITE_YIELD_MS,
    YIELD_MS,
    definitions,
)
from agent_exec.faces.session.failures import ToolFailure, failure
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.value import Value
from agent_exec.sessions.wanted import NOTHING, Wanted
from agent_exec.tools.schema import Wording, check, present, shown
from agent_exec.views.wanted import AUTO
from agent_exec.views.wanted import parse as view_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from agent_exec.faces.session.definitions import Terms
    from agent_exec.views.wanted import View

LONGEST_REGEX = 2_000
CONDITIONS = 'one of "exit", "output", "idle:MS", "match:REGEX", "port:N", or a list of them'


class _Wording(Wording):
    """The contract's own: a parse failure that quotes the field."""

    string = "a string"
    strings = "an array of strings"

    def not_an_object(self, tool: str, given: object) -> ToolFailure:  # noqa: ARG002 - no tool is named
        return failure("misread", problem=f"expected an object with named fields; got {shown(given)}")

    def unknown(self, tool: str, names: "Sequence[object]", known: "Sequence[str]") -> ToolFailure:  # noqa: ARG002
        fields = ", ".join(f"`{one}`" for one in known) or "none"
        return _misread(f"unknown field {shown(names[0])}; there are {fields}", names[0])

    def missing(self, tool: str, name: str, about: str) -> ToolFailure:  # noqa: ARG002
        return _misread(f"missing field `{name}`", name)

    def wrong(self, tool: str, name: str, problem: str) -> ToolFailure:  # noqa: ARG002
        return _misread(f"`{name}` {problem}", name)


def _misread(problem: str, field: object) -> ToolFailure:
    return failure("misread", problem=problem, field=field)


_WORDING = _Wording()
_SCHEMAS = {name: tool["parameters"] for name, tool in definitions().items()}


class ExecArguments(Value):
    """The arguments of exec_command; None is absent."""

    cmd: str
    workdir: str | None = None
    shell: str | None = None
    login: bool = True
    tty: bool = False
    input: tuple[str, ...] = ()
    view: "View | None" = None
    yield_seconds: float = YIELD_MS / 1000
    max_output_tokens: int = MAX_OUTPUT_TOKENS
    sandbox_permissions: str = PERMISSIONS[0]
    justification: str | None = None
    prefix_rule: tuple[str, ...] | None = None
    wait_for: Wanted = NOTHING
    render: str = RENDERS[0]
    timeout: float | None = None
    idle_timeout: float | None = None
    separate_streams: bool = False
    rows: int = ROWS
    columns: int = COLUMNS


class WriteArguments(Value):
    """The arguments of write_stdin; a `render` of None is that of the session."""

    session_id: int
    chars: str = ""
    yield_seconds: float = WRITE_YIELD_MS / 1000
    max_output_tokens: int = MAX_OUTPUT_TOKENS
    wait_for: Wanted = NOTHING
    view: "View | None" = None
    render: str | None = None
    keys: bool = False

    def data(self, application: bool = False) -> bytes:
        """Return the bytes to write; `application` if the program wants the other form of cursor keys."""
        if not self.keys:
            return self.chars.encode("utf-8", "surrogateescape")
        from agent_exec.terminal.keys import translate

        return translate(self.chars, application)


def parse_exec(arguments: object, terms: "Terms" = USUAL, *, patient: bool = True) -> ExecArguments:
    """Return the arguments of exec_command; raise a ToolFailure that says what is wrong with them.

    A client that is not `patient` gets an answer within the time of the terms by default.
    """
    given = parse("exec_command", arguments, () if terms.request_rule else ("prefix_rule",))
    permissions = given.get("sandbox_permissions")
    typed = _typed(given)
    usual = YIELD_MS if patient or terms.patience_ms is None else terms.patience_ms
    parsed = ExecArguments(
        cmd=given["cmd"],
        workdir=given.get("workdir") or None,
        shell=given.get("shell") or None,
        login=given.get("login", terms.allow_login),
        tty=given.get("tty", bool(typed)),
        input=typed,
        yield_seconds=_clamped(given.get("yield_time_ms", usual), LEAST_YIELD_MS, MOST_YIELD_MS),
        max_output_tokens=_tokens(given, terms),
        view=_view(given, terms),
        sandbox_permissions=permissions or PERMISSIONS[0],
        justification=given.get("justification") or None,
        prefix_rule=tuple(given.get("prefix_rule", ())) or None,
        wait_for=_wanted(given),
        render=given.get("render", RENDERS[0]),
        timeout=_seconds(given, "timeout_ms"),
        idle_timeout=_seconds(given, "idle_timeout_ms"),
        separate_streams=given.get("separate_streams", False),
        rows=given.get("rows", ROWS),
        columns=given.get("columns", COLUMNS),
    )
    if parsed.login and not terms.allow_login:
        raise failure("login_refused")
    if parsed.justification and permissions is None:
        raise ToolFailure(
            "`justification` was given without `sandbox_permissions`; set `sandbox_permissions` "
            f"explicitly ({' or '.join(PERMISSIONS)}), or leave `justification` out"
        )
    check_size(parsed.rows, parsed.columns)
    if parsed.separate_streams and parsed.tty:
        raise ToolFailure("a terminal has one stream; set `tty` or `separate_streams`, not both")
    if parsed.input and not parsed.tty:
        raise ToolFailure("only a terminal can be typed on; set `tty` to true, or leave `input` out")
    if parsed.render == "screen" and not parsed.tty:
        raise ToolFailure('only a terminal has a screen; set `tty` to true, or leave `render` at "text"')
    return parsed


def parse_write(arguments: object, terms: "Terms" = USUAL, *, patient: bool = True) -> WriteArguments:
    """Return the arguments of write_stdin; without `chars` it is a poll, and waits longer.

    A client that is not `patient` gets an answer within the time of the terms by default.
    """
    given = parse("write_stdin", arguments)
    chars = given.get("chars", "")
    usual = WRITE_YIELD_MS if terms.patience_ms is None else terms.patience_ms
    waited = max(given.get("yield_time_ms", usual), LEAST_YIELD_MS)
    least, most = (LEAST_YIELD_MS, MOST_YIELD_MS) if chars else (LEAST_POLL_MS, terms.background_max_ms)
    if "yield_time_ms" not in given and terms.patience_ms is not None and not patient:
        least = LEAST_YIELD_MS
    parsed = WriteArguments(
        session_id=given["session_id"],
        chars=chars,
        yield_seconds=_clamped(waited, least, most),
        max_output_tokens=_tokens(given, terms),
        view=_view(given, terms),
        wait_for=_wanted(given),
        render=given.get("render"),
        keys=given.get("keys", False),
    )
    try:
        parsed.data()
    except InvalidArgument as error:
        raise ToolFailure(f"write_stdin failed: {error.message}", **error.details) from None
    return parsed


def parse_read(arguments: object) -> tuple[int, int, int]:
    """Return the session of read_output, the offset of the first byte and the most bytes to read."""
    given = parse("read_output", arguments)
    return given["session_id"], given.get("from", 0), min(given.get("max_bytes", MAX_BYTES), MOST_BYTES)


def parse_view(arguments: object) -> "View | None":
    """Return the view of read_output, if there is one."""
    return _view(parse("read_output", arguments), USUAL)


def check_size(rows: int, columns: int) -> None:
    """Raise a ToolFailure for a terminal whose screen would take too much memory."""
    if rows * columns > MOST_CELLS:
        raise _misread(
            f"`rows` times `columns` must be at most {MOST_CELLS}; got {rows} times {columns}", "rows"
        )


def parse_id(arguments: object) -> int:
    """Return the session of kill_session, close_stdin or detach."""
    session_id: int = parse("kill_session", arguments)["session_id"]
    return session_id


def parse(tool: str, arguments: object, ignored: "Sequence[str]" = ()) -> "dict[str, Any]":
    """Return the fields of a call, valid by the tool's schema; null is the same as absent."""
    schema = _SCHEMAS[tool]
    fields = _loaded(arguments) if isinstance(arguments, str | bytes) else arguments
    fields = present(schema, {} if fields is None else fields, ignored)
    return check(tool, schema, fields, _WORDING)


def _loaded(text: str | bytes) -> object:
    """Return the value of a JSON text; an empty one has no arguments."""
    from agent_exec.model.jsonline import load

    try:
        written = text.decode() if isinstance(text, bytes) else text
        return load(written.strip()) if written.strip() else {}
    except (ValueError, RecursionError) as error:
        raise failure("misread", problem=f"expected an object of JSON; {error}") from None


def _typed(given: "dict[str, Any]") -> tuple[str, ...]:
    """Return what is to be typed, one text for each time that the program waits for input."""
    value = given.get("input", [])
    texts = value if isinstance(value, list | tuple) else [value]
    for text in texts:
        if not isinstance(text, str):
            raise _misread(f"`input` must be a string or an array of strings; got {shown(text)}", "input")
        try:
            text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise _misread(
                f"`input` has half of a surrogate pair at character {error.start}", "input"
            ) from None
    return tuple(text for text in texts if text)


def _clamped(milliseconds: int, least: int, most: int) -> float:
    return min(max(milliseconds, least), most) / 1000


def _seconds(given: "dict[str, Any]", name: str) -> float | None:
    return given[name] / 1000 if name in given else None


def _tokens(given: "dict[str, Any]", terms: "Terms") -> int:
    tokens: int = given.get("max_output_tokens", terms.max_output_tokens)
    return tokens if terms.most_output_tokens is None else min(tokens, terms.most_output_tokens)


def _view(given: "dict[str, Any]", terms: "Terms") -> "View | None":
    """Return the view that is asked for; None cuts the middle out, as the contract has it.

    That is the default of a call that states a budget, and of all calls unless the terms are brief.
    """
    if "view" not in given:
        return AUTO if terms.brief and "max_output_tokens" not in given else None
    try:
        view = view_of(given["view"])
    except InvalidArgument as error:
        raise _misread(f"`view`: {error.message}", "view") from None
    if view.kind == "since" and not view.cursor.isdecimal():
        raise _misread(f"`view`: {view.cursor!r} is not a cursor; use that of an earlier answer", "view")
    return view


def _wanted(given: "dict[str, Any]") -> Wanted:
    """Return the conditions that end the wait early: any of them does."""
    value = given.get("wait_for", [])
    kinds: set[str] = set()
    idle: list[float] = []
    ports: list[int] = []
    regexes: list[str] = []
    for word in value if isinstance(value, list | tuple) else [value]:
        kind, colon, rest = word.partition(":") if isinstance(word, str) else ("", "", "")
        number = int(rest) if rest.isascii() and rest.isdigit() and len(rest) <= 12 else 0
        kinds.add(kind)
        if kind == "match" and rest:
            regexes.append(_checked(rest))
        elif kind == "idle" and 1 <= number <= LONGEST_MS:
            idle.append(number / 1000)
        elif kind == "port" and 1 <= number <= 65535:
            ports.append(number)
        elif kind not in ("exit", "output") or colon:
            raise _misread(f"`wait_for` must be {CONDITIONS}; got {shown(word)}", "wait_for")
    return Wanted(
        only_exit=kinds == {"exit"},
        output="output" in kinds,
        idle=min(idle, default=None),
        ports=tuple(dict.fromkeys(ports)),
        regexes=tuple(dict.fromkeys(regexes)),
    )


def _checked(text: str) -> str:
    from agent_exec.model.patterns import engine

    regex = engine()
    field = "wait_for"
    if len(text) > LONGEST_REGEX:
        raise _misread(f"`{field}` has a regular expression of over {LONGEST_REGEX} characters", field)
    try:
        regex.compile(text.encode())
    except (regex.error, ValueError, OverflowError, RecursionError) as error:
        problem = f"`{field}` has a bad regular expression, {shown(text)}: {error}"
        raise failure("misread", problem=problem, field=field, position=getattr(error, "pos", None)) from None
    return text
