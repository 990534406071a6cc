"""The sessions of all servers of this user, listed, read, typed into and ended through private sockets."""

import select
import sys
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from agent_exec.apps.serve.problems import HttpError
from agent_exec.model.errors import Broken, Busy, InvalidArgument, InvalidState, Missing
from agent_exec.model.output import unfinished
from agent_exec.sessions.sharing import client
from agent_exec.sessions.sharing.share import server_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent_exec.model.cancel import Cancel
    from agent_exec.sessions.sharing.client import Conversation
    from agent_exec.sessions.sharing.frames import Message

    Fields = dict[str, Any]

_PERSON = "a person, over HTTP"
_LONGEST_NUMBER = 9
_MAX_BYTES = 40_000
_LEAST, _MOST = 0.25, 30.0
"""Seconds that typing waits for what is printed."""
_PATIENCE = 10.0
"""Seconds within which a server must have done what it was asked for."""


def is_elsewhere(session: str) -> bool:
    """True if an id is not that of a session of this very server."""
    server, dot, _ = session.rpartition(".")
    return bool(dot) and server != server_name()


def attach(session: str, **asked: "Any") -> "tuple[Conversation, Fields]":
    """Begin to watch a session of any server; raise HttpError if there is none with this id."""
    server, _, number = session.rpartition(".")
    if number.isascii() and number.isdecimal() and len(number) <= _LONGEST_NUMBER:
        try:
            return client.attach(server or server_name(), int(number), **asked)
        except Missing:
            pass
    raise HttpError("missing", f"there is no session {session!r}; GET /v1/sessions lists all that there are")


def list_all(own: "list[Fields]") -> "list[Fields]":
    """Return the sessions of this server, with what is known of their viewers, and those of all others."""
    known = {one["session_id"]: {"id": str(one["session_id"]), **one} for one in own}
    others = []
    for told in client.list_servers():
        server = told["server"]
        for one in told["sessions"]:
            fields = {name: value for name, value in one.items() if value is not None}
            if server["server"] != server_name():
                about = {"id": f"{server['server']}.{one['session_id']}", "server": server["server"]}
                others.append({**about, "kind": server["kind"], **fields})
            elif one["session_id"] in known:
                known[one["session_id"]] = {**fields, **known[one["session_id"]]}
    return [*known.values(), *others]


def read(given: "Fields", _call: "Cancel") -> "Fields":
    """Return a part of the output of another server's session."""
    _only(given, "from", "max_bytes")
    total = _size(given["session"])
    start = min(given.get("from", 0), total)
    end = min(total, start + given.get("max_bytes", _MAX_BYTES))
    data, dropped = b"", []
    with attach(given["session"], offset=start, watch=True)[0] as talk:
        for message in talk if start < end else ():
            if isinstance(message, bytes):
                data += message
            elif message["type"] in ("snapshot", "end"):  # what was asked for is not kept any more
                dropped = [{"from": start, "to": message["offset"]}]
                break
            if start + len(data) >= end:
                break
    data = data[: end - start]
    if start + len(data) < total:
        data = data[: len(data) - unfinished(data)]
    told = {"from": start, "to": start + len(data), "size": total, "output": data.decode(errors="replace")}
    return {**told, **({"output_complete": False, "dropped": dropped} if dropped else {})}


def write(given: "Fields", call: "Cancel") -> "Fields":
    """Type into another server's session as a person; return what it prints within a time."""
    _only(given, "chars", "yield_time_ms")
    seconds = min(max(given.get("yield_time_ms", 0) / 1000, _LEAST), _MOST)
    start = _size(given["session"])
    data, ending = b"", None
    with _keyboard(given["session"], start) as talk, call.calling(talk.cut):
        if given.get("chars"):
            talk.send(given["chars"].encode("utf-8", "surrogateescape"))
        for message in _within(talk, seconds):
            if isinstance(message, bytes):
                data += message
            elif message["type"] == "end":
                ending = message
    told = {"from": start, "to": start + len(data), "output": data.decode(errors="replace")}
    return {**told, "running": ending is None, **_outcome(ending)}


def resize(given: "Fields", _call: "Cancel") -> "Fields":
    """Change the size of the terminal of another server's session, as a person."""
    with _keyboard(given["session"], _size(given["session"])) as talk:
        talk.send({"type": "resize", "rows": given["rows"], "columns": given["columns"]})
        talk.send({"type": "give"})  # the answer to it comes after that to all before
        _answer(talk, None)
    return {}


def kill(given: "Fields", _call: "Cancel") -> "Fields":
    """End another server's session, and wait for that."""
    with attach(given["session"], offset=_size(given["session"]), name=_PERSON)[0] as talk:
        talk.send({"type": "kill"})
        for message in _within(talk, _PATIENCE):
            if isinstance(message, dict) and message["type"] == "end":
                return {"running": False, **_outcome(message)}
    raise Broken(f"session {given['session']} has not ended in {_PATIENCE:.0f} s; try again")


ELSEWHERE = {"read_output": read, "write_stdin": write, "resize": resize, "kill_session": kill}
"""What is done with sessions of other servers, by the names of operations."""


@contextmanager
def _keyboard(session: str, offset: int) -> "Iterator[Conversation]":
    """Have the keyboard of a session for a while; raise Busy if a person has it."""
    talk, hello = attach(session, offset=offset, name=_PERSON)
    with talk:
        if not hello["running"]:
            raise InvalidState(f"session {session} has ended; read what it has printed")
        if hello["writer"] is not None:
            raise Busy(
                f"a person ({hello['writer_name']}) has the keyboard of session {session}; try again later"
            )
        talk.send({"type": "take"})
        _answer(talk, "you")
        yield talk


def _answer(talk: "Conversation", writer: str | None) -> None:
    """Read until the keyboard is had as it should be; raise an error if something was refused."""
    for message in _within(talk, _PATIENCE):
        if isinstance(message, bytes):
            continue
        if message["type"] == "writer" and message["writer"] == writer:
            return
        if message["type"] == "writer" and message["writer"] == "other":
            raise Busy(f"a person ({message['name']}) has the keyboard; try again later")
    raise Broken("the server of the session does not answer; list the sessions again")


def _within(talk: "Conversation", seconds: float) -> "Iterator[Message]":
    """Yield messages for so many seconds, or until the conversation ends; raise what is refused."""
    if sys.platform == "win32":
        return
    waiting = select.poll()
    waiting.register(talk.fileno(), select.POLLIN)
    until = monotonic() + seconds
    while waiting.poll(max(0.0, until - monotonic()) * 1000):
        message = talk.receive()
        if message is None:
            return
        if isinstance(message, dict) and message["type"] in ("refused", "error"):
            raise InvalidArgument(f"this was refused: {message['message']}")
        yield message


def _size(session: str) -> int:
    """Return how much a session has printed; raise HttpError if there is none with this id."""
    for one in list_all([]):
        if one.get("id") == session:
            return int(one["size"])
    raise HttpError("missing", f"there is no session {session!r}; GET /v1/sessions lists all that there are")


def _only(given: "Fields", *names: str) -> None:
    """Raise InvalidArgument for fields that sessions of other servers do not have."""
    others = [name for name in given if name not in ("session", *names)]
    if others:
        raise InvalidArgument(
            f"{others[0]} is not for sessions of other servers: use {' and '.join(names)} alone"
        )


def _outcome(ending: "Fields | None") -> "Fields":
    names = ("exit_code", "signal", "job_id")
    return {name: ending[name] for name in names if ending and ending.get(name) is not None}
