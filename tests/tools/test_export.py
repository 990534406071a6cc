"""The forms of providers, and the hints."""

import json

import pytest

from agent_exec.faces.jobtools.definitions import definitions
from agent_exec.model.errors import InvalidArgument
from agent_exec.sandbox.profile import Profile
from agent_exec.tools.define import command_hints, export, hints, open_world, reads_only


def test_every_form_has_the_schema_under_its_own_name() -> None:
    tools = definitions(longest=50)
    for provider, name in (("anthropic", "input_schema"), ("mcp", "inputSchema")):
        for tool, told in zip(tools, export(tools, provider), strict=True):
            assert (told["name"], told["description"], told[name]) == (
                tool["name"],
                tool["description"],
                tool["parameters"],
            )
    for tool, told in zip(tools, export(tools, "openai"), strict=True):
        assert set(told) == {"type", "function"}
        assert set(told["function"]) == {"name", "description", "parameters"}
        assert told["function"]["parameters"] == tool["parameters"]


def test_a_server_lists_everything() -> None:
    (run, *_) = export(definitions(longest=50), "mcp")
    assert list(run) == ["name", "description", "inputSchema", "outputSchema", "annotations"]
    assert set(run["annotations"]) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    titled = {"name": "x", "title": "X", "description": "", "parameters": {}}
    assert export([titled], "mcp")[0]["title"] == "X"


def test_what_is_exported_is_the_callers_own() -> None:
    tools = definitions(longest=50)
    before = json.dumps(tools)
    for provider in ("openai", "anthropic", "mcp"):
        for told in export(tools, provider):
            told.clear()
    export(tools, "mcp")[0]["inputSchema"]["properties"].clear()
    assert json.dumps(tools) == before
    with pytest.raises(InvalidArgument, match="openai, anthropic, mcp"):
        export(tools, "other")


def test_hints_follow_the_sandbox() -> None:
    for profile, reads, opens in (
        (None, False, True),
        (Profile("full-access"), False, True),
        (Profile("workspace-write"), False, False),
        (Profile("read-only"), True, False),
        (Profile("read-only", net=["example.org"]), True, True),
    ):
        assert (reads_only(profile), open_world(profile)) == (reads, opens)
        assert command_hints(profile) == hints(reads=reads, destroys=not reads, opens=opens)
