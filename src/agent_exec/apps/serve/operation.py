"""One operation of the HTTP interface: its method and path, its fields, and how a request becomes them."""

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from agent_exec.faces.routes import ROUTES
from agent_exec.model.errors import InvalidArgument
from agent_exec.model.jsonline import load
from agent_exec.model.value import Value
from agent_exec.tools.define import record
from agent_exec.tools.schema import check
from agent_exec.tools.tool import Call

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from starlette.types import Message, Receive, Scope, Send

    from agent_exec.apps.serve.service import Service
    from agent_exec.apps.serve.tokens import Scope as Allowed
    from agent_exec.tools.define import Schema

    Answer = dict[str, Any]
    Act = Callable[[Service, dict[str, Any], "Request"], Answer]
    Raw = Callable[[Service, dict[str, Any], "Exchange"], Awaitable[Answer | None]]

NONE: "Schema" = {}
_TRUE, _FALSE = ("true", "1", "yes", ""), ("false", "0", "no")


class Request(Call):
    """A request that is carried out: set when its client has hung up; it can learn which job it started."""

    __slots__ = ("host", "on_begin")

    def __init__(self, on_begin: "Callable[[str], object]", host: str = "127.0.0.1") -> None:
        super().__init__()
        self.on_begin = on_begin
        self.host = host
        """How the client calls this machine."""


current: "ContextVar[Request | None]" = ContextVar("current", default=None)
"""The request that this thread carries out."""


class Exchange:
    """A request and the way to answer it, for an operation that reads or writes bytes."""

    __slots__ = ("_receive", "allowed", "received", "scope", "send")

    def __init__(self, scope: "Scope", receive: "Receive", send: "Send", allowed: "Allowed") -> None:
        self.scope = scope
        self.allowed = allowed
        """What the token of the request allows."""
        self.send = send
        self._receive = receive
        self.received = False
        """True if the whole body has been received, or the client has gone."""

    async def receive(self) -> "Message":
        """Return the next piece of the body, or that the client has gone."""
        message = await self._receive()
        self.received |= not message.get("more_body", False)
        return message


def _unused(_service: "Service", _given: "dict[str, Any]", _request: Request) -> "Answer":
    raise NotImplementedError  # an operation with `raw` has no other act


class Operation(Value):
    """What one method does at one path; parts of the path in braces are fields too."""

    name: str
    about: str
    act: "Act" = _unused
    fields: "Schema" = NONE
    required: tuple[str, ...] = ()
    reads: bool = False
    """True if a read-only token allows it."""
    acting: tuple[str, ...] = ()
    """Fields that have the server do something, which a read-only token does not allow."""
    starts: bool = False
    """True if a key makes it idempotent: a request that is repeated starts nothing again."""
    answers: bool = False
    """True if it answers for a person, which a token may be kept from."""
    streams: str = ""
    """What a client that accepts text/event-stream gets instead of an answer; empty for nothing."""

    raw: "Raw | None" = None
    """Serves the request in place of `act`: reads a body of bytes, all fields being in the query.

    It returns an answer, or None if it has sent one; what it raises before that is one too.
    """
    websocket: bool = False
    """True if `raw` serves a WebSocket, and requests without one are for `act`."""

    @property
    def method(self) -> str:
        """The method of its requests."""
        return ROUTES[self.name][0]

    @property
    def path(self) -> str:
        """The path of its requests."""
        return ROUTES[self.name][1]

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the path."""
        return tuple(self.path.split("/")[1:])

    @property
    def variables(self) -> tuple[str, ...]:
        """The fields in the path."""
        return tuple(part[1:-1] for part in self.parts if part.startswith("{"))

    @property
    def schema(self) -> "Schema":
        """The schema of all fields."""
        variables: Schema = {name: {"type": "string", "minLength": 1} for name in self.variables}
        return record({**variables, **self.fields}, (*self.variables, *self.required))

    def given(self, variables: "dict[str, str]", query: str, body: bytes) -> "dict[str, Any]":
        """Return the fields of a request, valid by the schema; raise InvalidArgument for what is not.

        They are in the query, or in an object of JSON, which is the body.
        """
        fields = _object(body) if body else {}
        for name, texts in parse_qs(query, keep_blank_values=True, max_num_fields=1000).items():
            if name in fields:
                raise InvalidArgument(f"{name} is both in the query and in the body; give it once")
            fields[name] = _value(name, self.fields.get(name, {}), texts)
        for name in self.variables:
            if name in fields:
                raise InvalidArgument(f"{name} is a part of the path; leave it out elsewhere")
        return check(self.name, self.schema, {**fields, **variables})


def find(operations: "Iterable[Operation]", path: str) -> "dict[str, tuple[Operation, dict[str, str]]]":
    """Return the operations at a path by their methods, each with the fields that are in the path."""
    parts = path.split("/")[1:]
    found: dict[str, tuple[Operation, dict[str, str]]] = {}
    for one in operations:
        if len(one.parts) == len(parts):
            pairs = list(zip(one.parts, parts, strict=True))
            if all(wanted == part or (wanted[:1] == "{" and part) for wanted, part in pairs):
                found[one.method] = one, {wanted[1:-1]: part for wanted, part in pairs if wanted[:1] == "{"}
    return found


def _object(body: bytes) -> "dict[str, Any]":
    try:
        found = load(body.decode().strip())
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"the body must be an object of JSON; {error}") from None
    if not isinstance(found, dict):
        raise InvalidArgument('the body must be an object of JSON, such as {"argv": ["make"]}')
    return {name: value for name, value in found.items() if value is not None}


def _value(name: str, schema: "Schema", texts: "list[str]") -> "Any":
    """Return the value that a field of the query stands for, as its schema has it."""
    kind = schema.get("type", "string")
    if kind == "array":
        return texts
    if len(texts) > 1:
        raise InvalidArgument(f"{name} is in the query {len(texts)} times; give it once")
    text = texts[0]
    try:
        if kind == "integer":
            return int(text)
        if kind == "number":
            return float(text)
    except ValueError:
        return text  # which the schema refuses, and says what it should be
    if kind == "boolean":
        return True if text.lower() in _TRUE else False if text.lower() in _FALSE else text
    return text
