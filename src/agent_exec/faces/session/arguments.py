"""The arguments of a call, validated and complete; times are seconds from here on."""

from agent_exec.faces.session.definitions import definitions
from agent_exec.faces.session.failures import ToolFailure, login_refused, misread
from agent_exec.faces.session.terms import (
    COLUMNS,
    LEAST_POLL_MS,
    LEAST_YIELD_MS,
    LONGEST_MS,
    MAX_BYTES,
    MAX_OUTPUT_TOKENS,
    MOST_BYTES,
    MOST_YIELD_MS,
    PERMISSIONS,
    RENDERS,
    ROWS,
    USUAL,
    WRITE_YIELD_MS,
    YIELD_MS,
)
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.value import Value
from agent_exec.tools.schema import Wording, check, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Sequence
    from typing import Any

    from agent_exec.faces.session.terms import Terms

LONGEST_REGEX = 2_000
CONDITIONS = 'one of "exit", "output", "idle:MS", "match:REGEX", "port:N", or a list of them'


class _Wording(Wording):
    """The contract's own: a parse failure that quotes the field."""

    string = "a string"
    strings = "an array of strings"

    def not_an_object(self, tool: str, given: object) -> ToolFailure:  # noqa: ARG002 - no tool is named
        return misread(f"expected an object with named fields; got {shown(given)}")

    def unknown(self, tool: str, names: "Sequence[object]", known: "Sequence[str]") -> ToolFailure:  # noqa: ARG002
        fields = ", ".join(f"`{one}`" for one in known) or "none"
        return misread(f"unknown field {shown(names[0])}; there are {fields}", field=names[0])

    def missing(self, tool: str, name: str, about: str) -> ToolFailure:  # noqa: ARG002
        return misread(f"missing field `{name}`", field=name)

    def wrong(self, tool: str, name: str, problem: str) -> ToolFailure:  # noqa: ARG002
        return misread(f"`{name}` {problem}", field=name)


_WORDING = _Wording()
_SCHEMAS = {name: tool["parameters"] for name, tool in definitions().items()}


class Condition(Value):
    """One thing that ends a wait: `kind` is exit, output, idle (`seconds`), match (`regex`) or port."""

    kind: str
    seconds: float | None = None
    regex: str | None = None
    port: int | None = None

    def pattern(self) -> "re.Pattern[str]":
        """Return the regular expression, compiled."""
        import re

        return re.compile(self.regex or "")


class ExecArguments(Value):
    """The arguments of exec_command; None is absent."""

    cmd: str
    workdir: str | None = None
    shell: str | None = None
    login: bool = True
    tty: bool = False
    yield_seconds: float = YIELD_MS / 1000
    max_output_tokens: int = MAX_OUTPUT_TOKENS
    sandbox_permissions: str = PERMISSIONS[0]
    justification: str | None = None
    prefix_rule: tuple[str, ...] | None = None
    wait_for: tuple[Condition, ...] = ()
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
    wait_for: tuple[Condition, ...] = ()
    render: str | None = None
    keys: bool = False

    def data(self, application: bool = False) -> bytes:
        """Return the bytes to write; `application` if the program wants the other form of cursor keys."""
        if not self.keys:
            return self.chars.encode("utf-8", "surrogateescape")
        from agent_exec.terminal.keys import translate

        return translate(self.chars, application)


class ReadArguments(Value):
    """The arguments of read_output: `max_bytes` of a transcript, `start` bytes from its beginning."""

    session_id: int
    start: int = 0
    max_bytes: int = MAX_BYTES


class ResizeArguments(Value):
    """The arguments of resize."""

    session_id: int
    rows: int
    columns: int


class PatchArguments(Value):
    """The arguments of apply_patch."""

    input: str
    workdir: str | None = None


def parse_exec(arguments: object, terms: "Terms" = USUAL) -> ExecArguments:
    """Return the arguments of exec_command; raise a ToolFailure that says what is wrong with them."""
    given = _given("exec_command", arguments, () if terms.request_rule else ("prefix_rule",))
    permissions = given.get("sandbox_permissions")
    parsed = ExecArguments(
        cmd=given["cmd"],
        workdir=given.get("workdir") or None,
        shell=given.get("shell") or None,
        login=given.get("login", terms.allow_login),
        tty=given.get("tty", False),
        yield_seconds=clamped(given.get("yield_time_ms", YIELD_MS), LEAST_YIELD_MS, MOST_YIELD_MS),
        max_output_tokens=_tokens(given, terms),
        sandbox_permissions=permissions or PERMISSIONS[0],
        justification=given.get("justification") or None,
        prefix_rule=tuple(given.get("prefix_rule", ())) or None,
        wait_for=_conditions(given),
        render=given.get("render", RENDERS[0]),
        timeout=_seconds(given, "timeout_ms"),
        idle_timeout=_seconds(given, "idle_timeout_ms"),
        separate_streams=given.get("separate_streams", False),
        rows=given.get("rows", ROWS),
        columns=given.get("columns", COLUMNS),
    )
    if parsed.login and not terms.allow_login:
        raise login_refused()
    if parsed.justification and permissions is None:
        raise ToolFailure(
            "`justification` was given without `sandbox_permissions`; set `sandbox_permissions` "
            f"explicitly ({' or '.join(PERMISSIONS)}), or leave `justification` out"
        )
    if parsed.separate_streams and parsed.tty:
        raise ToolFailure("a terminal has one stream; set `tty` or `separate_streams`, not both")
    if parsed.render == "screen" and not parsed.tty:
        raise ToolFailure('only a terminal has a screen; set `tty` to true, or leave `render` at "text"')
    return parsed


