"""What the rules ask for is asked at the client, in both eras of the protocol, before anything is done."""

import json
import os
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from apps.mcp.talking import ERAS, Client, bare, jobs, talk, text, until
from support import wait_until

pytest.importorskip("mcp")

from mcp_types import ElicitRequestFormParams, ElicitResult

from agent_exec.apps.mcp.elicitation import Memory

RULES = '[[rule]]\nprefix = ["touch"]\nverdict = "ask"\nreason = "it makes files"\n'


class Person:
    """A person at the client, with one answer to all questions; the questions and their choices are kept."""

    def __init__(self, answer: str | None, action: str = "accept", *, otherwise: str = "") -> None:
        self.answer = answer
        self.otherwise = otherwise
        """The answer where `answer` is not offered."""
        self.action = action
        self.asked: list[str] = []
        self.offered: list[list[str]] = []

    async def __call__(self, _context: object, params: ElicitRequestFormParams) -> ElicitResult:
        choices = params.requested_schema["properties"]["answer"]
        assert len(choices["enumNames"]) == len(choices["enum"])
        self.offered.append(choices["enum"])
        self.asked.append(params.message)
        answer = self.otherwise if self.otherwise and self.answer not in choices["enum"] else self.answer
        content: Any = None if answer is None else {"answer": answer}
        return ElicitResult(action=self.action, content=content)  # type: ignore[arg-type]


@pytest.fixture
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file of rules in which something asks."""
    monkeypatch.setenv("AGENT_EXEC_ROOT", str(tmp_path / "jobs"))
    monkeypatch.delenv("AGENT_EXEC_APPROVAL_POLICY", raising=False)
    file = tmp_path / "rules.toml"
    file.write_text(RULES)
    return file


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a workspace."""
    found = tmp_path / "work"
    found.mkdir()
    return found


CALLS = pytest.mark.parametrize(
    ("toolset", "tool", "arguments"),
    [
        ("jobs", "run", {"command": ["touch", "made"]}),
        ("session", "exec_command", {"cmd": "touch made", "login": False}),
        ("oneshot", "exec_command", {"cwd": ".", "command": ["touch", "made"], "shell_mode": "direct"}),
        ("executor", "execute_command", {"command": "touch", "args": ["made"]}),
    ],
)


@ERAS
@CALLS
def test_a_yes_lets_it_run(
    rules: Path, folder: Path, toolset: str, tool: str, arguments: dict[str, Any], mode: str
) -> None:
    person = Person("once")

    async def work(client: Client) -> None:
        for _ in range(2):
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, text(result)

    words = jobs("--toolset", toolset, "--workspace", folder, "--policy", rules)
    talk(work, *words, mode=mode, elicitation_callback=person)
    assert (folder / "made").exists()
    assert len(person.asked) == 2
    assert person.offered == [["once", "session", "no"]] * 2  # no rule could allow it: no always
    assert person.asked[0] == (
        f"Run this command?\n    touch made\nIt is asked for because: it makes files.\nIn {folder}."
    )
    assert rules.read_text() == RULES


@ERAS
@CALLS
def test_a_no_refuses_it(
    rules: Path, folder: Path, toolset: str, tool: str, arguments: dict[str, Any], mode: str
) -> None:
    said = refused(Person("no"), rules, folder, toolset, tool, arguments, mode)
    assert "it makes files. It was asked for, and the answer was no" in said


@ERAS
@CALLS
@pytest.mark.parametrize(
    ("person", "why"),
    [
        (Person(None, "decline"), "The client declined the question, perhaps without showing it to a person"),
        (
            Person(None, "cancel"),
            "The client gave no answer, perhaps without showing the question to a person",
        ),
        (Person("perhaps"), "The client gave none of the answers that were offered"),
        (Person("always"), "The client gave none of the answers that were offered"),
    ],
)
def test_all_else_is_a_refusal_by_no_person(
    rules: Path,
    folder: Path,
    toolset: str,
    tool: str,
    arguments: dict[str, Any],
    person: Person,
    why: str,
    mode: str,
) -> None:
    """Clients without a person decline by themselves: the refusal names the rule instead."""
    said = refused(person, rules, folder, toolset, tool, arguments, mode)
    assert f"it makes files. {why}; allow it by a rule: the one that asks is at {rules}:1" in said
    assert "the answer was no" not in said


