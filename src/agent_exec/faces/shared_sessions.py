"""The sessions of all servers of this user, as answers of the program: listed, found by name, typed into."""

from agent_exec.faces.answers import answer
from agent_exec.model.errors import InvalidArgument, InvalidState, Missing
from agent_exec.sessions.sharing.client import attach, list_servers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Answer = dict[str, Any]


def sessions() -> "Answer":
    """Return the sessions of all servers, those that run first."""
    found = [
        {"id": f"{server['server']['server']}.{one['session_id']}", "kind": server["server"]["kind"], **one}
        for server in list_servers()
        for one in server["sessions"]
    ]
    found.sort(key=lambda one: not one["running"])
    return answer("sessions", {"sessions": found})


def find(named: str) -> tuple[str, int]:
    """Return the server and the number of a session, by its number or by `SERVER.NUMBER`.

    Raise Missing if there is none, InvalidArgument if several servers have one of this number.
    """
    server, _, number = named.rpartition(".")
    if server and number.isdecimal():
        return server, int(number)
    matches = [one["id"] for one in sessions()["sessions"] if str(one["session_id"]) == named]
    if len(matches) > 1:
        raise InvalidArgument(f"several servers have a session {named}: name one of {', '.join(matches)}")
    if not matches:
        raise Missing(f"no session {named!r}; `agent-exec sessions` lists those of all servers")
    server, _, number = matches[0].rpartition(".")
    return server, int(number)


def send(named: str, text: bytes, name: str) -> "Answer":
    """Type into a session with the keyboard for that long; raise InvalidState if another person has it."""
    server, number = find(named)
    talk, hello = attach(server, number, offset=None, name=name)
    with talk:
        if not (hello["running"] and hello["tty"]):
            why = "takes no input" if hello["running"] else "has ended"
            raise InvalidState(f"session {named} {why}; nothing was typed", session_id=number)
        talk.send({"type": "take"})
        for message in talk:
            if isinstance(message, bytes) or message["type"] != "writer":
                continue
            if message["writer"] == "you":
                break
            holder = message.get("name") or "another person"
            raise InvalidState(
                f"{holder} has the keyboard of session {named}; nothing was typed, try again later",
                session_id=number,
            )
        talk.send(text)
        talk.send({"type": "give"})
        for message in talk:  # until the keyboard is given back, and so all before it was typed
            if isinstance(message, dict) and message["type"] in ("writer", "end", "refused", "error"):
                if message["type"] in ("refused", "error"):
                    raise InvalidState(str(message["message"]), session_id=number)
                break
    return answer("send", {"id": f"{server}.{number}", "session_id": number, "bytes": len(text)})
