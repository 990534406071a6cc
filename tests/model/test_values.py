"""Values: what is asked is checked before anything happens, and says what to do."""

import inspect
import pickle

import pytest

import agent_exec
from agent_exec import Command, Limits, Terminal
from agent_exec.model import errors
from agent_exec.model.command import Variables
from agent_exec.model.errors import AgentExecError, InvalidArgument
from agent_exec.model.value import Value


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"timeout": 0}, "more than 0"),
        ({"timeout": -1}, "between 0 and"),
        ({"timeout": float("nan")}, "between 0 and"),
        ({"timeout": float("inf")}, "between 0 and"),
        ({"timeout": "5"}, "number of seconds"),
        ({"timeout": True}, "number of seconds"),
        ({"grace": -0.1}, "between 0 and"),
        ({"grace": None}, "number of seconds"),
        ({"drain": 1e12}, "between 0 and"),
        ({"overflow": "explode"}, "cut, stop"),
    ],
)
def test_limits_out_of_bounds_are_refused(wrong: dict[str, float], says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        Limits(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ("ls -l", "must be a list"),
        (b"ls", "must be a list"),
        ([], "must be a list"),
        (None, "must be a list"),
        (5, "must be a list"),
        ([""], "name a program"),
        (["a", "b\0c"], "NUL"),
        ([b"a\0"], "NUL"),
        (["a", 5], "must be text"),
        (["a", None], "must be text"),
    ],
)
def test_an_argv_that_is_none_is_refused(argv: list[str], says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        Command(argv)
    with pytest.raises(InvalidArgument, match=says):
        agent_exec.run(argv)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"cwd": "a\0b"}, "NUL"),
        ({"cwd": 5}, "must be text"),
        ({"env": {"A=B": "c"}}, "without '='"),
        ({"env": {"": "c"}}, "non-empty"),
        ({"env": {"A": "b\0"}}, "NUL"),
        ({"env": {"A": 1}}, "must be text"),
        ({"stdin": "text"}, "encode the text"),
        ({"keep": 5}, "Head, Tail"),
        ({"leftovers": "ignore"}, "kill, leave"),
        ({"on_output": 5}, "callable"),
    ],
)
def test_a_command_with_a_wrong_term_is_refused(wrong: dict[str, str], says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        Command(["true"], **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [0, -1, 65536, 1.5, True, "24"])
def test_a_terminal_of_no_size_is_refused(wrong: int) -> None:
    with pytest.raises(InvalidArgument, match="1 to 65535"):
        Terminal(wrong, 80)
    with pytest.raises(InvalidArgument, match="1 to 65535"):
        Terminal(24, wrong)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "64"])
def test_an_engine_of_no_slots_is_refused(wrong: int) -> None:
    with pytest.raises(InvalidArgument, match="slots"):
        agent_exec.Engine(slots=wrong)


def test_an_engine_starts_commands_and_nothing_else() -> None:
    with agent_exec.Engine() as engine, pytest.raises(InvalidArgument, match="takes a Command"):
        engine.start(["true"])  # type: ignore[arg-type]


def test_values_are_equal_by_their_fields_and_can_be_changed_into_others() -> None:
    assert Limits(timeout=5) == Limits(timeout=5)
    assert Limits(timeout=5) != Limits(timeout=6)
    assert Limits() != Terminal()
    assert hash(Terminal(1, 2)) == hash(Terminal(1, 2))
    assert Limits(timeout=5).replace(grace=1) == Limits(timeout=5, grace=1)
    assert repr(Terminal(1, 2)) == "Terminal(columns=2, rows=1)"
    with pytest.raises(InvalidArgument):
        Limits().replace(grace=-1)


def every_error() -> list[type[AgentExecError]]:
    found: list[type[AgentExecError]] = []
    rest = [AgentExecError]
    while rest:
        kind = rest.pop()
        found.append(kind)
        rest.extend(kind.__subclasses__())
    return found


def test_every_error_has_a_code_of_its_own_and_stands_in_the_tree() -> None:
    kinds = every_error()
    coded = [kind for kind in kinds if "code" in vars(kind)]
    assert len({kind.code for kind in coded}) == len(coded)
    for kind in kinds:
        if kind not in coded:  # the same to callers, but for whether a retry may help
            assert "retryable" in vars(kind)
        if kind.__module__ == errors.__name__:  # faces have some of their own
            assert kind.__name__ in (errors.__doc__ or "")


def test_errors_survive_pickling() -> None:
    error = errors.CommandNotFound("no program 'x'", program="x")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.code, copy.message, copy.details) == (
        errors.CommandNotFound,
        "command_not_found",
        "no program 'x'",
        {"program": "x"},
    )


def test_variables_are_checked_once_and_added_to() -> None:
    base = Variables({b"A": b"1", b"B": b"2"})
    more = base.plus({b"B": b"3"})
    assert more == {b"A": b"1", b"B": b"3"}
    assert base == {b"A": b"1", b"B": b"2"}
    assert more.encoded
    assert not base.plus({"C": "4"}).encoded
    assert Command(["true"], env=more).env is more
    with pytest.raises(InvalidArgument, match="without '='"):
        base.plus({b"A=B": b""})


def test_a_value_made_from_annotations_is_the_same_however_many_are_made() -> None:
    """The constructor is compiled once many values of a class are made."""

    class Pair(Value):
        """Two numbers that are not negative."""

        left: int
        right: int = 7

        def __post_init__(self) -> None:
            if self.left < 0:
                raise InvalidArgument("left must be 0 or more")

    for number in range(100):
        pair = Pair(number)
        assert pair == Pair(number, 7) == Pair(left=number, right=7) == Pair(0).replace(left=number)
        assert repr(pair) == f"Pair(left={number}, right=7)"
        assert str(inspect.signature(Pair)) == "(left, right=7)"
        with pytest.raises(AttributeError, match="replace"):
            pair.left = 1  # type: ignore[misc]
        with pytest.raises(AttributeError):
            del pair.left
        with pytest.raises(InvalidArgument):
            Pair(-1)
        for values, named in (((), {}), ((1, 2, 3), {}), ((1,), {"middle": 2}), ((1,), {"left": 1})):
            with pytest.raises(TypeError):
                Pair(*values, **named)
