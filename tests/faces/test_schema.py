"""The schema: what it allows is documented, and what nobody documented it refuses."""

import json
from collections.abc import Iterator
from typing import Any

import fastjsonschema
import pytest

from agent_exec.apps.serve.problems import STATUS
from agent_exec.faces import answers
from agent_exec.jobs.record import STATES
from agent_exec.model import errors
from cli import SCHEMA, Cli, validator

TEXT = json.loads(SCHEMA.read_text())
KINDS = {
    "run",
    "restart",
    "status",
    "tail",
    "wait",
    "kill",
    "list",
    "delete",
    "gc",
    "events",
    "plan",
    "group",
    "schema",
    "error",
}
KINDS |= {"notify.set", "notify.show", "notify.clear"}
KINDS |= {"create", "start", "timeout_set", "timeout_clear", "abandon_set", "abandon_clear"}
KINDS |= {"tag_set", "tag_add", "tag_remove"}
KINDS |= {
    "policy_explain",
    "policy_check",
    "mcp_install",
    "install_skills",
    "sandbox_run",
    "sandbox_explain",
    "sandbox_doctor",
}
KINDS |= {"approvals", "approval", "approval_answered", "sessions", "send"}
KINDS |= {"up", "down", "logs", "import", "serve_token"}
_ANSWER: dict[str, Any] = {}
ASSERTED = ("type", "enum", "const", "anyOf", "allOf", "$ref")


def walk(node: Any, place: str = "#") -> Iterator[tuple[str, Any]]:
    """Return every part of the schema with its place."""
    yield place, node
    if isinstance(node, dict):
        for key, value in node.items():
            yield from walk(value, f"{place}/{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from walk(value, f"{place}/{index}")


def objects() -> Iterator[tuple[str, dict[str, Any]]]:
    """Return what describes an object, not what only refines one."""
    for place, node in walk(TEXT):
        if isinstance(node, dict) and node.get("type") == "object" and "properties" in node:
            yield place, node


def test_it_is_a_draft_07_schema_of_a_known_day() -> None:
    assert TEXT["$schema"] == "http://json-schema.org/draft-07/schema#"
    assert TEXT["$id"] == "agent-exec-0.1"
    assert TEXT["$id"].endswith(answers.SCHEMA_VERSION)
    assert TEXT["title"]
    assert fastjsonschema.compile({"type": "string", "pattern": r"^\d{4}-\d\d-\d\d$"})(TEXT["$comment"])


def test_every_kind_of_answer_has_a_definition() -> None:
    assert set(TEXT["properties"]["type"]["enum"]) == KINDS
    named = {case["if"]["properties"]["type"]["const"]: case["then"]["$ref"] for case in TEXT["allOf"]}
    assert named == {kind: f"#/definitions/{kind}_answer" for kind in KINDS}


def test_every_reference_leads_somewhere_and_every_definition_is_used() -> None:
    used = {node["$ref"] for _, node in walk(TEXT) if isinstance(node, dict) and "$ref" in node}
    assert used == {f"#/definitions/{name}" for name in TEXT["definitions"]}


def test_nothing_stands_beside_a_reference() -> None:
    """Draft 07 ignores it."""
    assert not [
        place for place, node in walk(TEXT) if isinstance(node, dict) and "$ref" in node and len(node) > 1
    ]


def test_every_property_has_a_description() -> None:
    for place, node in objects():
        for name, value in node["properties"].items():
            described = TEXT["definitions"][value["$ref"].rpartition("/")[2]] if "$ref" in value else value
            assert described.get("description", "").endswith("."), f"{place}/{name}"
            assert any(key in described for key in ASSERTED), f"{place}/{name}"


def test_every_object_is_closed_and_needs_only_what_it_knows() -> None:
    for place, node in objects():
        if place != "#":
            assert node["additionalProperties"] is False, place
        assert set(node.get("required", ())) <= set(node["properties"]), place


def test_states_and_codes_are_those_of_the_program() -> None:
    assert tuple(TEXT["definitions"]["state"]["enum"]) == STATES
    codes = set(TEXT["definitions"]["error"]["properties"]["code"]["enum"])
    known = {
        kind.code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.AgentExecError)
    }
    # "internal_error" is the program's own word, and those of servers reach it with --server.
    assert codes - known - set(STATUS) == set()
    assert "internal_error" in codes
    assert known - codes == {"internal", "refused"}, "which are families of errors"


