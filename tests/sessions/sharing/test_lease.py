"""One at a time has the keyboard of a session: the agent, or a person, who gives it back."""

from collections.abc import Callable

import pytest

from agent_exec.faces.session.failures import ToolFailure
from agent_exec.faces.session.tools import SessionTools
from agent_exec.sessions.sharing import client, viewer
from sessions.sharing.talking import Person, started
from support import wait_until

Watch = Callable[..., Person]


def test_the_keyboard_is_asked_for_and_handed_over(tools: SessionTools, watch: Watch) -> None:
    session = started(tools, "cat")
    ann, bob, eve = (watch(session.number, offset=0, name=name) for name in ("ann", "bob", "eve"))
    ann.send({"type": "take"})
    assert ann.until("writer") == {"type": "writer", "writer": "you", "name": "ann", "asked_by": None}
    assert bob.until("writer") == {"type": "writer", "writer": "other", "name": "ann", "asked_by": None}
    bob.send({"type": "take"})
    assert ann.until("writer")["asked_by"] == "bob"
    assert eve.until("writer")["name"] == "ann"
    late = watch(session.number, offset=0, name="late")
    assert (late.hello["writer"], late.hello["writer_name"]) == ("other", "ann")
    bob.send(b"not yet\n")
    assert bob.until("refused")["code"] == "not_writer"
    ann.send({"type": "give"})
    assert ann.until("writer") == {"type": "writer", "writer": "other", "name": "bob", "asked_by": None}
    bob.send(b"now\n")
    bob.until_printed(b"now\r\nnow\r\n")
    (told,) = client.list_servers()[0]["sessions"]
    assert (told["writer"], told["viewers"]) == ("bob", 4)
    ann.send({"type": "give"})
    assert ann.until("refused")["code"] == "not_writer"
    bob.send({"type": "give"})
    wait_until(lambda: session.keyboard is not None and session.keyboard.holder is None)


def test_a_holder_that_disconnects_loses_the_keyboard(tools: SessionTools, watch: Watch) -> None:
    session = started(tools, "cat")
    ann, bob = (watch(session.number, offset=0, name=name) for name in ("ann", "bob"))
    ann.send({"type": "take"})
    ann.until("writer")
    bob.send({"type": "take"})
    assert ann.until("writer")["asked_by"] == "bob"
    ann.close()
    while bob.until("writer")["writer"] != "you":
        pass
    bob.close()
    wait_until(lambda: session.keyboard is not None and session.keyboard.holder is None)
    assert not tools.call("write_stdin", {"session_id": session.number, "chars": "agent\n"}).is_error


def test_a_request_is_withdrawn_with_its_connection(tools: SessionTools, watch: Watch) -> None:
    session = started(tools, "cat")
    ann, bob = (watch(session.number, offset=0, name=name) for name in ("ann", "bob"))
    ann.send({"type": "take"})
    ann.until("writer")
    bob.send({"type": "take"})
    assert ann.until("writer")["asked_by"] == "bob"
    bob.close()
    assert ann.until("writer") == {"type": "writer", "writer": "you", "name": "ann", "asked_by": None}


def test_the_agent_types_nothing_meanwhile_and_hears_of_it(tools: SessionTools, watch: Watch) -> None:
    session = started(tools, "cat")
    number = session.number
    ann = watch(number, offset=0, name="ann\x1b[2J")
    ann.send({"type": "take"})
    ann.until("writer")
    for tool, given in (
        ("write_stdin", {"chars": "x"}),
        ("resize", {"rows": 5, "columns": 5}),
        ("close_stdin", {}),
    ):
        with pytest.raises(ToolFailure, match=r"a person .* has the keyboard of session") as refused:
            tools.perform(tool, {"session_id": number, **given})
        assert refused.value.kind == "keyboard_taken"
        assert "\x1b" not in refused.value.message
    ann.send(b"typed\n")
    ann.until_printed(b"typed\r\ntyped\r\n")
    look = tools.call("write_stdin", {"session_id": number, "yield_time_ms": 5000})
    assert "typed\n" in look.text
    assert look.structured is not None
    assert look.structured["notes"] == [
        "a person (ann\\x1b[2J) typed 6 bytes into this session",
        "a person (ann\\x1b[2J) has the keyboard; nothing else can type until it is given back",
    ]
    ann.send({"type": "give"})
    ann.until("writer")
    again = tools.call("write_stdin", {"session_id": number, "chars": "mine\n", "yield_time_ms": 5000})
    assert again.structured is not None
    assert "mine" in again.structured["output"]
    assert "notes" not in again.structured, "what was said once is not said again"


def test_inputs_of_a_call_wait_for_the_keyboard_in_vain(tools: SessionTools) -> None:
    from agent_exec.sessions.keyboard import Keyboard
    from agent_exec.sessions.session import Session

    start = Session.start

    def start_with_a_person(self: Session, *given: object, **more: object) -> None:
        self.keyboard = Keyboard()
        self.keyboard.take(object(), "ann")
        start(self, *given, **more)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Session, "start", start_with_a_person)
        given = {"cmd": "cat", "input": ["x\n", "y\n"], "login": False, "yield_time_ms": 5000}
        answer = tools.call("exec_command", given)
    assert "2 of 2 inputs were not typed; a person has the keyboard" in answer.text


def test_the_writer_gives_the_terminal_its_size(tools: SessionTools, watch: Watch) -> None:
    session = started(tools, "cat")
    ann = watch(session.number, offset=0, name="ann", size=(40, 120))
    ann.send({"type": "resize", "rows": 30, "columns": 100})
    assert ann.until("refused")["code"] == "not_writer"
    ann.send({"type": "take"})
    told = ann.until("resize")
    assert (told["rows"], told["columns"]) == (40, 120)
    ann.send({"type": "resize", "rows": 30, "columns": 100})
    assert ann.until("resize")["rows"] == 30
    ann.send({"type": "resize", "rows": 30, "columns": 100})  # no change
    ann.send(b"stty size <&2\n")
    ann.until_printed(b"stty")
    assert session.sizes.last[2:] == (30, 100)


def test_what_a_program_does_not_read_is_bounded(
    tools: SessionTools, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(viewer, "_MOST_UNREAD", 1 << 18)
    session = started(tools, "stty raw -echo; exec sleep 600")
    ann = watch(session.number, offset=0)
    ann.send({"type": "take"})
    ann.until("writer")
    for _ in range(20):
        ann.send(b"x" * 50_000)
    assert ann.until("refused")["code"] == "input_full"
    ann.send({"type": "kill"})
    ann.until("end")
