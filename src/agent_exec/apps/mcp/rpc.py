"""Messages of JSON-RPC 2.0: parsed and refused, written, and the errors that answer a request."""

from agent_exec.model.jsonline import dump, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]
    Id = int | str

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022

_KINDS: "dict[type[Any], str]" = {str: "a text", dict: "an object", list: "a list"}


class RpcError(Exception):
    """A request is answered with an error; `of` is the id of one that could not be parsed."""

    def __init__(self, code: int, message: str, data: "Any" = None, of: "Id | None" = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data
        self.of = of

    def answer(self, of: "Id | None") -> "Message":
        """Return the answer to the request of this id."""
        error = {"code": self.code, "message": clean(self.message)}
        if self.data is not None:
            error["data"] = clean(self.data)
        return {"jsonrpc": "2.0", "id": of, "error": error}


def parse(data: bytes) -> "Message":
    """Return a message: a request, a notification, or an answer, whose shape is not checked.

    Raise RpcError for all else. A message with an id that is not valid is not
    a notification: its sender would wait for an answer without end.
    """
    try:
        found = load(data.decode("utf-8", "surrogatepass").strip())
    except (ValueError, RecursionError):
        raise RpcError(PARSE_ERROR, "this is not JSON; send one message of JSON-RPC 2.0") from None
    if not isinstance(found, dict):
        raise RpcError(INVALID_REQUEST, "send one message of JSON-RPC 2.0, an object; there are no batches")
    of = found.get("id")
    if isinstance(of, bool) or not (isinstance(of, int) or _is_text(of)):
        of = None
    if "method" not in found and of is not None:
        return found
    valid = (
        found.get("jsonrpc") == "2.0"
        and _is_text(found.get("method"))
        and (of is not None or "id" not in found)
    )
    if not valid or not isinstance(found.get("params"), dict | None):
        raise RpcError(INVALID_REQUEST, "this is not a message of JSON-RPC 2.0", of=of)
    return found


def write(message: "Message") -> bytes:
    """Return a message as JSON on one line, without its end."""
    return dump(message).encode()


def _is_text(value: object) -> bool:
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def field(params: "Message", name: str, kind: "type[Any]", default: "Any" = ...) -> "Any":
    """Return a parameter; raise RpcError if it is missing without a default, or of another kind."""
    value = params.get(name)
    if value is None and default is not ...:
        return default
    if not isinstance(value, kind):
        got = "it is missing" if value is None else f"got {type(value).__name__}"
        raise RpcError(INVALID_PARAMS, f"{name} must be {_KINDS[kind]}; {got}")
    return value


_LARGEST = 1.7976931348623157e308


def clean(value: "Any") -> "Any":
    """Return a value that a message can carry: no lone surrogates, no numbers that JSON lacks."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return value.encode("utf-8", "replace").decode()
        return value
    if isinstance(value, dict):
        return {clean(name): clean(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [clean(one) for one in value]
    if isinstance(value, float) and not abs(value) <= _LARGEST:
        return None
    return value
