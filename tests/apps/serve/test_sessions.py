"""Sessions of a server from Python, and those of other servers of the same user."""

import asyncio
import threading
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the server's libraries are not installed")
pytest.importorskip("websockets", reason="the server's libraries are not installed")

import agent_exec
from agent_exec import Cancel
from agent_exec.apps.serve.tokens import Scope, issue
from agent_exec.faces.remote import Server
from agent_exec.sessions import SessionTools, open_tools
from apps.serve.serving import Served, served
from apps.serve.viewing import begin
from cli import Cli
from support import wait_until


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Served]]:
    """Two servers of one user."""
    work = tmp_path_factory.mktemp("sessions") / "work"
    work.mkdir()
    cli = Cli(work.with_name("jobs"), work)
    with served(cli) as one, served(cli, address=("--socket", work / "socket")) as other:
        yield one, other


@pytest.fixture
def remote(pair: tuple[Served, Served]) -> Server:
    return agent_exec.connect(pair[0].url, pair[0].token)


@pytest.fixture
def elsewhere(pair: tuple[Served, Served]) -> Iterator[str]:
    """The id of a session that the other server has."""
    number = begin(pair[1], "stty -echo; exec cat", yield_time_ms=1000)
    found = pair[0]("GET", "/v1/sessions").body["sessions"]
    [mine] = [one for one in found if one["session_id"] == number]
    assert (mine["kind"], mine["cmd"], mine["tty"]) == ("serve", "stty -echo; exec cat", True)
    assert mine["id"] == f"{mine['server']}.{number}"
    yield mine["id"]
    pair[1]("DELETE", f"/v1/sessions/{number}")


def test_tools_are_called_as_local_ones(remote: Server, tmp_path: Path) -> None:
    tools = remote.tools
    assert isinstance(tools, SessionTools)
    local = open_tools(workspace=str(tmp_path), jobs=str(tmp_path / "jobs"))
    with local:
        assert tools.definitions() == local.definitions()
        assert tools.instructions.startswith(local.instructions.partition(str(tmp_path))[0])
        asked = {"cmd": "echo hi; exit 3", "login": False}
        mine, theirs = (one.call("exec_command", asked) for one in (local, tools))
        for told in (mine, theirs):
            assert told.structured is not None
            assert (told.structured["exit_code"], told.structured["output"]) == (3, "hi\n")
        assert mine.text.splitlines()[-2:] == theirs.text.splitlines()[-2:]
        for name, given in (
            ("read_output", {"session_id": 1}),
            ("exec_command", {"cmd": 5}),
            ("fly", {}),
        ):
            wrong, same = (one.call(name, given) for one in (local, tools))
            assert (wrong.is_error, wrong.text) == (same.is_error, same.text)
    ran = asyncio.run(tools.acall("exec_command", {"cmd": "echo hi", "login": False}))
    assert "hi" in ran.text
    for call in (lambda: tools.picture(1), lambda: tools.record(1, StringIO())):
        with pytest.raises(agent_exec.AgentExecError) as error:
            call()
        assert error.value.code == "unsupported"


def test_a_call_that_is_cancelled_ends_what_it_has_started(remote: Server) -> None:
    cancel = Cancel()
    asked = {"cmd": "sleep 6543", "login": False, "yield_time_ms": 30000}

    def give_up() -> None:
        wait_until(lambda: running(remote))
        cancel.set()

    person = threading.Thread(target=give_up)
    person.start()
    told = remote.tools.call("exec_command", asked, cancel)
    person.join()
    assert told.is_error
    wait_until(lambda: not running(remote))


def running(remote: Server) -> list[object]:
    return [one for one in remote.sessions() if one["cmd"] == "sleep 6543" and one["running"]]


def test_a_terminal_is_read_under_asyncio_and_trio(remote: Server, elsewhere: str) -> None:
    import trio

    async def work() -> None:
        terminal = await remote.aattach(elsewhere)
        with terminal:
            terminal.take()
            terminal.write(b"typed\n")
            found = b""
            while not found.endswith(b"typed\r\n"):
                message = await terminal.aread(60)
                assert message is not None
                found += message if isinstance(message, bytes) else b""
            assert await terminal.aread(0.05) is None

    asyncio.run(work())
    trio.run(work)


