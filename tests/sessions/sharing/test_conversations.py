"""Each message of the protocol does what it says."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent_exec.faces.session.tools import SessionTools
from agent_exec.model.errors import InvalidArgument, Missing
from agent_exec.sessions.sharing import client
from sessions.sharing.talking import Person, own_server, raw, started
from support import wait_until

Watch = Callable[..., Person]


def test_a_list_names_the_server_and_its_sessions(tools: SessionTools, tmp_path: Path) -> None:
    session = started(tools, "echo some words; exec cat")
    (found,) = client.list_servers()
    assert found["server"].keys() == {"server", "pid", "kind", "client", "workspace"}
    assert found["server"]["kind"] == "library"
    assert found["server"]["workspace"] == str(tmp_path.resolve())
    (told,) = found["sessions"]
    assert told["session_id"] == session.number
    assert (told["cmd"], told["tty"], told["running"]) == ("echo some words; exec cat", True, True)
    assert (told["rows"], told["columns"], told["viewers"], told["writer"]) == (24, 80, 0, None)
    assert told["line"] == "some words"


def test_nothing_is_shared_unless_it_is_asked_for(data: Path, nothing_left: str) -> None:
    from agent_exec.faces.session.tools import open_tools

    with open_tools(rules=None) as tools:
        started(tools, "cat")
        assert client.list_servers() == []
        assert not data.exists()


def test_a_list_can_be_asked_for_again(tools: SessionTools, data: Path) -> None:
    started(tools, "cat")
    with raw(data) as talk:
        for _ in range(3):
            talk.send({"type": "list"})
        for _ in range(3):
            assert isinstance(answer := talk.receive(), dict)
            assert answer["type"] == "sessions"


def test_a_viewer_sees_the_screen_and_then_what_follows(tools: SessionTools, watch: Watch) -> None:
    session = started(tools, "printf 'before\\n'; read line; printf \"got $line\\n\"; exit 3")
    wait_until(lambda: session.transcript.total >= 8)
    person = watch(session.number, name="ann")
    assert person.hello["session"] == session.number
    assert person.hello["cmd"].startswith("printf")
    assert (person.hello["rows"], person.hello["columns"]) == (24, 80)
    assert (person.hello["running"], person.hello["tty"]) == (True, True)
    assert (person.hello["writer"], person.hello["writer_name"]) == (None, None)
    snapshot = person.until("snapshot")
    assert snapshot["exact"] is True
    assert person.screen.text() == "before"
    person.send({"type": "take"})
    person.send(b"x\n")
    end = person.until("end")
    assert person.screen.text() == "before\nx\ngot x"
    assert end == {
        "type": "end",
        "offset": session.transcript.total,
        "exit_code": 3,
        "signal": None,
        "job_id": None,
    }
    assert person.step() is None, "the connection is closed after the end"


def test_output_is_replayed_from_an_offset_with_the_sizes_it_had(tools: SessionTools, watch: Watch) -> None:
    session = started(tools, "echo one; read line; echo two; read line")
    wait_until(lambda: session.transcript.total >= 5)
    session.resize(10, 40)
    session.type(b"\n")
    wait_until(lambda: b"two" in session.read(0, 100)[1])
    person = watch(session.number, offset=0)
    assert (person.hello["offset"], person.hello["rows"]) == (0, 24)
    person.until_printed(b"two\r\n")
    assert person.messages == [{"type": "resize", "offset": 5, "rows": 10, "columns": 40}]
    assert person.output == session.read(0, 100)[1]
    later = watch(session.number, offset=5)
    assert (later.hello["offset"], later.hello["rows"], later.hello["columns"]) == (5, 10, 40)
    later.until_printed(b"two\r\n")
    assert later.messages == []
    person.send({"type": "kill"})
    assert person.until("end")["signal"] in ("SIGHUP", "SIGTERM")


def test_pipes_are_watched_too(tools: SessionTools, watch: Watch) -> None:
    session = started(tools, "echo one; echo two; exec sleep 600", tty=False)
    wait_until(lambda: session.transcript.total == 8)
    person = watch(session.number)
    person.until("snapshot")
    assert person.hello["tty"] is False
    assert person.screen.text() == "one\ntwo"
    assert person.screen.newline_returns, "what follows is shown with the ends of lines that it has"
    for message in ({"type": "take"}, b"x", {"type": "resize", "rows": 5, "columns": 5}):
        person.send(message)
        assert person.until("refused")["code"] == "no_terminal"


def test_a_session_that_has_ended_is_shown_whole(tools: SessionTools, watch: Watch) -> None:
    started(tools, "cat")  # so that the server is there
    session = started(tools, "read line; exit 4")
    session.type(b"\n")
    wait_until(lambda: session.ended)
    person = watch(session.number, offset=0)
    assert person.hello["running"] is False
    assert person.until("end")["exit_code"] == 4
    assert person.output == b"\r\n"


def test_a_paused_viewer_is_sent_nothing_until_it_resumes(tools: SessionTools, watch: Watch) -> None:
    session = started(tools, "cat")
    person = watch(session.number, offset=0)
    person.send({"type": "pause"})
    person.send({"type": "take"})
    assert person.until("writer")["writer"] == "you"
    person.send(b"hello\n")
    wait_until(lambda: session.transcript.total >= 14)
    person.send({"type": "take"})
    assert person.step() == {"type": "writer", "writer": "you", "name": "someone", "asked_by": None}
    person.send({"type": "resume"})
    person.until_printed(b"hello\r\nhello\r\n")


def test_a_viewer_that_lags_is_sent_a_snapshot_if_it_said_so(tools: SessionTools, watch: Watch) -> None:
    session = started(tools, "seq 100000; exec cat")
    wait_until(lambda: session.transcript.total >= 688_895)
    person = watch(session.number, offset=0, skip=1000)
    assert person.until("snapshot")["offset"] == session.transcript.total
    assert person.output == b""
    assert person.screen.text().endswith("99999\n100000")


def test_a_viewer_that_only_watches_changes_nothing(tools: SessionTools, watch: Watch) -> None:
    session = started(tools, "cat")
    person = watch(session.number, offset=0, watch=True)
    for message in ({"type": "take"}, b"x", {"type": "kill"}, {"type": "resize", "rows": 5, "columns": 5}):
        person.send(message)
        assert person.until("refused")["code"] == "read_only"
    assert session.transcript.total == 0
    assert not session.ended


def test_a_session_that_is_not_there_is_said_to_be_missing(tools: SessionTools) -> None:
    started(tools, "cat")
    with pytest.raises(Missing, match="no session 999"):
        client.attach(own_server(), 999)
    with pytest.raises(Missing, match="no server 'abc' any more"):
        client.attach("abc", 999)
    with pytest.raises(Missing):
        client.attach("../x", 999)
    with pytest.raises(InvalidArgument, match="skip must be a whole number"):
        client.attach(own_server(), 999, skip=-1)


def test_the_end_of_the_server_ends_conversations(data: Path, nothing_left: str) -> None:
    from agent_exec.faces.session.tools import open_tools

    with open_tools(rules=None, share=True) as tools:
        session = started(tools, "cat")
        person = Person(own_server(), session.number)
        person.until("snapshot")
    assert person.until("end")["signal"] is not None
    assert person.step() is None
    person.close()
    assert client.list_servers() == []