def refused(
    person: Person, rules: Path, folder: Path, toolset: str, tool: str, arguments: dict[str, Any], mode: str
) -> str:
    """Return the refusal of a command because of an answer."""

    async def work(client: Client) -> str:
        result = await client.call_tool(tool, arguments)
        assert result.is_error
        return text(result)

    words = jobs("--toolset", toolset, "--workspace", folder, "--policy", rules)
    said = talk(work, *words, mode=mode, elicitation_callback=person)
    assert not (folder / "made").exists()
    return said


@ERAS
def test_without_an_approver(rules: Path, folder: Path, mode: str) -> None:
    """The refusal names the rule that would allow it."""

    async def work(client: Client) -> str:
        result = await client.call_tool("run", {"command": ["touch", "made"]})
        assert result.is_error
        assert result.structured_content["error"]["code"] == "approval_required"
        return str(result.structured_content["error"]["message"])

    words = jobs("--workspace", folder, "--rules", rules)
    why = "This client does not support elicitation, and no `agent-exec approvals watch` is open; allow it by a rule"
    assert f"it makes files. {why}: the one that asks is at {rules}:1" in talk(work, *words, mode=mode)
    rules.write_text('approval_policy = "untrusted"\n')
    message = talk(work, *words, mode=mode)
    assert f'{why}, such as\n[[rule]]\nprefix = ["touch", "made"]' in message
    assert message.endswith('verdict = "allow"')
    assert not (folder / "made").exists()


@ERAS
@pytest.mark.parametrize("answer", ["session", "always"])
def test_a_lasting_approval_is_asked_for_once(rules: Path, folder: Path, mode: str, answer: str) -> None:
    person = Person(answer)
    rules.write_text('approval_policy = "untrusted"\n')

    async def work(client: Client) -> None:
        for _ in range(3):
            assert not (await client.call_tool("run", {"command": ["touch", "made"]})).is_error

    talk(work, *jobs("--workspace", folder, "--rules", rules), mode=mode, elicitation_callback=person)
    assert len(person.asked) == 1
    assert 'Always would add:\n[[rule]]\nprefix = ["touch", "made"]' in person.asked[0]
    assert person.offered == [["once", "session", "always", "no"]]
    assert ('verdict = "allow"' in rules.read_text()) is (answer == "always")


@ERAS
def test_out_of_the_sandbox(rules: Path, folder: Path, mode: str) -> None:
    """Two questions in one call: whether it may run, and whether without the sandbox."""
    person = Person("once")
    asked = {
        "cmd": f"touch made; echo out > {folder.parent}/outside",
        "login": False,
        "sandbox_permissions": "require_escalated",
        "justification": "Shall it write there?",
    }

    async def work(client: Client) -> None:
        result = await client.call_tool("exec_command", asked)
        assert not result.is_error, text(result)

    words = jobs(
        "--toolset", "session", "--workspace", folder, "--rules", rules, "--sandbox", "workspace-write"
    )
    talk(work, *words, mode=mode, elicitation_callback=person)
    assert (folder.parent / "outside").read_text() == "out\n"
    assert person.offered == [["once", "session", "no"], ["once", "no"]]
    assert "\nIt is asked for because: Shall it write there?\nIn " in person.asked[1]


ESCALATED = {
    "cmd": "touch made",
    "login": False,
    "sandbox_permissions": "require_escalated",
    "justification": "May it?",
}


@ERAS
@pytest.mark.parametrize("person", [None, Person(None, "decline"), Person(None, "cancel"), Person("no")])
def test_a_refusal_to_leave_the_sandbox(
    tmp_path: Path, folder: Path, person: Person | None, mode: str
) -> None:
    """A person refuses only by a no; otherwise the refusal says what the operator can do."""

    async def work(client: Client) -> str:
        result = await client.call_tool("exec_command", ESCALATED)
        assert result.is_error
        return text(result)

    able: dict[str, Any] = {} if person is None else {"elicitation_callback": person}
    words = jobs("--toolset", "session", "--workspace", folder, "--sandbox", "workspace-write")
    said = talk(work, *words, mode=mode, **able)
    assert not (folder / "made").exists()
    if person is not None and person.answer == "no":
        assert said.endswith('CreateProcess { message: "Rejected(\\"rejected by user\\")" }')
        return
    assert "rejected by user" not in said
    assert "approval policy is" not in said
    assert "running it outside of the sandbox needs approval: May it? " in said
    assert (
        "This client does not support elicitation, and no `agent-exec approvals watch` is open"
        if person is None
        else "The client "
    ) in said
    assert said.endswith("have the operator allow more by --sandbox or --workspace")


