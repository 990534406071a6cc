"""What jobs and sessions have printed, as resources: `agent-exec://jobs/ID/stdout?from=0&max=65536`."""

from codecs import getincrementaldecoder
from shlex import join
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import parse_qsl, urlsplit

from agent_exec.faces.session.failures import ToolFailure
from agent_exec.model.errors import AgentExecError, InvalidArgument
from agent_exec.model.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent_exec.faces.jobtools.tools import JobTools
    from agent_exec.faces.session.tools import SessionTools
    from agent_exec.model.choices import Stream
    from agent_exec.sessions.session import Session
    from agent_exec.tools.tool import Toolset

SCHEME = "agent-exec"
USUAL = 65_536
"""How many bytes are given if nothing is said."""
MOST = 1 << 20
_LISTED = 20
_ABOUT = 200
"""How many characters of a command tell what an output is of."""


class Piece(NamedTuple):
    """Some of an output: where it begins, its text, where it ends, and how much has come."""

    start: int
    text: str
    end: int
    size: int


class State(NamedTuple):
    """How much has come of an output, and whether no more will."""

    size: int
    final: bool


class Listed(NamedTuple):
    """One output that can be read."""

    uri: str
    name: str
    about: str


class Source(Protocol):
    """Outputs of one kind, each under an id and a part."""

    kind: str
    about: str

    @property
    def parts(self) -> "Sequence[str]":
        """What there is of each."""

    def listed(self) -> "Iterator[Listed]":
        """Return those to begin with, the newest first."""

    def read(self, name: str, part: str, start: int | None, size: int, /) -> Piece:
        """Return some of one, from an offset on; None gives its end."""

    def state(self, name: str, part: str, /) -> State:
        """Return how far one has come."""


class JobLogs:
    """The streams of jobs."""

    kind = "jobs"
    parts = ("stdout", "stderr")
    about = "What a job has printed"

    def __init__(self, tools: "JobTools") -> None:
        self._tools = tools

    def listed(self) -> "Iterator[Listed]":
        """Return those of the newest jobs."""
        for job in self._tools.recent(_LISTED):
            for part in self.parts:
                name = f"{part} of job {job['short_job_id']}"
                about = _beginning(f"{job['state']}: {join(job['command'])}")
                yield Listed(uri(self.kind, job["job_id"], part), name, about)

    def read(self, name: str, part: str, start: int | None, size: int) -> Piece:
        """Return some of a stream, whole characters."""
        found = self._tools.read(name, _stream(part), start, size)
        return Piece(found.start, found.text, found.end, found.total)

    def state(self, name: str, part: str) -> State:
        """Return how far a stream has come."""
        return State(*self._tools.extent(name, _stream(part)))


class Transcripts:
    """The transcripts of sessions."""

    kind = "sessions"
    parts = ("transcript",)
    about = "What a session has printed"

    def __init__(self, tools: "SessionTools") -> None:
        self._sessions = tools.sessions

    def listed(self) -> "Iterator[Listed]":
        """Return those of all sessions that can be read."""
        for one in (*self._sessions.registry.live(), *self._sessions.registry.ended()):
            name = f"transcript of session {one.number}"
            yield Listed(uri(self.kind, str(one.number), "transcript"), name, _beginning(one.text))

    def read(self, name: str, part: str, start: int | None, size: int) -> Piece:  # noqa: ARG002 - one part
        """Return some of a transcript, whole characters."""
        session = self._find(name)
        total = session.transcript.total
        begin, data = session.read(max(0, total - size) if start is None else start, size)
        decoder = getincrementaldecoder("utf-8")("replace")
        text = decoder.decode(data, final=session.ended and begin + len(data) >= total)
        return Piece(begin, text, begin + len(data) - len(decoder.getstate()[0]), total)

    def state(self, name: str, part: str) -> State:  # noqa: ARG002 - one part
        """Return how far a transcript has come."""
        session = self._find(name)
        return State(session.transcript.total, session.ended)

    def _find(self, name: str) -> "Session":
        try:
            return self._sessions.find(_number(name), "read_output")
        except ToolFailure:
            raise InvalidArgument(_no_session(name)) from None


class Resources:
    """All outputs that the toolsets of a server have."""

    def __init__(self, toolset: "Toolset") -> None:
        self._toolset = toolset

    @property
    def _sources(self) -> "dict[str, Source]":
        """Those that there are now: a toolset has others once it works in the client's roots."""
        return {one.kind: one for one in _sources(self._toolset)}

    def listed(self) -> list[Listed]:
        """Return those to begin with."""
        return [one for source in self._sources.values() for one in source.listed()]

    def templates(self) -> list[Listed]:
        """Return how those are named that can be read."""
        return [
            Listed(
                f"{SCHEME}://{source.kind}/{{id}}/{part}{{?from,max}}",
                f"{part} of {source.kind}",
                f"{source.about}: {part}. `from` is the offset of the first byte (without it: the end is "
                f"given), `max` how many bytes at most ({USUAL}).",
            )
            for source in self._sources.values()
            for part in source.parts
        ]

    def read(self, text: str) -> Piece:
        """Return what a URI names; raises an AgentExecError if that is nothing."""
        source, name, part, asked = self._find(text)
        start = asked.get("from")
        return source.read(name, part, start, min(asked.get("max", USUAL), MOST))

    def state(self, text: str) -> State | None:
        """Return how far what a URI names has come; None if that is nothing, or cannot be looked at now."""
        try:
            source, name, part, _ = self._find(text)
            return source.state(name, part)
        except (AgentExecError, OSError):
            return None

    def _find(self, text: str) -> tuple[Source, str, str, dict[str, int]]:
        try:
            found = urlsplit(text)
            name, part = found.path.strip("/").split("/")
            source = self._sources[found.netloc]
            if found.scheme != SCHEME or part not in source.parts:
                raise ValueError(text)
        except (ValueError, KeyError):
            known = " or ".join(one.uri for one in self.templates()) or "nothing here"
            raise InvalidArgument(f"there is no resource {text!r}; read {known}") from None
        asked: dict[str, int] = {}
        for key, value in parse_qsl(found.query, keep_blank_values=True):
            if key not in ("from", "max") or not (value.isascii() and value.isdecimal() and len(value) < 19):
                raise InvalidArgument(f"{text!r}: a range is from=OFFSET and max=BYTES, whole numbers")
            asked[key] = int(value)
        return source, name, part, asked


def uri(kind: str, name: str, part: str) -> str:
    """Return the name of an output."""
    return f"{SCHEME}://{kind}/{name}/{part}"


def _sources(toolset: Any) -> "Iterator[Source]":
    for one in toolset.parts if hasattr(toolset, "parts") else (toolset,):
        if one.name == "jobs":
            yield JobLogs(one)
        elif one.name == "session":
            yield Transcripts(one)


def _beginning(text: str) -> str:
    return visible(text if len(text) <= _ABOUT else f"{text[:_ABOUT]}…")


def _stream(part: str) -> "Stream":
    return "stdout" if part == "stdout" else "stderr"


def _number(name: str) -> int:
    if not (name.isascii() and name.isdecimal() and len(name) < 19):
        raise InvalidArgument(_no_session(name))
    return int(name)


def _no_session(name: str) -> str:
    return f"there is no session {_beginning(name)!r}; list_sessions shows those there are"
