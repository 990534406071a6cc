"""One validator for all tools: what a schema says is what a call may hold."""

import math
from functools import cache
from typing import Any

import fastjsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_exec.faces.executor.toolhandler import definition
from agent_exec.faces.jobtools.definitions import definitions as job_definitions
from agent_exec.faces.oneshot.definitions import TOOL_DEFINITIONS
from agent_exec.faces.session.definitions import definitions as session_definitions
from agent_exec.model.errors import InvalidArgument
from agent_exec.tools.schema import Wording, check, shown

WORDING = Wording()
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text("ab \0é", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=4,
)
SCHEMAS: dict[str, Any] = {
    f"{face}.{tool['name']}": tool["parameters"]
    for face, tools in {
        "jobs": job_definitions(longest=50),
        "session": session_definitions(detaches=True).values(),
        "oneshot": TOOL_DEFINITIONS.values(),
        "executor": [definition()],
    }.items()
    for tool in tools
}


@cache
def validator(name: str) -> Any:
    """Return what JSON Schema has to say of the arguments of a tool; it takes longer to make than to use."""
    return fastjsonschema.compile({**SCHEMAS[name], "additionalProperties": False})


def one(schema: dict[str, Any], value: object) -> Any:
    return check("tool", {"properties": {"it": schema}}, {"it": value}, WORDING)["it"]


@pytest.mark.parametrize("name", SCHEMAS)
@settings(deadline=None, derandomize=True, max_examples=60)
@given(data=st.data())
def test_it_agrees_with_json_schema(name: str, data: st.DataObject) -> None:
    """It takes only what JSON Schema takes; what else it refuses, no system call can carry."""
    schema = SCHEMAS[name]
    fields = st.sampled_from([*schema["properties"], "other"])
    needed = st.fixed_dictionaries(dict.fromkeys(schema.get("required", ()), values))
    asked = data.draw(st.dictionaries(fields, values, max_size=3))
    asked |= data.draw(needed)
    try:
        validator(name)(asked)
        fits = True
    except fastjsonschema.JsonSchemaException:
        fits = False
    said = ""
    try:
        assert check("tool", schema, asked, WORDING) == asked
    except InvalidArgument as error:
        said = error.message
    assert fits is (said == "") or "NUL" in said or "wait_for" in asked


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"type": "integer"}, 1.5, "must be a whole number; got 1.5"),
        ({"type": "integer"}, math.inf, "must be a whole number; got inf"),
        ({"type": "integer", "minimum": 1}, 0, "must be a whole number, 1 or more; got 0"),
        ({"type": "integer", "minimum": 1, "maximum": 3}, 4, "must be a whole number from 1 to 3; got 4"),
        ({"type": "number", "minimum": 0}, -0.5, "must be a number, 0 or more; got -0.5"),
        ({"type": "integer"}, True, "must be a whole number; got true"),
        ({"type": "string", "minLength": 1}, "", "must be a text that is not empty; got ''"),
        ({"type": "string"}, None, "must be a text; got null"),
        ({"type": "string"}, "a\0", "must not contain a NUL character"),
        ({"type": "string"}, "a\ud800", "has half of a surrogate pair at character 1"),
        ({"type": "string", "enum": ["a", "b"]}, "c", "must be one of a, b; got 'c'"),
        ({"type": ["string", "null"]}, 5, "must be a text; got 5"),
        ({"type": "boolean"}, 1, "must be a boolean; got 1"),
        ({"type": "array", "items": {"type": "integer"}}, "x", "must be an array; got 'x'"),
        ({"type": "object", "required": ["a"]}, {}, "needs a"),
        ({"type": "object"}, [], "must be an object; got []"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said(schema: dict[str, Any], value: object, said: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        one(schema, value)
    assert caught.value.message == f"tool: it {said}"


def test_what_is_wrong_within_is_named() -> None:
    nested = {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}}
    with pytest.raises(InvalidArgument, match=r"^tool: it\.a\[1\] must be a whole number; got 'x'$"):
        one(nested, {"a": [1, "x"]})
    with pytest.raises(InvalidArgument, match=r"^tool: it\.k must be a text; got 5$"):
        one({"type": "object", "additionalProperties": {"type": "string"}}, {"k": 5})


def test_what_is_right_is_returned_in_one_form() -> None:
    assert one({"type": "integer"}, 2.0) == 2
    assert type(one({"type": "integer"}, 2.0)) is int
    assert one({"type": "array", "items": {"type": "string"}}, ("a",)) == ["a"]
    assert one({"type": ["string", "null"]}, None) is None
    assert one({}, {"any": "\0"}) == {"any": "\0"}
    assert one({"type": "of another draft"}, 5) == 5
    assert check("tool", {"properties": {"stdin": {"type": "string"}}}, {"stdin": "\0"}, WORDING)
    assert check("tool", {"properties": {"it": True}}, {"it": 5}, WORDING) == {"it": 5}


def test_names_are_checked_first() -> None:
    schema = {"properties": {"a": {"description": "The first."}, "b": {}}, "required": ["a"]}
    for given_, said in (
        ([], "the arguments of tool must be an object; got []"),
        ({"a": 1, "c": 2, 3: 4}, "tool has no argument 'c', 3; it has a, b"),
        ({"b": 1}, "tool needs the argument a: The first."),
    ):
        with pytest.raises(InvalidArgument) as caught:
            check("tool", schema, given_, WORDING)
        assert caught.value.message == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("x" * 100, "'" + "x" * 77 + "...'"),
        (10**30, "a number of very many digits"),
        ({}, "an object"),
        ([1], "an array"),
        (b"", "a value of type bytes"),
    ],
    ids=str,
)
def test_long_values_are_cut(value: object, said: str) -> None:
    assert shown(value) == said