def test_a_connection_that_is_cut_says_where_to_go_on(remote: Server, elsewhere: str) -> None:
    with remote.attach(elsewhere) as terminal:
        terminal.close()
        with pytest.raises(agent_exec.Broken, match=r"attach again with offset=\d+"):
            while True:
                terminal.read(10)
        with pytest.raises(agent_exec.Broken, match="attach again"):
            terminal.take()
    for session in ("nowhere.1", 5):
        with pytest.raises(agent_exec.AgentExecError) as error:
            remote.attach(session)
        assert error.value.code == "missing"
    with pytest.raises(agent_exec.AgentExecError) as refused:
        agent_exec.connect(remote.url, "wrong").attach(elsewhere)
    assert refused.value.code == "unauthorized"
    with pytest.raises(agent_exec.Broken, match="does not answer"):
        agent_exec.connect("http://127.0.0.1:9", "x").attach(1)


def test_a_terminal_is_reached_through_a_unix_socket(pair: tuple[Served, Served], elsewhere: str) -> None:
    other = agent_exec.connect(pair[1].url, pair[1].token)
    number = int(elsewhere.partition(".")[2])
    for session in (number, elsewhere):  # it is the server's own
        with other.attach(session) as terminal:
            assert terminal.hello["session"] == number
            assert terminal.hello["server"] == elsewhere.partition(".")[0]


def test_sessions_of_other_servers_are_typed_into_read_resized_and_ended(
    pair: tuple[Served, Served], remote: Server, elsewhere: str
) -> None:
    server, path = pair[0], f"/v1/sessions/{elsewhere}"
    told = server("POST", f"{path}/write", {"chars": "hellö\n", "yield_time_ms": 500}).body
    assert (told["session_id"], told["output"], told["running"]) == (elsewhere, "hellö\r\n", True)
    read = server("GET", f"{path}/output?from=4&max_bytes=3").body
    assert (read["from"], read["to"], read["size"], read["output"]) == (4, 7, 8, "ö\r")
    assert server("GET", f"{path}/output?from=99").body["output"] == ""
    with server.stream(f"{path}/output", last="4") as events:
        assert next(events).data["text"] == "ö\r\n"
    assert server("POST", f"{path}/resize", {"rows": 10, "columns": 40}).status == 200
    with remote.attach(elsewhere, name="ann") as ann:
        assert (ann.hello["rows"], ann.hello["columns"]) == (10, 40)
        ann.take()
        while ann.writer != "you":
            ann.read(60)
        for name, body in (("write", {"chars": "x"}), ("resize", {"rows": 5, "columns": 5})):
            busy = server("POST", f"{path}/{name}", body)
            assert (busy.status, busy.body["code"], "ann" in busy.body["detail"]) == (409, "busy", True)
    for method, name, body, status in (
        ("POST", "write", {"chars": "x", "wait_until": "exit"}, 400),
        ("POST", "detach", {}, 400),
        ("POST", "resize", {"rows": 0, "columns": 5}, 400),
    ):
        assert server(method, f"{path}/{name}", body).status == status, name
    ended = server("DELETE", path).body
    assert (ended["session_id"], ended["running"], ended["signal"]) == (elsewhere, False, "SIGTERM")
    assert server("POST", f"{path}/write", {"chars": "x"}).status == 409


def test_a_token_for_an_agent_reaches_the_sessions_of_its_server_only(
    pair: tuple[Served, Served], elsewhere: str
) -> None:
    server, path = pair[0], f"/v1/sessions/{elsewhere}"
    token = issue(server.token, Scope(no_answers=True))
    own = server("POST", "/v1/sessions", {"cmd": "cat", "tty": True, "login": False}, token=token).body[
        "session_id"
    ]
    listed = server("GET", "/v1/sessions", token=token).body["sessions"]
    assert str(own) in [one["id"] for one in listed]
    assert not [one for one in listed if "server" in one]
    assert elsewhere in [one["id"] for one in server("GET", "/v1/sessions").body["sessions"]]
    for method, name, body in (
        ("POST", "/write", {"chars": "x\n"}),
        ("GET", "/output", None),
        ("POST", "/resize", {"rows": 5, "columns": 5}),
        ("DELETE", "", None),
    ):
        reply = server(method, path + name, body, token=token)
        assert (reply.status, reply.body["code"]) == (403, "forbidden"), name
    refused = server("GET", f"{path}/output", headers={"accept": "text/event-stream"}, token=token)
    assert refused.status == 403
    with pytest.raises(agent_exec.AgentExecError, match="--no-approvals"):
        agent_exec.connect(server.url, token).attach(elsewhere)
    assert server("POST", f"/v1/sessions/{own}/write", {"chars": "x\n"}, token=token).status == 200
    assert server("DELETE", f"/v1/sessions/{own}", token=token).status == 200
