"""The output of jobs and sessions as resources: `agent-exec://jobs/ID/stdout?from=0&max=65536`."""

from codecs import getincrementaldecoder

from agent_exec.apps.mcp.rpc import INTERNAL_ERROR, INVALID_PARAMS, RpcError, clean, field
from agent_exec.faces.session.failures import ToolFailure
from agent_exec.model.errors import AgentExecError, InvalidArgument
from agent_exec.model.value import Value
from agent_exec.model.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from agent_exec.apps.mcp.connection import Request
    from agent_exec.apps.mcp.rpc import Message
    from agent_exec.faces.jobtools.tools import JobTools
    from agent_exec.faces.session.tools import SessionTools
    from agent_exec.model.choices import Stream
    from agent_exec.sessions.session import Session
    from agent_exec.tools.tool import Toolset

    Listed = Iterator[tuple[str, str, str, str]]  # id, part, name, command

SCHEME = "agent-exec"
USUAL = 65_536
"""How many bytes are returned by default."""
MOST = 1 << 20
_LISTED = 20
_ABOUT = 200
"""How many characters of a command are shown."""
_PLAIN = "text/plain"


class Piece(Value):
    """Part of an output: the offset of its first byte, its text, its end, and the size of the whole."""

    start: int
    text: str
    end: int
    size: int


class State(Value):
    """The size of an output, and whether it is final."""

    size: int
    final: bool


class JobLogs:
    """The streams of jobs, each under the id of the job and the name of the stream."""

    parts: "tuple[Stream, ...]" = ("stdout", "stderr")
    about = "What a job has printed"

    def __init__(self, tools: "JobTools") -> None:
        self._tools = tools

    def listed(self) -> "Listed":
        """Yield those of the newest jobs, the newest first."""
        from shlex import join

        for job in self._tools.recent(_LISTED):
            for part in self.parts:
                command = f"{job['state']}: {join(job['command'])}"
                yield job["job_id"], part, f"{part} of job {job['short_job_id']}", command

    def read(self, name: str, part: "Stream", start: int | None, size: int) -> Piece:
        """Return part of a stream, whole characters, from an offset on; None reads its end."""
        found = self._tools.read(name, part, start, size)
        return Piece(found.start, found.text, found.end, found.total)

    def state(self, name: str, part: "Stream") -> State:
        """Return the state of a stream."""
        return State(*self._tools.extent(name, part))


class Transcripts:
    """The transcripts of sessions."""

    parts = ("transcript",)
    about = "What a session has printed"

    def __init__(self, tools: "SessionTools") -> None:
        self._sessions = tools.sessions

    def listed(self) -> "Listed":
        """Yield those of all sessions that can be read."""
        for one in (*self._sessions.registry.live(), *self._sessions.registry.ended()):
            yield str(one.number), "transcript", f"transcript of session {one.number}", one.text

    def read(self, name: str, _part: str, start: int | None, size: int) -> Piece:
        """Return part of a transcript, whole characters, from an offset on; None reads its end."""
        session = self._find(name)
        total = session.transcript.total
        begin, data = session.read(max(0, total - size) if start is None else start, size)
        decoder = getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(data, final=session.ended and begin + len(data) >= total)
        return Piece(begin, text, begin + len(data) - len(decoder.getstate()[0]), total)

    def state(self, name: str, _part: str) -> State:
        """Return the state of a transcript."""
        session = self._find(name)
        return State(session.transcript.total, session.ended)

    def _find(self, name: str) -> "Session":
        try:
            if _is_number(name):
                return self._sessions.find(int(name), "read_output")
        except ToolFailure:
            pass
        raise InvalidArgument(
            f"there is no session {_beginning(name)!r}; list_sessions shows those there are"
        )


_KINDS: "dict[str, tuple[str, Any]]" = {"jobs": ("jobs", JobLogs), "session": ("sessions", Transcripts)}
"""By the names of toolsets: the kind in the URI of an output, and the class that reads it."""


