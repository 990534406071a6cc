"""Questions of a server in the approval inbox: with clients that can ask a person and that cannot, in both eras."""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from apps.mcp.talking import HELLO, Bare, Client, bare, jobs, lean, talk, text
from support import wait_until

pytest.importorskip("mcp")

from agent_exec import Inbox
from agent_exec.host import FileLock
from agent_exec.model.errors import InvalidState
from agent_exec.policy.verdict import Verdict
from agent_exec.requests import inbox_folder
from agent_exec.requests.gate import Request

RULES = '[[rule]]\nprefix = ["touch"]\nverdict = "ask"\nreason = "it makes files"\n'
ELICITS: dict[str, Any] = {"elicitation": {"form": {}}}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "new\x1b", "version": "1"},
}
MODERN = "io.modelcontextprotocol/clientCapabilities"
TOUCH = {"name": "run", "arguments": {"command": ["touch", "made"]}}


class Asked:
    """A server whose rules ask, in a state folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "work"
        self.rules = folder / "rules.toml"
        self.inbox = folder / "state" / "agent-exec" / "approvals"

    @property
    def made(self) -> bool:
        """True if the command was run."""
        return (self.work / "made").exists()

    @contextmanager
    def serve(self, *words: object, capabilities: dict[str, Any] | None = None) -> Iterator[Bare]:
        """Start a server; with `capabilities`, greet it as a client of the older era."""
        with bare(*jobs("--workspace", self.work, "--rules", self.rules, *words)) as server:
            if capabilities is not None:
                server.send("initialize", HELLO | {"capabilities": capabilities})
                server.hear()
                server.send("notifications/initialized", notify=True)
            yield server

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Have the inbox be watched."""
        self.inbox.mkdir(parents=True, mode=0o700, exist_ok=True)
        lock = FileLock(str(self.inbox / "test.watch"))
        assert lock.acquire()
        try:
            yield
        finally:
            lock.release()


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    monkeypatch.setenv("AGENT_EXEC_ROOT", str(tmp_path / "jobs"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("AGENT_EXEC_APPROVAL_POLICY", raising=False)
    found = Asked(tmp_path)
    found.work.mkdir()
    (tmp_path / "state" / "agent-exec").mkdir(parents=True, mode=0o700)
    found.rules.write_text(RULES)
    return found


def question() -> dict[str, Any]:
    """Wait until one question waits; return it."""
    wait_until(inbox_folder.waiting)
    (one,) = inbox_folder.waiting()
    return one


def said(answer: dict[str, Any]) -> str:
    """Return the text of an answer to a call."""
    return str(answer["result"]["content"][0]["text"])


@pytest.mark.parametrize("modern", [False, True])
def test_a_client_that_cannot_ask_waits_for_the_inbox(asked: Asked, modern: bool) -> None:
    with asked.watched(), asked.serve(capabilities=None if modern else {}) as server:
        server.send("tools/call", {**TOUCH, "_meta": {**META, MODERN: {}}} if modern else TOUCH)
        one = question()
        assert (one["server"], one["client"]) == ("mcp", "new\\x1b" if modern else "test")
        assert (one["command"], one["rule"], one["cwd"]) == (
            "touch made",
            f"{asked.rules}:1",
            str(asked.work),
        )
        assert one["pid"] != os.getpid()
        inbox_folder.answer(one["id"], "once", "cli")
        assert not server.hear()["result"]["isError"]
        wait_until(lambda: asked.made)
        server.send("tools/call", {**TOUCH, "_meta": {**META, MODERN: {}}} if modern else TOUCH)
        inbox_folder.answer(question()["id"], "no", "cli")
        assert "It was asked for, and the answer was no" in said(server.hear())


def test_the_inbox_answers_first_and_the_clients_question_is_cancelled(asked: Asked) -> None:
    with asked.watched(), asked.serve(capabilities=ELICITS) as server:
        server.send("tools/call", TOUCH)
        form = server.hear()
        assert form["method"] == "elicitation/create"
        one = question()
        assert one["text"] == form["params"]["message"]
        assert one["answers"] == form["params"]["requestedSchema"]["properties"]["answer"]["enum"]
        inbox_folder.answer(one["id"], "once", "http")
        cancelled = server.hear()
        assert (cancelled["method"], cancelled["params"]["requestId"]) == (
            "notifications/cancelled",
            form["id"],
        )
        assert not server.hear()["result"]["isError"]
        reply(server, form, "no")  # too late
        wait_until(lambda: asked.made)


def reply(server: Bare, form: dict[str, Any], answer: str, action: str = "accept") -> None:
    """Answer the question of a server."""
    content = {"content": {"answer": answer}} if action == "accept" else {}
    told = {"jsonrpc": "2.0", "id": form["id"], "result": {"action": action, **content}}
    server.say(json.dumps(told).encode())


def test_the_client_answers_first_and_the_inbox_says_so(asked: Asked) -> None:
    with asked.watched(), asked.serve(capabilities=ELICITS) as server:
        server.send("tools/call", TOUCH)
        form, one = server.hear(), question()
        reply(server, form, "no")
        assert "the answer was no" in said(server.hear())
        assert inbox_folder.waiting() == []
        with pytest.raises(InvalidState, match="the answer 'no' came first, by client"):
            inbox_folder.answer(one["id"], "once", "cli")
    assert not asked.made


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_client_without_a_person_leaves_it_to_the_inbox(asked: Asked, action: str) -> None:
    with asked.watched(), asked.serve(capabilities=ELICITS) as server:
        server.send("tools/call", TOUCH)
        reply(server, server.hear(), "", action)
        inbox_folder.answer(question()["id"], "once", "cli")
        assert not server.hear()["result"]["isError"]


@pytest.mark.parametrize("capabilities", [{}, ELICITS], ids=["cannot ask", "asks"])
def test_a_cancelled_call_withdraws_its_question(asked: Asked, capabilities: dict[str, Any]) -> None:
    with asked.watched(), asked.serve(capabilities=capabilities) as server:
        server.send("tools/call", TOUCH)
        one = question()
        server.send("notifications/cancelled", {"requestId": server.last}, notify=True)
        wait_until(lambda: not inbox_folder.waiting())
        with pytest.raises(InvalidState, match="its command was cancelled"):
            inbox_folder.answer(one["id"], "once", "cli")
        server.send("tools/call", TOUCH)
        question()
        server.hang_up()
        assert server.process.wait(20) == 0
        assert inbox_folder.waiting() == []
        assert server.process.stderr is not None
        assert server.process.stderr.read() == b""
    assert not asked.made


def test_a_killed_server_leaves_no_question(asked: Asked) -> None:
    with asked.watched(), asked.serve(capabilities={}) as server:
        server.send("tools/call", TOUCH)
        os.kill(question()["pid"], signal.SIGKILL)
        wait_until(lambda: not inbox_folder.waiting())
        assert [name for name in os.listdir(asked.inbox) if not name.endswith(".watch")] == []


@pytest.mark.parametrize("answer", ["decline", "no", None])
def test_a_call_that_comes_again_finds_the_answer_of_the_inbox(asked: Asked, answer: str | None) -> None:
    """2026-07-28: whatever the client brings, the inbox was first; a question that it answers itself is withdrawn."""
    with asked.watched(), asked.serve() as server:

        def call(**more: object) -> dict[str, Any]:
            server.send("tools/call", {**TOUCH, "_meta": {**META, MODERN: ELICITS}, **more})
            found: dict[str, Any] = server.hear()["result"]
            return found

        given = (
            {"action": "decline"}
            if answer == "decline"
            else {"action": "accept", "content": {"answer": answer}}
        )
        more = {} if answer is None else {"inputResponses": {"approval": given}}
        first = call()
        assert first["resultType"] == "input_required"
        one = question()
        again = call(requestState=first["requestState"])
        assert again["resultType"] == "input_required"
        assert question()["id"] == one["id"], "the same question waits"
        inbox_folder.answer(one["id"], "once", "cli")
        assert not call(requestState=again["requestState"], **more)["isError"]
        wait_until(lambda: asked.made)
        word = call()["requestState"]
        mine = question()["id"]
        yes = {"approval": {"action": "accept", "content": {"answer": "once"}}}
        assert not call(requestState=word, inputResponses=yes)["isError"]
        assert inbox_folder.waiting() == []
        assert inbox_folder.find(mine)[2].by == "client"  # type: ignore[union-attr]


def test_where_to_ask_is_the_operators_choice(asked: Asked) -> None:
    with asked.watched():
        for words, why in (
            (
                ("--approvals", "client"),
                "This client cannot ask a person: it does not support elicitation; allow",
            ),
            (
                ("--approvals", "off"),
                "The server was started with --approvals off, so no person was asked; allow",
            ),
        ):
            with asked.serve(*words, capabilities={}) as server:
                server.send("tools/call", TOUCH)
                assert why in said(server.hear())
    with asked.serve("--approvals", "inbox", "--approval-timeout", "1s", capabilities={}) as server:
        server.send("tools/call", TOUCH)
        question()
        assert "it makes files. No answer came within 1 s" in said(server.hear())
    with asked.serve("--approvals", "sometimes") as server:
        assert server.process.wait(20) == 2
    assert not asked.made


def test_escalation_is_offered_while_the_inbox_is_watched(asked: Asked) -> None:
    async def work(client: Client) -> "tuple[bool, bool]":
        def offers(tools: Any) -> bool:
            found = next(tool for tool in tools if tool.name == "exec_command")
            return "sandbox_permissions" in found.input_schema["properties"]

        before = offers((await client.list_tools()).tools)
        with asked.watched():
            return before, offers((await client.list_tools()).tools)

    assert talk(work, *lean("--workspace", asked.work)) == (False, True)


ATTACK = """
cd "$1" && echo reached
cat "$1"/*.json "$1"/*.lock 2>/dev/null
ls -a "$1" 2>/dev/null
echo '{"answer":"once","by":"cli","at":1.0}' > "$1/$2.answer"
ln /proc/self/cmdline "$1/$2.answer"
mkdir -p "$1" && echo '{"answer":"once","by":"cli","at":1.0}' > "$1/$2.answer"
agent-exec approvals answer "$2" once
"$3" -m agent_exec approvals answer "$2" once
"$3" -m agent_exec approvals
exec 9> "$1/mine.watch" && flock 9
"""


@pytest.mark.parametrize("sandbox", ["workspace-write", "read-only"])
def test_no_confined_command_reads_or_answers_a_question(asked: Asked, sandbox: str) -> None:
    secret = Request("echo the-secret-question", "/", Verdict("ask", reason="it asks"), ())
    with Inbox().post(secret) as posted:
        words = ["sh", "-c", ATTACK, "sh", str(asked.inbox), posted.id, sys.executable]

        async def work(client: Client) -> str:
            return text(await client.call_tool("run", {"command": words, "until": 30}))

        told = talk(work, *jobs("--workspace", asked.work, "--sandbox", sandbox))
        assert "the-secret-question" not in told
        assert "approval_answered" not in told
        assert posted.answer is None
        assert not inbox_folder.is_watched()
        assert [one["id"] for one in inbox_folder.waiting()] == [posted.id]
        assert sorted(os.listdir(asked.inbox)) == [f"{posted.id}.json", f"{posted.id}.lock"]


def test_a_full_disk_leaves_the_question_to_the_client(asked: Asked) -> None:
    """A folder that is not private is refused like one that cannot be written: the client is asked alone."""
    asked.inbox.mkdir(mode=0o755)
    asked.inbox.chmod(0o755)
    with asked.serve("--approvals", "inbox", capabilities=ELICITS) as server:
        server.send("tools/call", TOUCH)
        reply(server, server.hear(), "once")
        assert not server.hear()["result"]["isError"]
    with asked.serve("--approvals", "inbox", capabilities={}) as server:
        server.send("tools/call", TOUCH)
        assert "The question was not posted: the approval inbox" in said(server.hear())


def test_calls_wait_side_by_side(asked: Asked) -> None:
    """Each call has a question of its own, and each answer reaches its own call."""
    with asked.watched(), asked.serve(capabilities={}) as server:
        names = [f"made-{number}" for number in range(6)]
        for name in names:
            server.call("run", command=["touch", name])
        wait_until(lambda: len(inbox_folder.waiting()) == len(names))
        answers = {one["argv"][1]: one["id"] for one in inbox_folder.waiting()}
        doors = [
            threading.Thread(
                target=inbox_folder.answer, args=(answers[name], "no" if place % 2 else "once", "cli")
            )
            for place, name in enumerate(names)
        ]
        for door in doors:
            door.start()
        for door in doors:
            door.join()
        failed = [server.hear()["result"]["isError"] for _ in names]
        assert failed.count(True) == 3
        wait_until(lambda: sorted(os.listdir(asked.work)) == names[::2])
