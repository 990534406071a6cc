"""What models ask for: fields, defaults, clamps, refusals."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_exec.faces.session.arguments import (
    ExecArguments,
    WriteArguments,
    parse,
    parse_exec,
    parse_id,
    parse_read,
    parse_write,
)
from agent_exec.faces.session.definitions import Terms
from agent_exec.faces.session.failures import ToolFailure
from agent_exec.model.errors import InvalidArgument
from agent_exec.sessions.wanted import NOTHING, Wanted
from agent_exec.views.wanted import View

EXEC_FIELDS = (
    *("cmd", "workdir", "shell", "login", "tty", "input", "yield_time_ms", "max_output_tokens"),
    *("sandbox_permissions", "justification", "prefix_rule"),
    *("view", "wait_for", "render", "timeout_ms", "idle_timeout_ms", "separate_streams", "rows", "columns"),
)
WRITE_FIELDS = (
    "session_id",
    "chars",
    "yield_time_ms",
    "max_output_tokens",
    "view",
    "wait_for",
    "render",
    "keys",
)
steady = settings(deadline=None, derandomize=True, max_examples=150)
MISREAD = "failed to parse function arguments: "


def parse_list(arguments: object) -> object:
    return parse("list_sessions", arguments)


def parse_resize(arguments: object) -> object:
    return parse("resize", arguments)


def parse_patch(arguments: object) -> object:
    return parse("apply_patch", arguments)


PARSERS = [parse_exec, parse_write, parse_read, parse_list, parse_id, parse_resize, parse_patch]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
parsers = pytest.mark.parametrize("parse", PARSERS, ids=lambda parse: parse.__name__)


def exec_of(terms: Terms | None = None, **fields: object) -> ExecArguments:
    return parse_exec({"cmd": "ls", **fields}, terms or Terms())


def write_of(terms: Terms | None = None, **fields: object) -> WriteArguments:
    return parse_write({"session_id": 1000, **fields}, terms or Terms())


def test_only_cmd_is_needed() -> None:
    """Seed §2: every field but `cmd` has a default."""
    assert parse_exec({"cmd": "ls"}) == ExecArguments(
        cmd="ls",
        workdir=None,
        shell=None,
        login=True,
        tty=False,
        yield_seconds=10.0,
        max_output_tokens=10_000,
        sandbox_permissions="use_default",
        justification=None,
        prefix_rule=None,
        wait_for=NOTHING,
        render="text",
        timeout=None,
        idle_timeout=None,
        separate_streams=False,
        rows=24,
        columns=80,
    )


def test_every_field_is_taken() -> None:
    """Seed §2, and ours beyond it."""
    asked = {
        "cmd": "make",
        "workdir": "src",
        "shell": "/bin/zsh",
        "login": False,
        "tty": True,
        "input": ["yes\n", "no\n"],
        "yield_time_ms": 1500,
        "max_output_tokens": 7,
        "sandbox_permissions": "require_escalated",
        "justification": "May I?",
        "prefix_rule": ["make", "install"],
        "view": "tail",
        "wait_for": ["exit", "port:80"],
        "render": "screen",
        "timeout_ms": 60_000,
        "idle_timeout_ms": 1,
        "separate_streams": False,
        "rows": 2,
        "columns": 2000,
    }
    assert set(asked) == set(EXEC_FIELDS)
    assert parse_exec(asked) == ExecArguments(
        cmd="make",
        workdir="src",
        shell="/bin/zsh",
        login=False,
        tty=True,
        input=("yes\n", "no\n"),
        yield_seconds=1.5,
        max_output_tokens=7,
        sandbox_permissions="require_escalated",
        justification="May I?",
        prefix_rule=("make", "install"),
        view=View("tail"),
        wait_for=Wanted(ports=(80,)),
        render="screen",
        timeout=60.0,
        idle_timeout=0.001,
        separate_streams=False,
        rows=2,
        columns=2000,
    )


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        (None, 10.0),
        (0, 0.25),
        (249, 0.25),
        (250, 0.25),
        (251, 0.251),
        (29_999, 29.999),
        (30_000, 30.0),
        (30_001, 30.0),
        (10**30, 30.0),
        (1000.0, 1.0),
    ],
)
def test_how_long_exec_command_waits(asked: float | None, seconds: float) -> None:
    """Reference §1.1: 10 000 by default, clamped to 250…30 000."""
    assert exec_of(yield_time_ms=asked).yield_seconds == seconds


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [(None, 0.25), (0, 0.25), (249, 0.25), (250, 0.25), (251, 0.251), (30_000, 30.0), (30_001, 30.0)],
)
def test_how_long_a_write_waits(asked: int | None, seconds: float) -> None:
    """Reference §1.2: 250 by default, non-empty input 250…30 000."""
    assert write_of(chars="x", yield_time_ms=asked).yield_seconds == seconds


@pytest.mark.parametrize(
    ("most", "asked", "seconds"),
    [
        (300_000, None, 5.0),
        (300_000, 4_999, 5.0),
        (300_000, 5_000, 5.0),
        (300_000, 5_001, 5.001),
        (300_000, 300_000, 300.0),
        (300_000, 300_001, 300.0),
        (60_000, 60_001, 60.0),
        (5_000, 9_000, 5.0),
        (4_999, 9_000, 5.0),
        (0, None, 5.0),
    ],
)
def test_how_long_a_poll_waits(most: int, asked: int | None, seconds: float) -> None:
    """Reference §1.2: empty polls 5 000…max_background, which is never below 5 000."""
    assert write_of(Terms(background_max_ms=most), yield_time_ms=asked).yield_seconds == seconds
    assert write_of(Terms(background_max_ms=most), chars="", yield_time_ms=asked).yield_seconds == seconds


@steady
@given(st.integers(0, 10**9), st.text(max_size=2), st.integers(0, 10**6))
def test_waits_are_always_within_bounds(asked: int, chars: str, most: int) -> None:
    """Reference §1.1, §1.2."""
    assert 0.25 <= exec_of(yield_time_ms=asked).yield_seconds <= 30
    seconds = parse_write(
        {"session_id": 1, "chars": chars, "yield_time_ms": asked}, Terms(background_max_ms=most)
    ).yield_seconds
    assert (0.25 <= seconds <= 30) if chars else (5 <= seconds <= max(5, most / 1000))


@pytest.mark.parametrize("name", ["workdir", "shell", "justification"])
def test_an_empty_text_is_absent(name: str) -> None:
    """Seed §2: an empty `workdir` is none."""
    assert getattr(parse_exec({"cmd": "ls", name: ""}), name) is None


def test_an_empty_command_is_one() -> None:
    """Reference §1.1: the script is given to a shell, whatever it is."""
    assert exec_of(cmd="").cmd == ""


def test_login_shells_can_be_forbidden() -> None:
    """Reference §1.1: explicit true when disallowed is an error; else it is false."""
    never = Terms(allow_login=False)
    assert exec_of(never).login is False
    assert exec_of(never, login=False).login is False
    with pytest.raises(ToolFailure) as caught:
        exec_of(never, login=True)
    assert caught.value.message == "login shell is disabled by config; omit `login` or set it to false."


def test_a_justification_needs_permissions() -> None:
    """Reference §1.1."""
    with pytest.raises(ToolFailure, match=r"set `sandbox_permissions` explicitly .* or leave"):
        exec_of(justification="why not")
    assert exec_of(justification="so", sandbox_permissions="use_default").justification == "so"


@pytest.mark.parametrize(
    ("terms", "asked", "kept"),
    [
        (Terms(), ["a", "b"], ("a", "b")),
        (Terms(), [], None),
        (Terms(), None, None),
        (Terms(request_rule=False), ["a", "b"], None),
        (Terms(request_rule=False), "of no kind", None),
    ],
)
def test_a_rule_is_dropped_where_none_is_wanted(terms: Terms, asked: object, kept: object) -> None:
    """Seed §2: `prefix_rule` is only kept if RequestRule is on."""
    assert exec_of(terms, prefix_rule=asked).prefix_rule == kept


@pytest.mark.parametrize(("asked", "shown"), [(None, 10_000), (0, 0), (5, 5), (10_001, 10_001)])
def test_how_much_is_shown(asked: int | None, shown: int) -> None:
    """Seed §2: `max_output_tokens`; reference §1.1: at most what the model takes, if that is known."""
    assert exec_of(max_output_tokens=asked).max_output_tokens == shown
    assert write_of(max_output_tokens=asked).max_output_tokens == shown
    assert exec_of(Terms(most_output_tokens=7), max_output_tokens=asked).max_output_tokens == min(shown, 7)


@pytest.mark.parametrize(
    ("word", "condition"),
    [
        ("exit", Wanted(only_exit=True)),
        ("output", Wanted(output=True)),
        ("idle:1", Wanted(idle=0.001)),
        ("idle:2500", Wanted(idle=2.5)),
        ("match:a:b", Wanted(regexes=("a:b",))),
        ("match: $", Wanted(regexes=(" $",))),
        ("port:1", Wanted(ports=(1,))),
        ("port:65535", Wanted(ports=(65535,))),
    ],
)
def test_what_may_be_waited_for(word: str, condition: Wanted) -> None:
    """Issue 6, better 1: `wait_for`."""
    assert exec_of(wait_for=word).wait_for == condition
    assert write_of(wait_for=[word, "exit", word]).wait_for == condition


def test_any_of_many_conditions_ends_the_wait() -> None:
    """Issue 6, better 1: only `exit` alone waits through a program that waits for input."""
    words = ["idle:9", "match:a", "port:2", "output", "match:b", "idle:5", "port:1", "exit"]
    wanted = Wanted(output=True, idle=0.005, ports=(2, 1), regexes=("a", "b"))
    assert exec_of(wait_for=words).wait_for == wanted
    assert exec_of(wait_for=[]).wait_for == exec_of().wait_for == NOTHING


@pytest.mark.parametrize(
    "word",
    [
        *"exits exit: output:1 idle idle: idle:0 idle:-1 idle:1.5 idle:x match match: port:0".split(),
        *("", "port:65536", 0, False, "port:x", "port:", "idle:" + "9" * 30, 5, None, ["exit"], {}),
    ],
)
def test_what_may_not_be_waited_for(word: object) -> None:
    """Issue 6, better 1: `wait_for`."""
    with pytest.raises(ToolFailure, match=f"^{MISREAD}`wait_for` must be one of"):
        exec_of(wait_for=[word])
    if word is not None and not isinstance(word, list):
        with pytest.raises(ToolFailure, match=f"^{MISREAD}`wait_for` must be one of"):
            exec_of(wait_for=word)


@pytest.mark.parametrize(
    ("regex", "says", "place"),
    [
        ("a(b", r"missing \) at position 3", 3),
        ("*", "nothing to repeat at position 0", 0),
        ("a{" + "9" * 40 + "}", "too big at position 2", 2),
        ("(" * 1000, "maximum recursion", None),
        ("\udcff", "not allowed", None),
    ],
)
def test_a_bad_expression_is_refused_with_its_place(regex: str, says: str, place: int | None) -> None:
    """Issue 6, better 1: `match:REGEX`."""
    with pytest.raises(ToolFailure, match=says) as caught:
        exec_of(wait_for="match:" + regex)
    assert caught.value.details["position"] == place
    with pytest.raises(ToolFailure, match="over 2000"):
        exec_of(wait_for="match:" + "a" * 2001)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"tty": True, "separate_streams": True}, "one stream"),
        ({"render": "screen"}, "set `tty` to true"),
    ],
)
def test_what_does_not_go_together(fields: dict[str, Any], says: str) -> None:
    """Issue 6, better 4 and 5."""
    with pytest.raises(ToolFailure, match=says):
        exec_of(**fields)


def test_keys_are_translated_and_checked() -> None:
    """Issue 6, better 3: named keys."""
    assert write_of(chars="a<C-c>").data() == b"a<C-c>"
    assert write_of(chars="a<C-c>", keys=True).data() == b"a\x03"
    assert write_of(chars="<Up>", keys=True).data(application=True) == b"\x1bOA"
    assert write_of(chars="\x00é\udc80").data() == b"\x00\xc3\xa9\x80"
    with pytest.raises(ToolFailure, match=r"^write_stdin failed: unknown key <Nope>"):
        write_of(chars="<Nope>", keys=True)


def test_write_stdin_has_defaults() -> None:
    """Reference §1.2; a render of None is that of the session."""
    assert parse_write({"session_id": 5}) == WriteArguments(session_id=5, yield_seconds=5.0)
    assert parse_write({"session_id": 5.0, "render": "raw"}).render == "raw"


def test_the_further_tools() -> None:
    """Issue 6, better 2 and 3."""
    assert parse_read({"session_id": 5}) == (5, 0, 40_000)
    assert parse_read({"session_id": 5, "from": 7, "max_bytes": 1 << 21}) == (5, 7, 1 << 20)
    assert parse_id({"session_id": 99_999}) == 99_999
    asked = {"session_id": 5, "rows": 1, "columns": 2000}
    assert parse_resize(asked) == asked
    assert parse_patch({"input": "*** Begin", "workdir": None}) == {"input": "*** Begin"}
    empty: list[object] = [None, {}, "", "{}", b" {} "]
    for nothing in empty:
        parse_list(nothing)


@pytest.mark.parametrize(
    ("parse", "asked", "says"),
    [
        (parse_exec, {}, "missing field `cmd`"),
        (parse_exec, {"cmd": None}, "missing field `cmd`"),
        (parse_exec, {"cmd": 5}, "`cmd` must be a string; got 5"),
        (parse_exec, {"cmd": ["ls"]}, "`cmd` must be a string; got an array"),
        (parse_exec, {"cmd": "a\0"}, "`cmd` must not contain a NUL character"),
        (parse_exec, {"cmd": "a\ud800"}, "`cmd` has half of a surrogate pair at character 1"),
        (parse_exec, {"cmd": "", "workdir": {}}, "`workdir` must be a string; got an object"),
        (parse_exec, {"cmd": "", "shell": True}, "`shell` must be a string; got true"),
        (parse_exec, {"cmd": "", "login": "yes"}, "`login` must be a boolean; got 'yes'"),
        (parse_exec, {"cmd": "", "tty": 1}, "`tty` must be a boolean; got 1"),
        (parse_exec, {"cmd": "", "yield_time_ms": "5"}, "`yield_time_ms` must be a whole number, 0 or more; got '5'"),
        (parse_exec, {"cmd": "", "yield_time_ms": -1}, "`yield_time_ms` must be a whole number, 0 or more; got -1"),
        (parse_exec, {"cmd": "", "yield_time_ms": 1.5}, "`yield_time_ms` must be a whole number, 0 or more; got 1.5"),
        (parse_exec, {"cmd": "", "yield_time_ms": True}, "`yield_time_ms` must be a whole number, 0 or more; got true"),
        (parse_exec, {"cmd": "", "timeout_ms": 0}, "`timeout_ms` must be a whole number from 1 to 31622400000; got 0"),
        (parse_exec, {"cmd": "", "rows": 0}, "`rows` must be a whole number from 1 to 2000; got 0"),
        (parse_exec, {"cmd": "", "columns": 2001}, "`columns` must be a whole number from 1 to 2000; got 2001"),
        (parse_exec, {"cmd": "", "rows": 2000, "columns": 126}, "`rows` times `columns` must be at most 250000; got 2000 times 126"),
        (parse_exec, {"cmd": "", "sandbox_permissions": "all"}, "`sandbox_permissions` must be one of use_default, require_escalated; got 'all'"),
        (parse_exec, {"cmd": "", "render": "svg"}, "`render` must be one of text, screen, raw; got 'svg'"),
        (parse_exec, {"cmd": "", "prefix_rule": "git"}, "`prefix_rule` must be an array of strings; got 'git'"),
        (parse_exec, {"cmd": "", "prefix_rule": [1]}, "`prefix_rule` must be an array of strings; got an array"),
        (parse_exec, {"cmd": "", "command": 1}, f"unknown field 'command'; there are {', '.join(f'`{n}`' for n in EXEC_FIELDS)}"),
        (parse_exec, ["ls"], "expected an object with named fields; got an array"),
        (parse_exec, "ls", "expected an object of JSON; no JSON value"),
        (parse_exec, b"\xff", "expected an object of JSON; 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        (parse_write, {}, "missing field `session_id`"),
        (parse_write, {"session_id": "7"}, "`session_id` must be a whole number, 0 or more; got '7'"),
        (parse_write, {"session_id": 7, "keys": "no"}, "`keys` must be a boolean; got 'no'"),
        (parse_write, {"session_id": 7, "cmd": ""}, "unknown field 'cmd'; there are `session_id`, `chars`, `yield_time_ms`, `max_output_tokens`, `view`, `wait_for`, `render`, `keys`"),
        (parse_read, {"session_id": 7, "max_bytes": 0}, "`max_bytes` must be a whole number, 1 or more; got 0"),
        (parse_read, {"session_id": 7, "from": -1}, "`from` must be a whole number, 0 or more; got -1"),
        (parse_list, {"all": True}, "unknown field 'all'; there are none"),
        (parse_id, {}, "missing field `session_id`"),
        (parse_resize, {"session_id": 7, "rows": 5}, "missing field `columns`"),
        (parse_patch, {}, "missing field `input`"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(parse: Any, asked: object, says: str) -> None:
    """Reference §1.1: a parse failure begins so; ours names the field and what it must be."""
    with pytest.raises(ToolFailure) as caught:
        parse(asked)
    assert caught.value.message == MISREAD + says


def test_arguments_may_be_json() -> None:
    """Reference §1.1: the handler deserialises."""
    assert parse_exec(' {"cmd": "ls", "yield_time_ms": 1000}\n') == exec_of(yield_time_ms=1000)
    for wrong in ("{", "[" * 100_000, '{"cmd": ' + "9" * 5000 + "}", "5", '"x"', '{"cmd": "ls"} x'):
        with pytest.raises(ToolFailure, match=f"^{MISREAD}"):
            parse_exec(wrong)


@parsers
@steady
@given(data=st.data())
def test_any_input_is_accepted_or_refused(parse: Any, data: st.DataObject) -> None:
    """Reference §1.1: no other error comes out."""
    names = st.sampled_from([*EXEC_FIELDS, *WRITE_FIELDS, "from", "max_bytes", "input", "x"])
    asked = data.draw(st.dictionaries(names, json_values, max_size=6) | json_values)
    said = "taken"
    try:
        parse(asked)
    except ToolFailure as failure:
        said = failure.message
    assert 0 < len(said) < 600


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "5"])
def test_terms_are_checked(wrong: Any) -> None:
    """Reference §1.2: never below 5 000."""
    for name in ("background_max_ms", "max_output_tokens", "most_output_tokens"):
        with pytest.raises(InvalidArgument, match=name):
            Terms(**{name: wrong})
    assert Terms(background_max_ms=1).background_max_ms == 5000
    assert Terms().replace(allow_login=False) == Terms(allow_login=False)


def test_input_is_typed_on_a_terminal() -> None:
    asked = parse_exec({"cmd": "x", "input": "yes\n"})
    assert (asked.tty, asked.input) == (True, ("yes\n",))
    assert parse_exec({"cmd": "x", "input": ""}).tty is False
    for wrong, said in (
        ({"input": "y", "tty": False}, "only a terminal can be typed on"),
        ({"input": [5]}, "`input` must be a string or an array of strings; got 5"),
        ({"input": ["\ud800"]}, "`input` has half of a surrogate pair at character 0"),
    ):
        with pytest.raises(ToolFailure) as caught:
            parse_exec({"cmd": "x", **wrong})
        assert said in caught.value.message


@pytest.mark.parametrize("patient", [False, True])
def test_a_client_without_progress_hears_within_the_patience_of_the_terms(patient: bool) -> None:
    terms = Terms(patience_ms=4000)
    assert parse_exec({"cmd": "x"}, terms, patient=patient).yield_seconds == (10.0 if patient else 4.0)
    assert parse_write({"session_id": 1}, terms, patient=patient).yield_seconds == (5.0 if patient else 4.0)
    typed = {"session_id": 1, "chars": "x"}
    assert (
        parse_write(typed, terms, patient=patient).yield_seconds == 4.0
    )  # less, if it waits for input again
    longer = {"session_id": 1, "yield_time_ms": 20_000}
    assert parse_write(longer, terms, patient=patient).yield_seconds == 20.0
    assert parse_exec({"cmd": "x", "yield_time_ms": 9000}, terms, patient=patient).yield_seconds == 9.0
