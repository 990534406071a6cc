"""What models are told about the tools."""

import json
from typing import Any

import fastjsonschema
import pytest

from agent_exec.faces.session import arguments
from agent_exec.faces.session.answer import Answer
from agent_exec.faces.session.definitions import Terms, definitions
from faces.session.test_arguments import EXEC_FIELDS, WRITE_FIELDS, parse_list, parse_patch, parse_resize

TOOLS: dict[str, Any] = {
    "exec_command": (arguments.parse_exec, EXEC_FIELDS, ["cmd"]),
    "write_stdin": (arguments.parse_write, WRITE_FIELDS, ["session_id"]),
    "read_output": (arguments.parse_read, ("session_id", "from", "max_bytes", "view"), ["session_id"]),
    "list_sessions": (parse_list, (), []),
    "kill_session": (arguments.parse_id, ("session_id",), ["session_id"]),
    "resize": (parse_resize, ("session_id", "rows", "columns"), ["session_id", "rows", "columns"]),
    "close_stdin": (arguments.parse_id, ("session_id",), ["session_id"]),
    "apply_patch": (parse_patch, ("input", "workdir"), ["input"]),
}
SAMPLES: dict[str, Any] = {
    "string": "text",
    "boolean": True,
    "integer": 1000,
    "array": ["a"],
}


def schema_of(name: str, terms: Terms | None = None) -> dict[str, Any]:
    found: dict[str, Any] = definitions(terms or Terms())[name]["parameters"]
    return found


def test_the_tools() -> None:
    """Seed §1, and issue 6, better 3: the tools that were missing."""
    assert list(definitions()) == list(TOOLS)
    for name, tool in definitions().items():
        assert list(tool) == ["name", "description", "parameters", "output_schema", "annotations"]
        assert tool["name"] == name
        assert 20 < len(tool["description"]) < 500
        assert json.loads(json.dumps(tool)) == tool


@pytest.mark.parametrize("name", TOOLS)
def test_a_schema_matches_its_parser(name: str) -> None:
    """Reference §1.1: additionalProperties false; the schema and the parser agree."""
    parse, fields, required = TOOLS[name]
    schema = schema_of(name)
    assert schema["additionalProperties"] is False
    assert tuple(schema["properties"]) == fields
    assert schema["required"] == required
    asked: dict[str, Any] = {}
    for field, kind in schema["properties"].items():
        assert kind["description"].endswith((".", ").")), field
        asked[field] = kind["enum"][0] if "enum" in kind else SAMPLES[kind.get("type", "string")]
    asked |= {"wait_for": ["exit"]} if "wait_for" in asked else {}
    asked |= {"view": "tail"} if "view" in asked else {}
    asked |= {"columns": 80} if "columns" in asked else {}  # a thousand rows of a thousand are too many
    asked |= {"input": "text"} if name == "exec_command" else {}
    asked |= {"separate_streams": False} if "separate_streams" in asked else {}
    fastjsonschema.compile(schema)(asked)
    parse(asked)


def test_what_is_not_allowed_is_not_mentioned() -> None:
    """Seed §2 (`prefix_rule` only with RequestRule); reference §1.1 (`login` only where it is allowed)."""
    fields = set(EXEC_FIELDS)
    assert set(schema_of("exec_command")["properties"]) == fields
    no_rule = schema_of("exec_command", Terms(request_rule=False))
    assert set(no_rule["properties"]) == fields - {"prefix_rule"}
    no_login = schema_of("exec_command", Terms(allow_login=False))
    assert set(no_login["properties"]) == fields - {"login"}


def test_numbers_are_those_of_the_terms() -> None:
    """Reference §1.1, §1.2: defaults and ceilings."""
    terms = Terms(background_max_ms=61_000, max_output_tokens=77)
    fields = schema_of("write_stdin", terms)["properties"]
    assert "5000 to 61000" in fields["yield_time_ms"]["description"]
    assert "default 77" in fields["max_output_tokens"]["description"]
    assert (
        "default 10000; from 250 to 30000"
        in schema_of("exec_command")["properties"]["yield_time_ms"]["description"]
    )


def test_definitions_are_the_callers_own() -> None:
    """Reference §1.1: one server's change is not another's."""
    definitions()["resize"]["parameters"]["properties"].clear()
    assert schema_of("resize")["properties"]


def test_answers_fit_their_schema() -> None:
    """Reference §1.1: an output schema; required are wall_time_seconds and output."""
    schema = definitions()["exec_command"]["output_schema"]
    assert schema["required"] == ["wall_time_seconds", "output"]
    full = Answer(
        chunk_id="abcdef",
        wall_time_seconds=0.5,
        exit_code=137,
        session_id=1000,
        original_token_count=1,
        output="x",
        awaiting_input=True,
        evidence="likely",
        echo=True,
        signal="SIGKILL",
        timed_out=True,
        omitted=[(1, 2)],
        dropped=[(2, 3)],
        notes=["n"],
        streams={"stdout": "x", "stderr": ""},
        cursor=3,
    ).structured()
    assert list(full) == list(schema["properties"])
    fastjsonschema.compile(schema)(full)
    fastjsonschema.compile(schema)(Answer(wall_time_seconds=0, output="").structured())
    for tool in definitions().values():
        fastjsonschema.compile(tool["output_schema"])