def parse_write(arguments: object, terms: "Terms" = USUAL) -> WriteArguments:
    """Return the arguments of write_stdin; without `chars` it is a poll, and waits longer."""
    given = _given("write_stdin", arguments)
    chars = given.get("chars", "")
    waited = max(given.get("yield_time_ms", WRITE_YIELD_MS), LEAST_YIELD_MS)
    least, most = (LEAST_YIELD_MS, MOST_YIELD_MS) if chars else (LEAST_POLL_MS, terms.background_max_ms)
    parsed = WriteArguments(
        session_id=given["session_id"],
        chars=chars,
        yield_seconds=clamped(waited, least, most),
        max_output_tokens=_tokens(given, terms),
        wait_for=_conditions(given),
        render=given.get("render"),
        keys=given.get("keys", False),
    )
    if parsed.keys:
        try:
            parsed.data()
        except InvalidArgument as error:
            raise ToolFailure(f"write_stdin failed: {error.message}", **error.details) from None
    return parsed


def parse_read(arguments: object, terms: "Terms" = USUAL) -> ReadArguments:  # noqa: ARG001
    """Return the arguments of read_output."""
    given = _given("read_output", arguments)
    return ReadArguments(
        session_id=given["session_id"],
        start=given.get("from", 0),
        max_bytes=min(given.get("max_bytes", MAX_BYTES), MOST_BYTES),
    )


def parse_list(arguments: object, terms: "Terms" = USUAL) -> None:  # noqa: ARG001
    """Refuse any argument of list_sessions: it has none."""
    _given("list_sessions", arguments)


def parse_id(arguments: object, terms: "Terms" = USUAL) -> int:  # noqa: ARG001
    """Return the session of kill_session, close_stdin or detach."""
    session_id: int = _given("kill_session", arguments)["session_id"]
    return session_id


def parse_resize(arguments: object, terms: "Terms" = USUAL) -> ResizeArguments:  # noqa: ARG001
    """Return the arguments of resize."""
    return ResizeArguments(**_given("resize", arguments))


def parse_patch(arguments: object, terms: "Terms" = USUAL) -> PatchArguments:  # noqa: ARG001
    """Return the arguments of apply_patch."""
    given = _given("apply_patch", arguments)
    return PatchArguments(input=given["input"], workdir=given.get("workdir") or None)


def clamped(milliseconds: int, least: int, most: int) -> float:
    """Return a time within its bounds, in seconds."""
    return min(max(milliseconds, least), most) / 1000


def _given(tool: str, arguments: object, ignored: "Sequence[str]" = ()) -> "dict[str, Any]":
    """Return the fields of a call, valid by the tool's schema; null is the same as absent."""
    schema = _SCHEMAS[tool]
    fields = _loaded(arguments) if isinstance(arguments, str | bytes) else arguments
    if fields is None:
        fields = {}
    elif isinstance(fields, dict):
        fields = {
            name: value
            for name, value in fields.items()
            if name not in schema["properties"] or (value is not None and name not in ignored)
        }
    return check(tool, schema, fields, _WORDING)


def _loaded(text: str | bytes) -> object:
    """Return the value of a JSON text; an empty one has no arguments."""
    from agent_exec.model.jsonline import load

    try:
        written = text.decode() if isinstance(text, bytes) else text
        return load(written.strip()) if written.strip() else {}
    except (ValueError, RecursionError) as error:
        raise misread(f"expected an object of JSON; {error}") from None


def _seconds(given: "dict[str, Any]", name: str) -> float | None:
    return given[name] / 1000 if name in given else None


def _tokens(given: "dict[str, Any]", terms: "Terms") -> int:
    tokens: int = given.get("max_output_tokens", terms.max_output_tokens)
    return tokens if terms.most_output_tokens is None else min(tokens, terms.most_output_tokens)


def _conditions(given: "dict[str, Any]") -> tuple[Condition, ...]:
    value = given.get("wait_for", [])
    words = [value] if isinstance(value, str) else value
    if not isinstance(words, list | tuple):
        raise _no_condition(value)
    return tuple(dict.fromkeys(map(_condition, words)))


def _condition(word: object) -> Condition:
    kind, colon, rest = word.partition(":") if isinstance(word, str) else ("", "", "")
    if kind in ("exit", "output") and not colon:
        return Condition(kind)
    if kind == "match" and rest:
        return Condition("match", regex=_checked_regex(rest))
    number = int(rest) if rest.isascii() and rest.isdigit() and len(rest) <= 12 else 0
    if kind == "idle" and 1 <= number <= LONGEST_MS:
        return Condition("idle", seconds=number / 1000)
    if kind == "port" and 1 <= number <= 65535:
        return Condition("port", port=number)
    raise _no_condition(word)


def _no_condition(value: object) -> ToolFailure:
    return misread(f"`wait_for` must be {CONDITIONS}; got {shown(value)}", field="wait_for")


def _checked_regex(regex: str) -> str:
    import re

    if len(regex) > LONGEST_REGEX:
        raise misread(
            f"`wait_for` has a regular expression of over {LONGEST_REGEX} characters", field="wait_for"
        )
    try:
        re.compile(regex)
    except (re.error, OverflowError, RecursionError) as error:
        raise misread(
            f"`wait_for` has a bad regular expression, {shown(regex)}: {error}",
            field="wait_for",
            position=getattr(error, "pos", None),
        ) from None
    return regex
