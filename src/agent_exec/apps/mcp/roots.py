"""The folders that a client works in, if it tells: in the way of each era of the protocol."""

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import ListRootsRequest, ListRootsResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from agent_exec.apps.mcp.elicitation import ROOTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp.server import ServerRequestContext
    from mcp_types import CallToolRequestParams

_PATIENCE = 10.0
_HERE = ("", "localhost")


class _Root(BaseModel):
    uri: str


class _Told(BaseModel):
    """What the SDK's own result is, but for roots that are no files: those of one kind do not hide others."""

    roots: list[_Root]


async def roots_of(context: "ServerRequestContext[Any]", asked: "CallToolRequestParams") -> list[str] | None:
    """Return the client's folders, none if it has none; None if the call has to come again with them."""
    known = context.session.client_capabilities
    if known is None or known.roots is None:
        return []
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return await _asked_for(context)
    given = (asked.input_responses or {}).get(ROOTS)
    if given is None and asked.request_state is None:
        return None
    return _folders(str(root.uri) for root in given.roots) if isinstance(given, ListRootsResult) else []


async def _asked_for(context: "ServerRequestContext[Any]") -> list[str]:
    related = ServerMessageMetadata(related_request_id=context.request_id)
    try:
        found = await context.session.send_request(ListRootsRequest(), _Told, _PATIENCE, related)
    except (MCPError, ValueError):  # it says that it has some, and does not tell
        return []
    return _folders(root.uri for root in found.roots)


def _folders(uris: "Iterable[str]") -> list[str]:
    """Return the paths of those that are on this machine."""
    found: list[str] = []
    for uri in uris:
        try:
            split = urlsplit(uri)
        except ValueError:
            continue
        if split.scheme == "file" and split.netloc in _HERE and split.path.startswith("/"):
            found.append(url2pathname(split.path))
    return found
