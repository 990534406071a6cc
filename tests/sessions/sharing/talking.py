"""What tests of this room share: tools whose sessions are shared, and viewers that collect what they are sent."""

from pathlib import Path
from typing import Any

from agent_exec.faces.session.tools import SessionTools
from agent_exec.sessions.session import Session
from agent_exec.sessions.sharing import client, place
from agent_exec.sessions.sharing.client import Conversation
from agent_exec.terminal.screen import Screen

PATIENCE = 30.0


class Person:
    """A person at a terminal: collects the output, and draws it as it comes."""

    def __init__(self, server: str, session: int, **given: Any) -> None:
        self.talk, self.hello = client.attach(server, session, **given)
        self.talk.settimeout(PATIENCE)
        self.screen = Screen(self.hello["rows"], self.hello["columns"])
        self.offset: int = self.hello["offset"]
        self.output = b""
        self.messages: list[dict[str, Any]] = []

    def step(self) -> dict[str, Any] | bytes | None:
        """Receive one message."""
        message = self.talk.receive()
        if isinstance(message, bytes):
            self.output += message
            self.offset += len(message)
            self.screen.feed(message)
        elif message is not None:
            self.messages.append(message)
            if message["type"] == "snapshot":
                self.offset = message["offset"]
                self.screen = Screen(message["rows"], message["columns"])
                self.screen.feed(message["data"].encode())
            elif message["type"] == "resize":
                assert message["offset"] == self.offset
                self.screen.resize(message["rows"], message["columns"])
        return message

    def until(self, kind: str) -> dict[str, Any]:
        """Receive until an object of a type comes; return it."""
        while (message := self.step()) is not None:
            if isinstance(message, dict) and message["type"] == kind:
                return message
        raise AssertionError(f"no {kind}; came: {self.messages}")

    def until_printed(self, text: bytes) -> None:
        """Receive until some output has come."""
        while text not in self.output:
            assert self.step() is not None, self.output

    def send(self, message: dict[str, Any] | bytes) -> None:
        self.talk.send(message)

    def close(self) -> None:
        self.talk.close()


def started(tools: SessionTools, cmd: str, **given: Any) -> Session:
    """Start a command on a terminal, and return its session, which goes on."""
    asked = {"cmd": cmd, "tty": True, "login": False, "yield_time_ms": 250, **given}
    answer = tools.call("exec_command", asked)
    assert answer.structured is not None, answer.text
    return tools.sessions.find(answer.structured["session_id"], "read_output")


def own_server() -> str:
    """Return the name of the one server there is."""
    (found,) = client.list_servers()
    return str(found["server"]["server"])


def raw(data: Path) -> Conversation:
    """Return a conversation with the one server there is, in which nothing was said."""
    (path,) = (data / "agent-exec" / "servers").glob("*.sock")
    connection = place.connect(path.stem, PATIENCE)
    assert connection is not None
    return Conversation(connection)
