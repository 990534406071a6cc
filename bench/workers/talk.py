"""The tools of sessions, called as a server calls them; an answer that is an error is a wrong contestant."""

from typing import Any

from agent_exec.faces.session.tools import SessionTools
from bench.worker import require

Fields = dict[str, Any]


class Talk:
    """Calls of tools, each of which gives its fields."""

    def __init__(self, tools: SessionTools) -> None:
        self._tools = tools

    def call(self, name: str, **arguments: object) -> Fields:
        """Call a tool."""
        result = self._tools.call(name, arguments)
        if result.is_error or result.structured is None:
            require(False, f"{name}: {result.text}")
        found: Fields = result.structured or {}
        return found

    def open(self, line: str) -> tuple[int, Fields]:
        """Start a program on a terminal; return its number, and the answer that says that it waits."""
        answer = self.call("exec_command", cmd=line, tty=True, login=False, shell="sh")
        require(answer.get("awaiting_input") is True, f"it does not wait for input: {answer}")
        return int(answer["session_id"]), answer