class Resources:
    """All outputs that the toolsets of a server have."""

    def __init__(self, toolset: "Toolset") -> None:
        self._toolset = toolset

    @property
    def _sources(self) -> "dict[str, Any]":
        """The present sources: a toolset has others once it works in the client's roots."""
        parts = getattr(self._toolset, "parts", (self._toolset,))
        kinds = ((*_KINDS[part.name], part) for part in parts if part.name in _KINDS)
        return {kind: source(part) for kind, source, part in kinds}

    def list(self, _request: "Request") -> "Message":
        """Return the outputs of the newest jobs and of all sessions."""
        try:
            found = [
                {
                    "uri": f"{SCHEME}://{kind}/{name}/{part}",
                    "name": title,
                    "description": clean(_beginning(command)),
                    "mimeType": _PLAIN,
                }
                for kind, source in self._sources.items()
                for name, part, title, command in source.listed()
            ]
        except AgentExecError as error:
            raise RpcError(INTERNAL_ERROR, f"{error.code}: {error.message}") from None
        return {"resources": found}

    def templates(self, _request: "Request") -> "Message":
        """Return the templates of the names of outputs and their ranges."""
        found = [
            {
                "uriTemplate": template,
                "name": f"{part} of {kind}",
                "description": f"{about}: {part}. `from` is the offset of the first byte (without it: the "
                f"end is given), `max` how many bytes at most ({USUAL}).",
                "mimeType": _PLAIN,
            }
            for template, kind, part, about in self._templates()
        ]
        return {"resourceTemplates": found}

    def _templates(self) -> "Listed":
        for kind, source in self._sources.items():
            for part in source.parts:
                yield f"{SCHEME}://{kind}/{{id}}/{part}{{?from,max}}", kind, part, source.about

    def read(self, request: "Request") -> "Message":
        """Return part of an output; `_meta` has its range."""
        uri = field(request.params, "uri", str)
        try:
            piece = self._read(uri)
        except AgentExecError as error:
            raise RpcError(INVALID_PARAMS, f"{error.code}: {error.message}") from None
        meta = {"from": piece.start, "to": piece.end, "size": piece.size}
        return {"contents": [{"uri": uri, "mimeType": _PLAIN, "text": clean(piece.text), "_meta": meta}]}

    def _read(self, uri: str) -> Piece:
        source, name, part, asked = self._find(uri)
        found: Piece = source.read(name, part, asked.get("from"), min(asked.get("max", USUAL), MOST))
        return found

    def state(self, uri: str) -> State | None:
        """Return the state of an output; None if the URI names none, or it cannot be read now."""
        try:
            source, name, part, _ = self._find(uri)
            found: State = source.state(name, part)
        except (AgentExecError, OSError):
            return None
        return found

    def _find(self, uri: str) -> "tuple[Any, str, str, dict[str, int]]":
        """Return the source, the id, the part and the range of a URI; raise InvalidArgument for others."""
        from urllib.parse import parse_qsl, urlsplit

        try:
            found = urlsplit(uri)
            name, part = found.path.strip("/").split("/")
            source = self._sources[found.netloc]
            if found.scheme != SCHEME or part not in source.parts:
                raise ValueError(uri)
        except (ValueError, KeyError):
            known = " or ".join(template for template, *_ in self._templates()) or "nothing here"
            raise InvalidArgument(f"there is no resource {uri!r}; read {known}") from None
        asked: dict[str, int] = {}
        for key, value in parse_qsl(found.query, keep_blank_values=True):
            if key not in ("from", "max") or not _is_number(value):
                raise InvalidArgument(f"{uri!r}: a range is from=OFFSET and max=BYTES, whole numbers")
            asked[key] = int(value)
        return source, name, part, asked


def _beginning(text: str) -> str:
    return visible(text if len(text) <= _ABOUT else f"{text[:_ABOUT]}…")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19
