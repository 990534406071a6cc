"""Servers are found by their sockets: those of this user, which live, and by nothing that is confined."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from shlex import quote

import pytest

from agent_exec.faces.session.tools import SessionTools, open_tools
from agent_exec.model.errors import Broken, Unsupported
from agent_exec.sandbox.profile import Profile
from agent_exec.sessions.sharing import client, hub, place, share
from agent_exec.sessions.sharing.frames import Frames
from sessions.sharing.talking import Person, own_server, raw, started
from support import wait_until

SERVER = """
import sys
from agent_exec.sessions import open_tools
tools = open_tools(rules=None, share=True, workspace=sys.argv[1])
print(tools.call("exec_command", {"cmd": "cat", "tty": True, "login": False, "yield_time_ms": 250}).text, flush=True)
sys.stdin.read()
tools.close()
"""


@pytest.fixture
def another(data: Path, nothing_left: str, tmp_path: Path) -> "subprocess.Popen[str]":
    """Another server, which has one session."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    while "session ID" not in process.stdout.readline():
        pass
    return process


def end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()


def test_the_socket_of_a_killed_server_is_removed_by_the_next_list(
    another: "subprocess.Popen[str]", data: Path
) -> None:
    (found,) = client.list_servers()
    assert found["server"]["pid"] == another.pid
    person = Person(found["server"]["server"], found["sessions"][0]["session_id"], offset=0)
    end(another)
    with pytest.raises((Broken, AssertionError)):
        person.until("end")
    person.close()
    assert list((data / "agent-exec" / "servers").iterdir())
    assert client.list_servers() == []
    assert not list((data / "agent-exec" / "servers").iterdir())


def test_the_next_server_removes_it_too(
    another: "subprocess.Popen[str]", data: Path, tools: SessionTools
) -> None:
    end(another)
    started(tools, "cat")
    (path,) = (data / "agent-exec" / "servers").iterdir()
    assert path.name == f"{share.server_name()}.sock"


def test_a_server_that_does_not_answer_is_left_out(
    another: "subprocess.Popen[str]", tools: SessionTools
) -> None:
    started(tools, "cat")
    assert len(client.list_servers(30)) == 2
    another.send_signal(signal.SIGSTOP)
    os.waitpid(another.pid, os.WUNTRACED)  # all its threads stand still
    try:
        (found,) = client.list_servers(0.3)
        assert found["server"]["pid"] == os.getpid()
    finally:
        end(another)
    assert len(client.list_servers()) == 1


def test_a_folder_of_a_long_path_has_sockets_too(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nothing_left: str
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / ("long" * 30)))
    with open_tools(rules=None, share=True) as tools:
        session = started(tools, "cat")
        assert client.list_servers()[0]["sessions"][0]["session_id"] == session.number
    assert client.list_servers() == []


def test_the_folder_is_for_its_user_alone(data: Path, nothing_left: str) -> None:
    folder = data / "agent-exec" / "servers"
    folder.mkdir(parents=True, mode=0o777)
    folder.chmod(0o777)
    with open_tools(rules=None, share=True) as tools:
        started(tools, "cat")
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_command_runs_where_nothing_can_be_shared(data: Path, nothing_left: str) -> None:
    data.mkdir()
    (data / "agent-exec").write_text("a file in the way")
    with open_tools(rules=None, share=True) as tools:
        started(tools, "cat")
        assert tools.sessions.share is not None
        assert "no socket can be made" in tools.sessions.share.problem


