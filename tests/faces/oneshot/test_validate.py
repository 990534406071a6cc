"""The shape of what is asked for."""

import math
from pathlib import Path
from typing import Any

import pytest

from agent_exec.faces.oneshot.kit import Toolkit
from agent_exec.model.choices import ShellMode
from faces.oneshot.seen import code, data

RUN = {"cwd": ".", "command": ["true"]}


def asked(kit: Toolkit, **changes: Any) -> dict[str, Any]:
    return kit.invoke("exec_command", RUN | changes)


@pytest.mark.parametrize("value", [1, 2.0, 120_000, 120_000.0])
def test_e28_a_timeout_within_its_bounds(kit: Toolkit, value: float) -> None:
    assert data(asked(kit, timeout_ms=value))["timed_out"] in (False, value < 10)


@pytest.mark.parametrize("value", [1000, 1000.0, 1_000_000])
def test_e28_an_output_limit_within_its_bounds(kit: Toolkit, value: float) -> None:
    assert data(asked(kit, max_output_chars=value))["exit_code"] == 0


NO_NUMBERS: list[object] = [
    math.nan,
    math.inf,
    -math.inf,
    True,
    False,
    None,
    "5",
    [5],
    {},
    1500.5,
    10**400,
    -(10**400),
    5j,
]


@pytest.mark.parametrize("value", [0, -1, 0.5, 120_001, 120_000.5, *NO_NUMBERS], ids=lambda v: str(v)[:9])
def test_e28_e30_a_timeout_out_of_its_bounds(kit: Toolkit, value: object) -> None:
    answer = asked(kit, timeout_ms=value)
    assert code(answer) == "INVALID_ARGUMENT"
    assert "timeout_ms must be a whole number from 1 to 120000" in answer["message"]
    assert len(answer["message"]) < 200


@pytest.mark.parametrize("value", [0, 999, 999.5, 1_000_001, *NO_NUMBERS], ids=lambda v: str(v)[:9])
def test_e28_e30_an_output_limit_out_of_its_bounds(kit: Toolkit, value: object) -> None:
    answer = asked(kit, max_output_chars=value)
    assert code(answer) == "INVALID_ARGUMENT"
    assert "max_output_chars must be a whole number from 1000 to 1000000" in answer["message"]


@pytest.mark.parametrize("value", ["", " ", "\t\n", None, 1, ["."], b".", "a\0b", "\ud800"], ids=repr)
def test_e30_a_directory_that_is_none(kit: Toolkit, value: object) -> None:
    answer = asked(kit, cwd=value)
    assert code(answer) == "INVALID_ARGUMENT"
    assert answer["error"]["details"]["argument"] == "cwd"
    assert answer == kit.exec_command(value, ["true"])  # type: ignore[arg-type]


NO_COMMANDS = [
    [],
    (),
    "git status",
    b"true",
    None,
    {},
    {"0": "true"},
    5,
    [5],
    ["true", 5],
    ["true", None],
    ["true", b"x"],
    ["true", ["x"]],
    [""],
    ["", "x"],
    ["a\0b"],
    ["true", "a\0b"],
    ["true", "\ud800"],
    ["true", "\udfff\ud800"],
]


@pytest.mark.parametrize("value", NO_COMMANDS, ids=repr)
@pytest.mark.parametrize("mode", ["default", "direct"])
def test_e7_e30_a_command_is_an_array_of_strings_and_nothing_else(
    kit: Toolkit, value: Any, mode: ShellMode
) -> None:
    answer = kit.exec_command(".", value, shell_mode=mode)
    assert code(answer) == "INVALID_ARGUMENT"
    assert answer["error"]["details"]["argument"].startswith("command")


def test_e7_later_elements_may_be_empty(kit: Toolkit) -> None:
    for mode in ("default", "direct"):
        found = data(kit.exec_command(".", ["printf", "[%s]", "", "x", ""], shell_mode=mode))
        assert found["stdout"] == "[][x][]"


@pytest.mark.parametrize("value", ["Default", "", "shell", None, 1, True, ["direct"]], ids=repr)
def test_e28_a_mode_is_one_of_two(kit: Toolkit, value: object) -> None:
    answer = asked(kit, shell_mode=value)
    assert code(answer) == "INVALID_ARGUMENT"
    assert "default, direct" in answer["message"]


@pytest.mark.parametrize("value", [1, b"x", ["x"], {}, "half \ud83d of a pair", "\udc80"], ids=repr)
def test_e28_input_is_text(kit: Toolkit, value: object) -> None:
    answer = asked(kit, stdin=value)
    assert code(answer) == "INVALID_ARGUMENT"
    assert answer["error"]["details"]["argument"] == "stdin"


@pytest.mark.parametrize("value", [None, "text", [], ["."], 5, b"{}"], ids=repr)
def test_arguments_are_an_object(kit: Toolkit, value: Any) -> None:
    answer = kit.invoke("exec_command", value)
    assert code(answer) == "INVALID_ARGUMENT"
    assert "must be an object" in answer["message"]


@pytest.mark.parametrize("missing", ["cwd", "command"])
def test_e5_both_are_needed(kit: Toolkit, missing: str) -> None:
    answer = kit.invoke("exec_command", {name: value for name, value in RUN.items() if name != missing})
    assert code(answer) == "INVALID_ARGUMENT"
    assert f"needs the argument {missing}" in answer["message"]


def test_e26_there_is_no_environment_to_inject(kit: Toolkit) -> None:
    """E26: like every other unknown argument, it is named."""
    answer = asked(kit, env={"A": "1"}, tty=True)
    assert code(answer) == "INVALID_ARGUMENT"
    assert "no argument 'env', 'tty'" in answer["message"]
    assert answer == kit.exec_command(".", ["true"], env={"A": "1"}, tty=True)  # type: ignore[arg-type]
    assert code(kit.invoke("exec_command", {**RUN, 1: 2})) == "INVALID_ARGUMENT"  # type: ignore[dict-item]


def test_what_was_given_is_not_changed(kit: Toolkit, root: Path) -> None:
    given: dict[str, Any] = {"cwd": "src", "command": ["echo", "hello"]}
    answer = kit.invoke("exec_command", given)
    assert given == {"cwd": "src", "command": ["echo", "hello"]}
    data(answer)["command"].append("x")
    assert given["command"] == ["echo", "hello"]


@pytest.mark.parametrize(
    "name", ["", "exec", "EXEC_COMMAND", None, 5, ["exec_command"], "__init__"], ids=repr
)
def test_an_unknown_tool_is_answered_with_those_there_are(kit: Toolkit, name: str) -> None:
    answer = kit.invoke(name, {})
    assert code(answer) == "TOOL_NOT_FOUND"
    assert "exec_command, git_status_summary" in answer["message"]
