"""What reaches a model: one text, few tokens, and nothing run twice; counted as o200k counts."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from apps.mcp.talking import HELLO, Bare, Client, bare, jobs, lean, talk, text

bpe: Any = pytest.importorskip("rs_bpe.bpe", reason="the tokenizer of the extra dev is not installed")

TOOLSETS = ("lean", "jobs", "session", "jobs,session", "oneshot", "executor")
DENY = '[[rule]]\nprefix = ["git", "push"]\nverdict = "deny"\nreason = "pushing is done by people"\n'
ASK = '[[rule]]\nprefix = ["npm", "publish"]\nverdict = "ask"\n'


def tokens(said: str) -> int:
    return int(bpe.openai.o200k_base().count(said))


class Model:
    """A server as a model sees it: definitions, and the text of each answer."""

    def __init__(self, server: Bare) -> None:
        self.server = server
        self.tools: list[dict[str, Any]] = []

    def call(self, name: str, /, **arguments: object) -> str:
        """Call a tool; the answer is one text and no object."""
        self.server.call(name, **arguments)
        while (answer := self.server.hear()).get("id") != self.server.last:
            pass
        assert "structuredContent" not in answer["result"]
        (content,) = answer["result"]["content"]
        return str(content["text"])


@contextmanager
def model(place: Path, *words: object, asks: bool = False) -> Iterator[Model]:
    """Serve to a model; `asks` if its client can ask a person."""
    folder = place / "work"
    folder.mkdir(exist_ok=True)
    fixed = ("--workspace", folder, "--root", place / "jobs", "--sandbox", "full-access")
    with bare(*lean(*fixed, *words)) as server:
        server.send("initialize", {**HELLO, "capabilities": {"elicitation": {}} if asks else {}})
        server.hear()
        server.send("notifications/initialized", notify=True)
        found = Model(server)
        server.send("tools/list")
        found.tools = server.hear()["result"]["tools"]
        yield found
        server.hang_up()
        server.process.wait(20)


def cost(tool: dict[str, Any]) -> int:
    schema = json.dumps(tool["inputSchema"], separators=(",", ":"))
    return tokens(tool["name"]) + tokens(tool["description"]) + tokens(schema)


@pytest.mark.parametrize("asks", [False, True])
@pytest.mark.parametrize("toolset", TOOLSETS)
def test_definitions_are_short(tmp_path: Path, toolset: str, asks: bool) -> None:
    with model(tmp_path, "--toolset", toolset, asks=asks) as it:
        costs = {tool["name"]: cost(tool) for tool in it.tools}
        assert all("outputSchema" not in tool for tool in it.tools)
        assert all(tool["annotations"] for tool in it.tools)
    whole = sum(costs.values())
    # The list of allowed programs is what the tool of the executor is about.
    most = {"jobs,session": 1300, "executor": 120}.get(toolset, 90 * len(costs) + (90 if asks else 0))
    assert whole <= most, costs
    if toolset == "jobs,session":
        assert whole / len(costs) <= 90


def test_the_default_toolset(tmp_path: Path) -> None:
    with model(tmp_path) as it:
        assert [tool["name"] for tool in it.tools] == [
            *("exec_command", "write_stdin", "read_output", "kill_session", "apply_patch"),
            *("run", "tail", "wait", "kill", "list"),
        ]
        told = {tool["name"]: tool["description"] for tool in it.tools}
    for name, words in {
        "exec_command": "build test server REPL terminal write_stdin",
        "write_stdin": "REPL terminal server exec_command log",
        "read_output": "log exec_command",
        "kill_session": "exec_command",
        "run": "background build test server wait tail kill",
        "tail": "log background run",
        "wait": "background run log",
        "kill": "background run",
        "list": "background run",
    }.items():
        assert all(re.search(rf"\b{word}\b", told[name]) for word in words.split()), name


def test_a_short_answer_costs_little(tmp_path: Path) -> None:
    with model(tmp_path) as it:
        said = it.call("exec_command", cmd="echo hello", login=False)
        assert re.fullmatch(r"Wall time: [\d.]+ s, exit code 0\nOutput:\nhello", said)
        assert tokens(said) <= 45
        said = it.call("run", command=["echo", "hello"])
        assert re.fullmatch(r"job \w{8} exit 0, [\d.]+ s\nhello", said)
        assert tokens(said) <= 45
    with model(tmp_path, "--toolset", "oneshot") as it:
        said = it.call("exec_command", cwd=".", command=["echo", "hello"])
        assert re.fullmatch(r"exit 0, [\d.]+ s\nhello", said)
    with model(tmp_path, "--toolset", "executor") as it:
        said = it.call("execute_command", command="echo", args=["hello"])
        assert re.fullmatch(r"exit 0, [\d.]+ s\nhello", said)
        said = it.call("execute_command", command="python3", args=["-c", "import os; os.abort()"])
        assert said.startswith("killed by SIGABRT, ")
        said = it.call("execute_command", command="gcc")
        assert said.startswith("COMMAND_NOT_WHITELISTED: ")
        assert "use a program that is on the list: ls find " in said
        assert tokens(said) <= 90


def test_jobs_in_few_words(tmp_path: Path) -> None:
    go = tmp_path / "work" / "go"
    with model(tmp_path, "--toolset", "jobs") as it:
        line = "echo one; echo odd >&2; while [ ! -e go ]; do sleep 0.01; done; echo two; exit 3"
        said = it.call("run", command=["sh", "-c", line], until=1)
        found = re.fullmatch(r"job (\w{8}) runs, 1\.0 s\none\nstderr:\nodd", said)
        assert found, said
        assert tokens(said) <= 70
        job_id = found[1]
        assert it.call("tail", job_id=job_id, cursor="new") == f"job {job_id} runs"
        go.touch()
        said = it.call("wait", job_id=job_id, until=50)
        assert re.fullmatch(rf"job {job_id} exit 3, [\d.]+ s\none\ntwo\nstderr:\nodd", said)
        assert re.fullmatch(rf"job {job_id} exit 3, [\d.]+ s", it.call("tail", job_id=job_id, cursor="new"))
        assert it.call("kill", job_id=job_id).startswith(f"job {job_id} exit 3")
        said = it.call("status", job_id=job_id)
        assert said.startswith(f"job {job_id} exit 3")
        assert "stdout 8 bytes, stderr 4 bytes" in said
        for _ in range(3):
            it.call("run", command=["echo", "hello"])
        said = it.call("list")
        assert [one.split(maxsplit=1)[1].split(",")[0] for one in said.splitlines()] == ["exit 0"] * 3 + [
            "exit 3"
        ]
        assert tokens(said) <= 4 * 25
        assert it.call("run", command=["no-such-program"]).startswith("command_not_found: no program")


def test_what_was_left_out_is_shown_by_the_call_that_is_named(tmp_path: Path) -> None:
    with model(tmp_path) as it:
        for said, tool in (
            (it.call("run", command=["seq", "1000"]), "tail"),
            (it.call("exec_command", cmd="seq 1000", login=False), "read_output"),
            (it.call("exec_command", cmd="seq 1000", login=False, max_output_tokens=100), "read_output"),
        ):
            name, number, view = re.findall(rf"{tool} (\w+)=(\w+) view=(range=\d+-\d+)", said)[0]
            assert "\n500\n" not in said
            assert "\n500\n" in it.call(tool, **{name: int(number) if tool != "tail" else number}, view=view)
        job_id = re.findall(r"job (\w+)", it.call("run", command=["seq", "1000"]))[0]
        said = it.call("tail", job_id=job_id, lines=3)
        size = re.findall(rf"tail job_id={job_id} lines=0 max_bytes=(\d+) shows them", said)[0]
        assert "\n500\n" in it.call("tail", job_id=job_id, lines=0, max_bytes=int(size))


LOG = 'seq -f "step %g of the build" 2000; echo "src/shop.c:7:3: error: no till"; {}; seq -f "step %g of the build" 99'


def test_a_failure_in_a_long_output_is_in_the_first_answer(tmp_path: Path) -> None:
    with model(tmp_path) as it:
        failing = f"{LOG.format('true')}; exit 3"
        for said in (
            it.call("exec_command", cmd=failing, login=False),
            it.call("run", command=["sh", "-c", failing]),
        ):
            assert "src/shop.c:7:3: error: no till" in said
            assert "like the one above" in said
            assert tokens(said) < 400


def test_a_call_may_say_which_view_it_wants(tmp_path: Path) -> None:
    with model(tmp_path) as it:
        said = it.call("exec_command", cmd=LOG.format("true"), login=False, view="grep=^step 77 ")
        assert "step 77 of the build" in said
        assert "step 78 of the build" not in said
        number = int(re.findall(r"read_output session_id=(\d+)", said)[0])
        assert "no till" in it.call("read_output", session_id=number, view="errors")
        assert "step 78 of the build" in it.call("read_output", session_id=number, view="full")
        said = it.call("run", command=["sh", "-c", LOG.format("true")], view="errors")
        assert "no till" in said
        assert "step" not in said
        job_id = re.findall(r"job (\w+)", said)[0]
        assert "step 78 " in it.call("tail", job_id=job_id, view="full")
        assert "step 77 " in it.call("wait", job_id=job_id, view="grep=step 77 ")
        for name, given in (("exec_command", {"cmd": "true"}), ("tail", {"job_id": job_id})):
            assert "use auto, full, head" in it.call(name, **given, view="most")


@pytest.mark.parametrize("toolset", ["jobs,session", "oneshot"])
def test_a_denial_says_what_to_do(tmp_path: Path, toolset: str) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text(DENY + ASK)
    with model(tmp_path, "--toolset", toolset, "--rules", rules) as it:
        for words in (["git", "push"], ["npm", "publish"]):
            if toolset == "oneshot":
                said = [it.call("exec_command", cwd=".", command=words)]
            else:
                said = [
                    it.call("run", command=words),
                    it.call("exec_command", cmd=" ".join(words), login=False),
                ]
            for one in said:
                assert "rule" in one
                assert tokens(one) <= 90, one


def test_a_program_can_have_objects_and_schemas(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert all(tool.output_schema for tool in tools)
        result = await client.call_tool("exec_command", {"cmd": "echo hi", "login": False})
        assert result.structured_content["output"] == "hi\n"
        assert text(result).endswith("Output:\nhi")

    talk(work, *jobs("--toolset", "lean", "--workspace", tmp_path))


def test_null_is_absent(tmp_path: Path) -> None:
    """Strict modes of providers send every field."""
    calls: dict[str, list[tuple[str, dict[str, Any]]]] = {
        "lean": [("run", {"command": ["echo", "hi"]}), ("exec_command", {"cmd": "echo hi"}), ("list", {})],
        "oneshot": [("exec_command", {"cwd": ".", "command": ["echo", "hi"]})],
        "executor": [("execute_command", {"command": "echo", "args": ["hi"]})],
    }
    for toolset, asked in calls.items():
        with model(tmp_path, "--toolset", toolset) as it:
            fields = {tool["name"]: tool["inputSchema"]["properties"] for tool in it.tools}
            for name, given in asked:
                said = it.call(name, **{**dict.fromkeys(fields[name]), **given})
                assert "hi" in said
                assert "null" not in said
            if toolset == "lean":
                assert "run needs the argument command" in it.call("run", command=None)


def test_one_call_starts_a_program_and_answers_its_questions(tmp_path: Path) -> None:
    code = "a = input('first? '); b = input('second? '); print(a + b)"
    with model(tmp_path) as it:
        asked = {"cmd": f'python3 -c "{code}"', "login": False, "yield_time_ms": 30_000}
        said = it.call("exec_command", **asked, input=["six\n", "seven\n"])
        assert "exit code 0" in said
        assert said.endswith("sixseven")
        said = it.call("exec_command", **asked, input="six\n")
        assert "waits for input" in said
        assert said.endswith("second? ")
        said = it.call("exec_command", cmd="echo over", login=False, input=["x\n"], yield_time_ms=30_000)
        assert "Note: 1 of 1 inputs were not typed" in said


def test_sessions_are_listed_with_jobs(tmp_path: Path) -> None:
    with model(tmp_path) as it:
        assert it.call("list") == "no jobs"
        it.call("exec_command", cmd="sleep 1000", login=False, yield_time_ms=250)
        it.call("run", command=["true"])
        job, session = it.call("list").splitlines()
        assert job.endswith(": true")
        assert re.fullmatch(r"\d+ running sleep 1000", session)


def test_no_call_is_silent_for_long_unless_its_client_hears_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_EXEC_MCP_DEFAULT_UNTIL_SECONDS", "1")
    line = "while [ ! -e go ]; do sleep 0.01; done"
    go = tmp_path / "work" / "go"
    with model(tmp_path, "--toolset", "session") as it:
        said = it.call("exec_command", cmd=line, login=False)
        number = int(re.findall(r"session ID (\d+) runs", said)[0])
        assert "runs" in it.call("write_stdin", session_id=number)
        asked = {"name": "write_stdin", "arguments": {"session_id": number}, "_meta": {"progressToken": "t"}}
        it.server.send("tools/call", asked)
        heard = [it.server.hear() for _ in range(2)]  # it waits for longer than a second
        assert [one.get("method") for one in heard] == ["notifications/progress"] * 2
        go.touch()
        while (answer := it.server.hear()).get("id") != it.server.last:
            pass
        assert "exit code 0" in answer["result"]["content"][0]["text"]


def test_a_cut_off_session_is_gone_on_with(tmp_path: Path) -> None:
    line = "echo began >> starts; while [ ! -e go ]; do sleep 0.01; done; cat starts"
    folder = tmp_path / "work"
    with model(tmp_path) as it:
        it.server.call("exec_command", cmd=line, login=False, yield_time_ms=30_000)
        while not (folder / "starts").exists():
            pass
        it.server.send("notifications/cancelled", {"requestId": it.server.last}, notify=True)
        it.server.call("exec_command", cmd=line, login=False, yield_time_ms=30_000)
        it.call("list")
        (folder / "go").touch()
        said = it.call("exec_command", cmd="cat starts", login=False)
        assert said.endswith("Output:\nbegan")
