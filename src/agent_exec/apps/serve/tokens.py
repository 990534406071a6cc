"""Tokens with a scope: read-only, for one job, until a moment; signed with the server's own token.

Nothing of them is kept: the server's token is enough to make one, and another
token in that file makes all of them invalid.
"""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from time import time

from agent_exec.apps.web.guard import same
from agent_exec.model.jsonline import dump, load
from agent_exec.model.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from agent_exec.apps.serve.operation import Operation

_KIND = "aex1"
_LONGEST = 1024


class Scope(Value):
    """What a token allows: all, unless it says less."""

    read_only: bool = False
    job: str = ""
    """The id of the one job that it is for; empty for all that there is."""
    no_answers: bool = False
    """True if it neither answers questions of the inbox nor uses sessions of other servers, as people do."""
    expires: int = 0
    """Seconds since 1970; 0 is never."""

    @property
    def answers(self) -> bool:
        """True if it can answer questions of the approval inbox."""
        return not (self.read_only or self.no_answers or self.job)

    def refusal(self, operation: "Operation", given: "Mapping[str, object]") -> str:
        """Return why it does not allow a request; empty if it does. The request's job is its whole id."""
        acts = [name for name in operation.acting if name in given]
        if self.read_only and acts:
            return f"this token is read-only, and {acts[0]} has the server do something; use another"
        if self.no_answers and operation.answers:
            return "this token was made with --no-approvals, and cannot answer questions; use another"
        if self.no_answers and _is_elsewhere(str(given.get("session", ""))):
            return "this token, made with --no-approvals, reaches sessions of this server only; use another"
        if self.read_only and not operation.reads:
            return f"this token is read-only, and {operation.name} changes something; use another"
        if self.job and given.get("job") != self.job:
            return f"this token is for job {self.job} alone; use another"
        return ""

    def shown(self, answer: "dict[str, Any]") -> "dict[str, Any]":
        """Return an answer without the sessions that it does not reach."""
        if not (self.no_answers and answer.get("type") == "list_sessions"):
            return answer
        return {**answer, "sessions": [one for one in answer["sessions"] if "server" not in one]}


def _is_elsewhere(session: str) -> bool:
    if "." not in session:
        return False
    from agent_exec.apps.serve.shared_sessions import is_elsewhere

    return is_elsewhere(session)


def issue(secret: str, scope: Scope) -> str:
    """Return a token with a scope."""
    fields = {"r": scope.read_only, "j": scope.job, "e": scope.expires, "a": scope.no_answers}
    payload = _coded(dump({name: value for name, value in fields.items() if value}).encode())
    return f"{_KIND}.{payload}.{_signature(secret, payload)}"


def scope_of(secret: str, token: str) -> Scope | None:
    """Return what a token allows; None if it is not valid, or not any more."""
    if same(token, secret):
        return Scope()
    kind, _, rest = token[:_LONGEST].partition(".")
    payload, _, signature = rest.partition(".")
    if kind != _KIND or not same(signature, _signature(secret, payload)):
        return None
    try:
        fields = load(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)).decode())
    except (ValueError, Error):  # signed by us, and by another version
        return None
    scope = Scope(
        read_only=bool(fields.get("r")),
        job=str(fields.get("j", "")),
        no_answers=bool(fields.get("a")),
        expires=int(fields.get("e", 0)),
    )
    return None if scope.expires and scope.expires <= time() else scope


def _signature(secret: str, payload: str) -> str:
    return _coded(hmac.digest(secret.encode(), f"{_KIND}.{payload}".encode(), "sha256"))


def _coded(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")