def test_other_users_are_refused(tools: SessionTools, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started(tools, "cat")
    monkeypatch.setattr(hub, "_own_user", lambda: os.geteuid() + 1)
    with raw(data) as talk:
        answer = talk.receive()
        assert isinstance(answer, dict)
        assert (answer["type"], answer["code"]) == ("error", "refused")
        assert talk.receive() is None


STRANGER = """
import os, socket, sys
os.chdir(sys.argv[1])
os.setgroups([]); os.setgid(65534); os.setuid(65534)
wire = socket.socket(socket.AF_UNIX)
try:
    wire.connect(sys.argv[2])
except PermissionError:
    print("no way in")
else:
    sys.stdout.buffer.write(wire.recv(4096))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_has_no_way_in_and_is_refused_with_one(tools: SessionTools, data: Path) -> None:
    started(tools, "cat")
    folder = data / "agent-exec" / "servers"
    (path,) = folder.iterdir()

    def attempt() -> bytes:
        argv = [sys.executable, "-IS", "-c", STRANGER, str(folder), path.name]
        return subprocess.run(argv, capture_output=True, check=True).stdout

    assert attempt() == b"no way in\n"
    folder.chmod(0o711)
    path.chmod(0o777)
    (told,) = Frames().feed(attempt())
    assert isinstance(told, dict)
    assert told["code"] == "refused"
    assert "user 65534" in told["message"]


ATTACK = """
import os, socket, sys
for attempt in (
    lambda: os.listdir(sys.argv[1]) or 1 / 0,
    lambda: os.chdir(sys.argv[1]) or socket.socket(socket.AF_UNIX).connect(os.path.basename(sys.argv[2])),
    lambda: os.stat(sys.argv[2]),
    lambda: os.link(sys.argv[2], "own.sock"),
):
    try:
        attempt()
    except (OSError, ZeroDivisionError):
        continue
    print("REACHED")
print("done")
"""


def test_a_confined_command_cannot_reach_the_sockets(
    data: Path, nothing_left: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The data folder lies in the workspace here, where a box may read and write."""
    work = tmp_path / "work"
    (work / "data").mkdir(parents=True)
    monkeypatch.setenv("XDG_DATA_HOME", str(work / "data"))
    with open_tools(
        rules=None, share=True, workspace=str(work), sandbox=Profile("workspace-write", [str(work)])
    ) as tools:
        started(tools, "cat")
        (path,) = (work / "data" / "agent-exec" / "servers").iterdir()
        words = (os.path.realpath(sys.executable), "-IS", "-c", ATTACK, str(path.parent), str(path))
        line = " ".join(map(quote, words))
        answer = tools.call("exec_command", {"cmd": line, "login": False, "yield_time_ms": 30_000})
        assert answer.structured is not None
        assert answer.structured["output"] == "done\n", answer.text
        assert len(client.list_servers()) == 1


def test_a_forked_copy_is_no_server(tools: SessionTools) -> None:
    started(tools, "cat")
    name = share.server_name()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, b"%d %d" % (share._hub is None, share.server_name() != name))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 10) == b"1 1"
    os.close(reader)
    os.close(writer)
    assert own_server() == name


def test_systems_that_cannot_share_say_so(
    data: Path, monkeypatch: pytest.MonkeyPatch, nothing_left: str
) -> None:
    monkeypatch.setattr("agent_exec.sessions.sharing.share.sys.platform", "win32")
    with pytest.raises(Unsupported, match="open the tools without share"):
        open_tools(rules=None, share=True)
    monkeypatch.undo()


def test_names_that_are_none_lead_nowhere(data: Path) -> None:
    assert place.connect("../../etc") is None
    assert place.connect("") is None
    assert place.servers() == []


def test_there_are_not_more_viewers_than_descriptors_allow(
    tools: SessionTools, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = started(tools, "cat")
    assert share._hub is not None
    monkeypatch.setattr(share._hub, "_most", 1)
    with raw(data) as first, raw(data) as second:
        assert isinstance(told := second.receive(), dict)
        assert "viewers already" in told["message"]
        first.send({"type": "list"})
        assert isinstance(told := first.receive(), dict)
        assert told["sessions"][0]["session_id"] == session.number
    wait_until(lambda: not share._hub or not share._hub._viewers)


def test_sessions_of_one_process_have_different_numbers(
    data: Path, nothing_left: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from agent_exec.sessions import registry

    draws = iter([5000, 5000, 5001])
    monkeypatch.setattr(registry, "randrange", lambda *_: next(draws))
    one, other = registry.Registry("x"), registry.Registry("y")
    assert (one.reserve(), other.reserve()) == (5000, 5001)
