"""The tools of sessions as a test calls them: without login shells, unless it asks for one."""

import re
import time
from typing import Any

from agent_exec.faces.session.tools import SessionTools
from agent_exec.sessions.session import Session
from agent_exec.tools.tool import Result

ANSWER = re.compile(
    r"Chunk ID: [0-9a-f]{6}\n"
    r"Wall time: \d+\.\d{4} seconds\n"
    r"(Process exited with code \d+|Process running with session ID [1-9]\d{3,4})\n"
    r"(Process is waiting for input\n)?"
    r"Original token count: \d+\n"
    r"(Note: .+\n)*"
    r"Output:\n"
    r"(?s:(?P<output>.*))"
)


class Caller:
    """Whoever calls the tools."""

    def __init__(self, tools: SessionTools) -> None:
        self.tools = tools

    def __call__(self, name: str, **given: Any) -> Result:
        """Call a tool; its answer, whatever it is."""
        if name == "exec_command":
            given.setdefault("login", False)
        return self.tools.call(name, given)

    def told(self, name: str, **given: Any) -> dict[str, Any]:
        """Call a tool that must succeed; its answer as an object."""
        result = self(name, **given)
        assert not result.is_error, result.text
        assert result.structured is not None
        return result.structured

    def run(self, cmd: str, **given: Any) -> dict[str, Any]:
        return self.told("exec_command", cmd=cmd, **given)

    def type(self, session_id: int, chars: str, **given: Any) -> dict[str, Any]:
        return self.told("write_stdin", session_id=session_id, chars=chars, **given)

    def refused(self, name: str, **given: Any) -> str:
        """Call a tool that must fail; what it says."""
        result = self(name, **given)
        assert result.is_error, result.text
        assert result.structured is None
        return result.text

    def asked(self, cmd: str, **given: Any) -> int:
        """Start a program on a terminal, which must come to wait for input; its number."""
        told = self.run(cmd, tty=True, yield_time_ms=20_000, **given)
        assert told.get("awaiting_input"), told
        return int(told["session_id"])

    def background(self, cmd: str, **given: Any) -> int:
        """Start a command that goes on; its number."""
        told = self.run(cmd, yield_time_ms=250, **given)
        assert "session_id" in told, told
        return int(told["session_id"])

    def read_until(self, session_id: int, text: str) -> str:
        """Read all output of a session again and again, until it holds a text."""
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            output = str(self.told("read_output", session_id=session_id, max_bytes=1 << 20)["output"])
            if text in output:
                return output
            time.sleep(0.002)
        raise AssertionError(f"never printed: {text!r}")

    def listed(self) -> dict[int, dict[str, Any]]:
        return {one["session_id"]: one for one in self.told("list_sessions")["sessions"]}


def in_turn(session: Session) -> bool:
    """True if a call types into a session, or waits for it."""
    if session.take_turn(0):
        session.give_turn()
        return False
    return True