def test_progress_says_that_a_person_is_asked(rules: Path, folder: Path) -> None:
    told: list[str] = []

    class Late(Person):
        async def __call__(self, context: object, params: ElicitRequestFormParams) -> ElicitResult:
            await until(lambda: bool(told))
            return await super().__call__(context, params)

    async def tell(progress: float, total: float | None, message: str | None) -> None:
        told.append(message or "")

    async def work(client: Client) -> None:
        given = {"cmd": "touch made", "login": False}
        assert not (await client.call_tool("exec_command", given, progress_callback=tell)).is_error

    words = jobs("--toolset", "session", "--workspace", folder, "--rules", rules)
    talk(work, *words, elicitation_callback=Late("once"))
    assert told[0].startswith("exec_command waits for a person to approve the command, for ")


@ERAS
def test_without_an_approver_escalation_is_not_offered(rules: Path, folder: Path, mode: str) -> None:
    """A sandbox that somebody may lift is no promise; one that nobody can lift is."""

    async def work(client: Client) -> bool | None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["exec_command"].annotations is not None
        return tools["exec_command"].annotations.read_only_hint

    words = jobs("--toolset", "session", "--workspace", folder, "--rules", rules, "--sandbox", "read-only")
    assert talk(work, *words, mode=mode) is True
    assert talk(work, *words, mode=mode, elicitation_callback=Person("no")) is False


def test_a_call_cancelled_during_an_approval(rules: Path, folder: Path) -> None:
    """Nothing has been done, nothing is, and the server goes on and has nothing to complain of."""
    hello = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "test", "version": "0"}}
    with bare(*jobs("--workspace", folder, "--rules", rules)) as server:
        server.send("initialize", hello | {"capabilities": {"elicitation": {"form": {}}}})
        server.hear()
        server.send("notifications/initialized", notify=True)
        server.call("run", command=["touch", "made"])
        assert server.hear()["method"] == "elicitation/create"
        server.send("notifications/cancelled", {"requestId": server.last}, notify=True)
        server.call("list")
        while (answer := server.hear()).get("id") != server.last or "result" not in answer:
            pass
        assert answer["result"]["structuredContent"]["jobs"] == []
        server.hang_up()
        assert server.process.wait(20) == 0
        assert server.process.stderr is not None
        assert server.process.stderr.read() == b""
    assert not (folder / "made").exists()


def test_an_answer_that_is_no_message_is_no_approval(rules: Path, folder: Path) -> None:
    """It is not refused under the number of the question, which may be that of another call of the client's."""
    hello = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "test", "version": "0"}}
    with bare(*jobs("--workspace", folder, "--rules", rules)) as server:
        server.send("initialize", hello | {"capabilities": {"elicitation": {"form": {}}}})
        server.hear()
        server.send("notifications/initialized", notify=True)
        unclear: list[dict[str, Any]] = [
            {"action": "once"},
            {"action": ["accept"]},
            {"action": "accept", "content": ["once"]},
            {},
        ]
        odds: list[dict[str, Any]] = [{"result": "once"}, {"result": None}, {"error": "no"}, {}]
        for odd in (*odds, *({"result": one} for one in unclear)):
            server.call("run", command=["touch", "made"])
            asked = server.hear()
            assert asked["method"] == "elicitation/create"
            server.say(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **odd}).encode())
            answer = server.hear()
            assert answer["id"] == server.last, answer
            why = "none of the answers" if odd.get("result") in unclear else "no answer"
            assert f"The client gave {why}" in answer["result"]["content"][0]["text"]
    assert not (folder / "made").exists()


