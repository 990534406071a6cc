"""The dashboard: files of this package, the same for all and without a secret, hence without a token."""

import os
from functools import cache
from gzip import compress
from hashlib import sha256
from typing import TYPE_CHECKING

from agent_exec.apps.web.guard import fields

if TYPE_CHECKING:
    from starlette.types import Scope, Send

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page")
_FILES = {
    "/": ("index.html", b"text/html; charset=utf-8"),
    "/assets/app.js": ("app.js", b"text/javascript; charset=utf-8"),
    "/assets/app.css": ("app.css", b"text/css; charset=utf-8"),
    "/assets/licenses.md": ("licenses.md", b"text/plain; charset=utf-8"),
}
_GZIP = b"\x1f\x8b"
_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    b"img-src 'self' data:; font-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
)


def is_page(scope: "Scope") -> bool:
    """True if a request reads a file of the dashboard."""
    return scope["type"] == "http" and scope["path"] in _FILES and scope["method"] in ("GET", "HEAD")


async def send_page(scope: "Scope", send: "Send") -> None:
    """Answer a request for which `is_page` is true; a browser that has the same file gets no body.

    The connection is closed, since it has shown no token.
    """
    body, tag = _file(scope["path"], packed="gzip" in "".join(fields(scope, "accept-encoding")))
    seen = any(tag.decode() in one for one in fields(scope, "if-none-match"))
    head = [
        (b"content-type", _FILES[scope["path"]][1]),
        (b"etag", tag),
        (b"cache-control", b"no-cache"),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-opener-policy", b"same-origin"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"content-security-policy", _POLICY),
        (b"vary", b"accept-encoding"),
        (b"connection", b"close"),
        *([(b"content-encoding", b"gzip")] if body[:2] == _GZIP else []),
        *([] if seen else [(b"content-length", str(len(body)).encode())]),
    ]
    await send({"type": "http.response.start", "status": 304 if seen else 200, "headers": head})
    await send({"type": "http.response.body", "body": b"" if seen or scope["method"] == "HEAD" else body})


@cache
def _file(path: str, *, packed: bool) -> tuple[bytes, bytes]:
    """Return the bytes of a file, read at its first use, and its ETag."""
    with open(os.path.join(_FOLDER, _FILES[path][0]), "rb") as file:
        body = file.read()
    if packed:
        body = compress(body, mtime=0)
    return body, f'"{sha256(body).hexdigest()[:32]}"'.encode()
