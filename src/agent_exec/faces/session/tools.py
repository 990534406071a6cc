"""The tools of sessions, by their names: what a server offers, and what it does when one is called."""

import os
from threading import Event
from time import time

from agent_exec.faces.session import arguments
from agent_exec.faces.session.definitions import definitions
from agent_exec.faces.session.failures import ToolFailure
from agent_exec.faces.session.running import Sessions
from agent_exec.faces.session.storage import Storage
from agent_exec.model.errors import AgentExecError
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Self

    from agent_exec.engine.gate import Approver, Gate
    from agent_exec.faces.session.running import Cancelled
    from agent_exec.sandbox.profile import Profile
    from agent_exec.sessions.recording import Sink
    from agent_exec.sessions.session import Session

INSTRUCTIONS = """\
exec_command runs a shell command and answers when it ends, when it waits for input, or after yield_time_ms; \
what still runs has a session id. write_stdin types into a session started with tty=true, or waits for it if \
chars is empty. read_output reads any part of a session's output again; list_sessions and kill_session see \
to what runs."""


class Result(Value):
    """What a call gives: a text, the same as an object, and whether it is an error."""

    __slots__ = ("is_error", "structured", "text")

    def __init__(
        self, text: str, structured: "dict[str, Any] | None" = None, *, is_error: bool = False
    ) -> None:
        self.text = text
        self.structured = structured
        self.is_error = is_error


class SessionTools:
    """All tools of sessions; any thread may call, many at once."""

    name = "session"
    instructions = INSTRUCTIONS

    def __init__(self, sessions: Sessions, storage: Storage) -> None:
        self.sessions = sessions
        self._storage = storage
        self._tools: dict[str, Callable[[object, Cancelled], Result]] = {
            "exec_command": self._exec,
            "write_stdin": self._write,
            "read_output": self._read,
            "list_sessions": self._list,
            "kill_session": self._kill,
            "resize": self._resize,
            "close_stdin": self._close_stdin,
            "apply_patch": self._patch,
        }

    def definitions(self) -> "list[dict[str, Any]]":
        """Give what a model is told about each tool."""
        return list(definitions(self.sessions.terms).values())

    def call(self, name: str, given: object, cancelled: "Cancelled | None" = None) -> Result:
        """Do what a tool does; what goes wrong is an answer too."""
        tool = self._tools.get(name)
        if tool is None:
            return Result(f"there is no tool {name!r}; there are {', '.join(self._tools)}", is_error=True)
        try:
            return tool(given, Event() if cancelled is None else cancelled)
        except ToolFailure as error:
            return Result(error.message, is_error=True)
        except AgentExecError as error:
            return Result(f"{name} failed: {error.message}", is_error=True)

    def record(self, session_id: int, file: "Sink") -> None:
        """Write what a session has printed as an asciicast, version 2, to a file opened for text."""
        self.sessions.find(session_id, "record").record(file)

    def picture(self, session_id: int) -> str:
        """Give a picture of a session's last screen, as SVG."""
        return self.sessions.find(session_id, "picture").picture()

    def close(self) -> None:
        """End every session, and take away what they have written."""
        self.sessions.close()
        self._storage.close()

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _exec(self, given: object, cancelled: "Cancelled") -> Result:
        answer = self.sessions.execute(arguments.parse_exec(given, self.sessions.terms), cancelled)
        return Result(answer.text(), answer.structured())

    def _write(self, given: object, cancelled: "Cancelled") -> Result:
        answer = self.sessions.write(arguments.parse_write(given, self.sessions.terms), cancelled)
        return Result(answer.text(), answer.structured())

    def _read(self, given: object, _cancelled: "Cancelled") -> Result:
        asked = arguments.parse_read(given)
        session, start, data = self.sessions.read(asked.session_id, asked.start, asked.max_bytes)
        told = {
            "session_id": session.number,
            "from": start,
            "to": start + len(data),
            "size": session.transcript.total,
            "output": data.decode(errors="replace"),
        }
        head = f"Bytes {start} to {start + len(data)} of {told['size']}"
        return Result(f"{head}\nOutput:\n{told['output']}", told)

    def _list(self, given: object, _cancelled: "Cancelled") -> Result:
        arguments.parse_list(given)
        found = [_told(one) for one in (*self.sessions.registry.live(), *self.sessions.registry.ended())]
        lines = [
            f"{one['session_id']} {'running' if one['running'] else 'exited'} {one['cmd']}" for one in found
        ]
        return Result("\n".join(lines) or "There are no sessions.", {"sessions": found})

    def _kill(self, given: object, _cancelled: "Cancelled") -> Result:
        answer = self.sessions.kill(arguments.parse_id(given))
        return Result(answer.text(), answer.structured())

    def _resize(self, given: object, _cancelled: "Cancelled") -> Result:
        asked = arguments.parse_resize(given)
        self.sessions.resize(asked.session_id, asked.rows, asked.columns)
        text = f"The terminal has {asked.rows} rows and {asked.columns} columns now."
        return Result(text, {"session_id": asked.session_id})

    def _close_stdin(self, given: object, _cancelled: "Cancelled") -> Result:
        number = arguments.parse_id(given)
        self.sessions.end_input(number)
        return Result("The input of the session has ended.", {"session_id": number})

    def _patch(self, given: object, _cancelled: "Cancelled") -> Result:
        asked = arguments.parse_patch(given)
        done = self.sessions.patch(asked.input, asked.workdir)
        told = {"added": done.added, "modified": done.modified, "deleted": done.deleted}
        return Result(done.text, {name: list(paths) for name, paths in told.items()} | {"output": done.text})


def open_tools(
    *,
    workspace: str | None = None,
    sandbox: "Profile | None" = None,
    rules: str | None = None,
    approver: "Approver | None" = None,
    gate: "Gate | None" = None,
    terms: arguments.Terms | None = None,
    limit: int = 64,
) -> SessionTools:
    """Give the tools of sessions in a workspace, the current directory by default; to be closed.

    `rules` is a file of rules that judge commands, `approver` whoever is
    asked; `sandbox` confines every command. `limit` is how many sessions
    there may be at once.
    """
    storage = Storage()
    try:
        sessions = Sessions(
            os.path.realpath(workspace or os.getcwd()),
            storage.folder,
            terms or arguments.USUAL,
            gate or _gate(rules, approver),
            sandbox=sandbox,
            limit=limit,
        )
    except BaseException:
        storage.close()
        raise
    return SessionTools(sessions, storage)


def _gate(rules: str | None, approver: "Approver | None") -> "Gate":
    from agent_exec.engine.gate import Gate

    if rules is None:
        return Gate(None, approver=approver)
    from agent_exec.engine.rulefile import add_rules, load_book
    from agent_exec.policy.policy import Policy

    path = os.path.abspath(rules)
    book = load_book(path)
    return Gate(
        Policy(book.rules),
        approver=approver,
        approval=book.approval or "on-request",
        remember=lambda new: add_rules(path, new),
    )


def _told(session: "Session") -> "dict[str, Any]":
    outcome = session.outcome
    told = {
        "session_id": session.number,
        "cmd": session.text,
        "workdir": str(session.command.cwd),
        "tty": session.command.tty,
        "running": not session.ended,
        "age_seconds": round(time() - session.began, 3),
        "exit_code": None if outcome is None else outcome.exit_code,
    }
    return {name: value for name, value in told.items() if value is not None}