@pytest.fixture
def answer(cli: Cli) -> dict[str, Any]:
    """A real answer; the same one for all tests here."""
    if not _ANSWER:
        _ANSWER.update(cli("run", "--", "true"))
    return dict(_ANSWER)


@pytest.mark.parametrize(
    "change",
    [
        {"undocumented": 1},
        {"job_id": ""},
        {"job_id": "../01ARZ3NDEKTSV4RRFFQ69G5FAV"},
        {"state": "done"},
        {"state": "running"},
        {"state": "killed", "reason": "spawn_failed"},
        {"state": "failed"},
        {"ok": False},
        {"ok": 1},
        {"schema_version": "0.2"},
        {"type": "ran"},
        {"type": "status"},
        {"type": "error"},
        {"exit_code": "0"},
        {"exit_code": None},
        {"exit_code": -1},
        {"signal": "TERM"},
        {"signal": "SIGTERM"},
        {"signal_number": 15},
        {"finished_at": "2026-01-01T00:00:00Z"},
        {"finished_at": 5},
        {"timed_out": True},
        {"stdout_log_path": "jobs/stdout.log"},
        {"waited_ms": 1.5},
        {"waited_ms": -1},
        {"snapshot": {}},
        {"stdout_range": [0]},
        {"stdout_range": [0, 1, 2]},
        {"encoding": "utf-8"},
        {"tags": ["a b"]},
        {"env_vars": []},
        {"interrupted": False},
        {"reason": "boredom"},
        {"supervisor": "alive"},
        {"sandbox": None},
        {"sandbox": {}},
        {"sandbox": {"profile": "read-only", "policy": f"sha256:{'0' * 64}"}},
        {"reason": "sandbox_lost"},
    ],
    ids=str,
)
def test_what_is_not_documented_is_refused(answer: dict[str, Any], change: dict[str, Any]) -> None:
    validator()(answer)
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        validator()(answer | change)


@pytest.mark.parametrize(
    "name",
    [
        "schema_version",
        "ok",
        "type",
        "job_id",
        "state",
        "exit_code",
        "signal",
        "finished_at",
        "duration_ms",
        "timed_out",
        "stdout_log_path",
        "stderr_log_path",
        "waited_ms",
        "elapsed_ms",
        "cursor",
        "stdout",
    ],
)
def test_what_is_promised_may_not_be_missing(answer: dict[str, Any], name: str) -> None:
    del answer[name]
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        validator()(answer)


def test_an_error_needs_its_parts(cli: Cli) -> None:
    told = dict(cli("status", "0" * 26))
    for wrong in (
        {},
        {"code": "job_not_found", "message": "m"},
        {"code": "nobody_knows", "message": "m", "retryable": False},
        {"code": "job_not_found", "message": "", "retryable": False},
        {"code": "ambiguous_job_id", "message": "m", "retryable": False},
        {"code": "job_not_found", "message": "m", "retryable": False, "details": {"surprise": 1}},
    ):
        with pytest.raises(fastjsonschema.JsonSchemaValueException):
            validator()(told | {"error": wrong})
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        validator()(told | {"state": "failed"})


def test_the_answer_of_a_command_that_never_ran_names_the_job(cli: Cli) -> None:
    told = dict(cli("run", "--", "no-such-program"))
    for name in ("state", "reason", "message", "job_id", "exit_code"):
        with pytest.raises(fastjsonschema.JsonSchemaValueException):
            validator()({key: value for key, value in told.items() if key != name})
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        validator()(told | {"reason": "supervisor_lost"})
