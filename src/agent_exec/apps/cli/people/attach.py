"""The verbs `sessions`, `attach` and `send`: the terminals of agents, seen and typed into by a person."""

import os
import sys

from agent_exec.apps.cli.act import nothing_more
from agent_exec.apps.cli.people.output import put
from agent_exec.apps.parse import UsageError
from agent_exec.faces import shared_sessions
from agent_exec.sessions.registry import LAST
from agent_exec.sessions.sharing.client import attach as connect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from agent_exec.apps.parse import Parsed
    from agent_exec.sessions.sharing.client import Conversation

_LEAVE = b"\x1d"
"""Ctrl+], which leaves."""
_CLEAR = b"\x1b[!p\x1b[?1049l\x1b[0m\x1b[2J\x1b[H"
_USUAL = (
    b"\x1b[!p\x1b[?1049l\x1b[?25h\x1b[?1l\x1b[?2004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[r\x1b[0m"
)
"""What sets back the modes that a program may have set in our terminal."""


def sessions(asked: "Parsed") -> "dict[str, Any]":
    """Return the sessions of all servers of this user."""
    nothing_more(asked)
    return shared_sessions.sessions()


def send(asked: "Parsed") -> "dict[str, Any]":
    """Type a line into a session."""
    if len(asked.words) != 2:
        raise UsageError("a session and a text are needed, such as: agent-exec send 4711 yes", "send")
    text = os.fsencode(asked.words[1]) + (b"" if "no-enter" in asked.options else b"\r")
    return shared_sessions.send(asked.words[0], text, _person())


def attach(asked: "Parsed") -> "dict[str, Any]":
    """Show a session in this terminal, and type into it; of a job, follow the output."""
    if len(asked.words) != 1:
        raise UsageError("one session or job is needed; `agent-exec sessions` lists sessions", "attach")
    word = asked.words[0]
    number = word.rpartition(".")[2]
    if not (number.isdecimal() and len(number) <= len(str(LAST))):
        from agent_exec.apps.cli.people.logs import logs

        asked.options["follow"] = True
        return logs(asked)
    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError("attach needs a terminal; `agent-exec send` types without one", "attach")
    if sys.platform == "win32":
        raise UsageError("attach is not made for this system yet; `agent-exec serve --open` is", "attach")
    server, session = shared_sessions.find(word)
    watch = "watch" in asked.options
    talk, hello = connect(server, session, size=_size(), name=_person(), watch=watch)
    with talk:
        if not watch and hello["tty"]:
            talk.send({"type": "take"})
        said = _converse(talk, types=hello["tty"] and not watch)
    put(2, f"\r\nagent-exec: {said}\n".encode())
    return {}


def _size() -> tuple[int, int] | None:
    """Return the rows and columns of our terminal; None if it does not say."""
    size = os.get_terminal_size(1)
    return (size.lines, size.columns) if size.lines and size.columns else None


def _person() -> str:
    return os.environ.get("USER") or os.environ.get("LOGNAME") or "at a terminal"


def _converse(talk: "Conversation", *, types: bool) -> str:
    """Pass on what is printed and typed until the session ends or Ctrl+] is typed; return what to say."""
    if sys.platform == "win32":
        raise AssertionError("attach refuses this system")
    import signal
    import termios
    import tty
    from select import select

    former = termios.tcgetattr(0)
    resized = [False]
    before = signal.signal(signal.SIGWINCH, lambda *_: resized.__setitem__(0, True))
    put(1, _CLEAR)
    try:
        tty.setraw(0)
        while True:
            if resized[0] and types:
                resized[0] = False
                if (size := _size()) is not None:
                    talk.send({"type": "resize", "rows": size[0], "columns": size[1]})
            try:
                ready = select([0, talk.fileno()], [], [])[0]
            except InterruptedError:
                continue
            if talk.fileno() in ready and (said := _show(talk)):
                return said
            if 0 in ready:
                typed = os.read(0, 4096)
                if not typed or _LEAVE in typed:
                    return "detached; the session goes on"
                if types:
                    talk.send(typed)
    finally:
        signal.signal(signal.SIGWINCH, before)
        termios.tcsetattr(0, termios.TCSADRAIN, former)
        put(1, _USUAL)


def _show(talk: "Conversation") -> str:
    """Draw the next message; return what to say if it is the last."""
    message = talk.receive()
    if message is None:
        return "the server has ended the connection"
    if isinstance(message, bytes):
        put(1, message)
    elif message["type"] == "snapshot":
        put(1, _CLEAR + message["data"].encode("utf-8", "replace"))
    elif message["type"] == "end":
        how = message.get("signal") or f"exit code {message.get('exit_code')}"
        return (
            f"the session is job {message['job_id']} now" if message.get("job_id") else f"it has ended: {how}"
        )
    elif message["type"] == "error":
        return str(message["message"])
    elif message["type"] == "writer" and message.get("asked_by"):
        put(2, f"\a\r\nagent-exec: {message['asked_by']} asks for the keyboard; Ctrl+] gives it\r\n".encode())
    elif message["type"] == "refused":
        put(1, b"\a")
    return ""
