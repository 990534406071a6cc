"""Every error of ours has a code in every contract, and is called retriable where it is."""

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agent_exec
from agent_exec.faces import answers
from agent_exec.faces.executor.errors import CODES as EXECUTOR_CODES
from agent_exec.faces.oneshot.kit import create_agent_toolkit
from agent_exec.faces.oneshot.secure import secure_tool
from agent_exec.faces.session.tools import open_tools
from agent_exec.model.errors import AgentExecError, LaunchFailed, Refused
from agent_exec.tools.codes import CODES, executor_code, oneshot_code

SOURCE = Path(agent_exec.__file__).parent
ONESHOT_CODES = {
    "INVALID_ARGUMENT",
    "NOT_DIRECTORY",
    "COMMAND_NOT_FOUND",
    "POLICY_DENIED",
    "SANDBOX_VIOLATION",
    "INTERNAL",
}
FAIL = {"name": "fail", "description": "Fails.", "parameters": {"type": "object", "properties": {}}}


def kinds(root: type[AgentExecError] = AgentExecError) -> Iterator[type[AgentExecError]]:
    yield root
    for kind in root.__subclasses__():
        yield from kinds(kind)


def every_error() -> list[type[AgentExecError]]:
    """Return all errors of the package, whichever module defines them."""
    for file in (*SOURCE.rglob("errors.py"), *SOURCE.rglob("failures.py")):
        importlib.import_module(".".join(file.relative_to(SOURCE.parent).with_suffix("").parts))
    found = [kind for kind in dict.fromkeys(kinds()) if kind.__module__.startswith("agent_exec.")]
    assert len(found) > 30
    return found


def test_the_table_names_every_code_and_no_other() -> None:
    assert set(CODES) == {kind.code for kind in every_error()}


def test_errors_are_defined_where_the_walk_finds_them() -> None:
    """A subclass in another module would have no row, and nothing would tell."""
    names = "|".join({kind.__name__ for kind in every_error()})
    for file in SOURCE.rglob("*.py"):
        if re.search(rf"^class \w+\((?:\w+\.)?(?:{names})\):", file.read_text(), re.MULTILINE):
            assert file.stem in ("errors", "failures"), file


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_the_toolkit_answers_every_error_with_a_code_of_its_contract(
    kind: type[AgentExecError], tmp_path: Path
) -> None:
    error = kind("said", errno=5)

    def act(_context: object, _arguments: object) -> None:
        raise error

    kit = create_agent_toolkit(tmp_path, {"default_policy": "allow"}, tools=[secure_tool(FAIL, act)])
    told = kit.invoke("fail", {})["error"]
    assert told["code"] in ONESHOT_CODES
    assert told["code"] == oneshot_code(error)
    assert told["retriable"] is (told["code"] == "INTERNAL" and error.retryable)
    assert told["message"] == "said"


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_the_executor_has_a_code_for_every_error(kind: type[AgentExecError]) -> None:
    error = kind("said")
    code = executor_code(error)
    refused = issubclass(kind, Refused) or error.code.startswith("patch_")
    assert code == error.code if refused else code in EXECUTOR_CODES


@pytest.mark.parametrize("kind", every_error(), ids=lambda kind: kind.__name__)
def test_sessions_answer_every_error_with_its_message(
    kind: type[AgentExecError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_tools(workspace=str(tmp_path)) as tools:

        def fail(*_: object) -> None:
            raise kind("said")

        monkeypatch.setitem(tools._tools, "list_sessions", fail)
        result = tools.call("list_sessions", {})
    assert result.is_error
    assert result.text in ("said", "list_sessions failed: said")


def test_the_schema_of_jobs_names_every_error_of_the_model() -> None:
    file = SOURCE / "faces" / "verbs.schema.json"
    schema: Any = json.loads(file.read_text())["definitions"]["error"]["properties"]["code"]["enum"]
    for kind in every_error():
        if kind.__module__ != "agent_exec.model.errors" or "Error" in kind.__name__:
            continue
        told = answers.refusal(kind("said", errno=5))["error"]
        if kind.__subclasses__() and kind.__base__ is AgentExecError:
            continue  # a group of errors, which is never raised itself
        assert told["code"] in schema, kind
        assert told["retryable"] is kind("said", errno=5).retryable
    assert answers.refusal(AgentExecError("said"))["error"]["code"] == "internal_error"


@pytest.mark.parametrize(
    ("details", "code"),
    [({"cwd": "x"}, "NOT_DIRECTORY"), ({"errno": 7}, "INVALID_ARGUMENT"), ({"errno": 12}, "INTERNAL")],
)
def test_what_could_not_be_started(details: dict[str, object], code: str) -> None:
    assert oneshot_code(LaunchFailed("said", **details)) == code