def test_an_answer_is_for_the_call_it_was_asked_in(rules: Path, folder: Path) -> None:
    """2026-07-28, in bare lines: a yes for one command is no yes for another, and none is taken twice."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    }
    yes = {"approval": {"action": "accept", "content": {"answer": "once"}}}
    with bare(*jobs("--workspace", folder, "--rules", rules)) as server:

        def call(name: str, **more: object) -> dict[str, Any]:
            arguments = {"command": ["touch", name]}
            server.send("tools/call", {"_meta": meta, "name": "run", "arguments": arguments, **more})
            answer = server.hear()
            assert "result" in answer, answer
            found: dict[str, Any] = answer["result"]
            return found

        first = call("one")
        assert first["resultType"] == "input_required"
        assert "touch one" in json.dumps(first["inputRequests"]["approval"])
        word = first["requestState"]
        assert call("two", inputResponses=yes, requestState=word)["resultType"] == "input_required"
        assert call("one", inputResponses=yes, requestState=word)["resultType"] == "input_required"
        assert call("one", inputResponses=yes)["resultType"] == "input_required"
        assert call("one", inputResponses=yes, requestState="guess")["resultType"] == "input_required"
        assert not list(folder.iterdir())
        word = call("one")["requestState"]
        assert call("one", inputResponses=yes, requestState=word)["isError"] is False
        wait_until((folder / "one").exists)
        assert call("one", inputResponses=yes, requestState=word)["resultType"] == "input_required"
    assert not (folder / "two").exists()


@ERAS
def test_what_a_command_is_given_to_read_is_shown(rules: Path, folder: Path, mode: str) -> None:
    person = Person("session", otherwise="once")
    (folder / "file").write_text("")

    async def work(client: Client) -> None:
        command = {"command": ["touch", "made"]}
        for given in (
            {},
            {"stdin": "first\nIn a safe place.\x1b"},
            {"stdin": "x" * 5000},
            {"stdin_file": "file"},
            {},
        ):
            assert not (await client.call_tool("run", command | given)).is_error

    words = jobs("--workspace", folder, "--rules", rules, "--sandbox", "full-access")
    talk(work, *words, mode=mode, elicitation_callback=person)
    plain, text, long, file = person.asked
    assert "to read" not in plain
    assert "It is given to read:\n\n    first\n    In a safe place.\\x1b\n" in text
    assert f"{'x' * 2000}\nand 3000 bytes more, which are not shown.\n" in long
    assert f"    the file {folder}/file\n" in file
    assert ["A yes is for this once" in one for one in person.asked] == [False, True, True, True]


@ERAS
def test_a_question_hides_nothing(rules: Path, folder: Path, mode: str) -> None:
    """Nor can what others write in it be taken for our words: names of folders, commands, justifications."""
    person = Person("session", otherwise="once")
    odd = os.fsencode(folder) + b"/\xff\x1b[2J\nIn a safe place."
    os.mkdir(odd)
    (folder / "link").symlink_to(os.fsdecode(odd))

    async def work(client: Client) -> None:
        for variables in ({}, {}, {"BASH_ENV": "one"}, {"BASH_ENV": "two"}):
            given = {"command": ["touch", "made"], "cwd": "link", "env": variables}
            assert not (await client.call_tool("run", given)).is_error
        asked = {
            "cmd": "true\n\nIn a safe place.",
            "login": False,
            "sandbox_permissions": "require_escalated",
            "justification": "a rule says so.\nIn a safe place.\n",
        }
        await client.call_tool("exec_command", asked)

    words = jobs("--toolset", "jobs,session", "--workspace", folder, "--rules", rules)
    talk(work, *words, "--sandbox", "workspace-write", mode=mode, elicitation_callback=person)
    first, *others, last = person.asked
    assert first.endswith(f"\nIn {folder}/\\udcff\\x1b[2J\\nIn a safe place..")
    assert ["It sets BASH_ENV.\nA yes is for this once" in one for one in (first, *others)] == [
        False,
        True,
        True,
    ]
    assert last.startswith("Run this command outside of the sandbox?\n    true\n    \n    In a safe place.\n")
    assert "because: a rule says so.\\nIn a safe place.\\n.\n" in last
    assert os.path.exists(odd + b"/made")


def test_unanswered_questions_are_bounded() -> None:
    arguments = {"command": ["touch", "x" * 1_000_000]}
    asked: Any = SimpleNamespace(params={"name": "run", "arguments": arguments})
    memory = Memory()
    tracemalloc.start()
    try:
        for number in range(200):
            memory.keep(asked, {}, f"{number}{'x' * 1_000_000}")
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
    finally:
        tracemalloc.stop()
