"""Asks the client for an approval by a person and for its roots, in the way of each era of the protocol.

The older one has requests from the server to the client, and the thread of a
call waits for the answer. In the newer one the call is answered with the
question, and comes again with the answer: it is carried out from its
beginning, up to the question, which is then answered. Nothing may have been
done by then; the gate stands before all that is done.
"""

import json
import secrets
from asyncio import CancelledError
from concurrent.futures import CancelledError as AlsoCancelled
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from anyio.from_thread import run as run_in_loop
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel

from agent_exec.model.errors import ApprovalRequired
from agent_exec.model.visible import visible
from agent_exec.requests.gate import ANSWERS, sentence

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mcp.server import ServerRequestContext
    from mcp_types import CallToolRequestParams

    from agent_exec.apps.mcp.notices import Notices
    from agent_exec.requests.gate import Request

_WORDS = {
    "once": "Yes, this once",
    "session": "Yes, until the server ends",
    "always": "Yes, always: write the rule down",
    "no": "No",
}
_UNANSWERED = {
    "decline": "The client declined the question, perhaps without showing it to a person",
    "cancel": "The client gave no answer, perhaps without showing the question to a person",
}
_UNCLEAR = "The client gave none of the answers that were offered"
_PATIENCE = 10.0
_KEEP = 600.0
_MOST = 1000
_SHOWN = 2000
"""How many bytes of an input are shown."""
APPROVAL = "approval"
ROOTS = "roots"


class Unanswered(BaseException):
    """A question has to be answered before the call can go on; no error, and not to be caught on the way.

    `answers` are those that its form offers.
    """

    def __init__(self, message: str, answers: "Sequence[str]") -> None:
        super().__init__(message)
        self.message = message
        self.answers = answers


class Memory:
    """Questions and answers of calls that will be repeated, each under a random key."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, bytes, dict[str, str], str]] = {}

    def keep(self, asked: "CallToolRequestParams", answered: dict[str, str], question: str) -> str:
        """Remember, for a while, what was answered in a call and what is asked next; give the word for it."""
        now = monotonic()
        for word in [word for word, kept in self._kept.items() if kept[0] < now]:
            del self._kept[word]
        while len(self._kept) >= _MOST:
            del self._kept[next(iter(self._kept))]
        word = secrets.token_urlsafe(24)
        self._kept[word] = now + _KEEP, _digest(asked), answered, question and _name(question)
        return word

    def take(self, asked: "CallToolRequestParams") -> dict[str, str]:
        """Return the answers to the questions of a call that comes again; none to those of another call."""
        kept = self._kept.pop(asked.request_state or "", None)
        if kept is None or kept[0] < monotonic() or kept[1] != _digest(asked):
            return {}
        answered, question = dict(kept[2]), kept[3]
        given = (asked.input_responses or {}).get(APPROVAL)
        if question and isinstance(given, ElicitResult):
            answered[question] = _answer(given)
        return answered


class Elicitation:
    """Asks the client of one call."""

    def __init__(
        self, context: "ServerRequestContext[Any]", answered: dict[str, str], notices: "Notices"
    ) -> None:
        self._context = context
        self._notices = notices
        self.answered = answered
        """The answers so far, by the names of the questions."""

    @property
    def reachable(self) -> bool:
        """True if the client has announced elicitation."""
        return can_elicit(self._context)

    def ask(self, request: "Request") -> str:
        """Ask, in the thread of the call."""
        message = question(request, tuple(self._notices.changes))
        offered = answers(request)
        if self._context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            try:
                answer = _answer(run_in_loop(self._elicit, message, offered))
            except (CancelledError, AlsoCancelled):  # the call was: its answer is dropped
                return "no"
        elif _name(message) not in self.answered:
            raise Unanswered(message, offered)
        else:
            answer = self.answered[_name(message)]
        if answer not in offered:
            raise ApprovalRequired(_UNANSWERED.get(answer, _UNCLEAR))
        return answer

    async def _elicit(self, message: str, offered: "Sequence[str]") -> ElicitResult:
        try:
            return await self._context.session.elicit_form(message, _form(offered), self._context.request_id)
        except (MCPError, ValueError):  # it says that it can, and cannot; or says what makes no sense
            return ElicitResult(action="cancel")


def can_elicit(context: "ServerRequestContext[Any]") -> bool:
    """True if a client can show a form."""
    known = context.session.client_capabilities
    found = None if known is None else known.elicitation
    return found is not None and (found.form is not None or found.url is None)


def required(asked: Unanswered, word: str) -> InputRequiredResult:
    """Return the answer to a call that has to come again with an approval."""
    form = ElicitRequestFormParams(message=asked.message, requested_schema=_form(asked.answers))
    return InputRequiredResult(input_requests={APPROVAL: ElicitRequest(params=form)}, request_state=word)


def roots_required(word: str) -> InputRequiredResult:
    """Return the answer to a call that has to come again with the client's roots."""
    return InputRequiredResult(input_requests={ROOTS: ListRootsRequest()}, request_state=word)


def answers(request: "Request") -> "Sequence[str]":
    """Return the answers that can be given: none that would last where none can, no rule where none is."""
    lasting = [] if request.once else ["session", "always"] if request.rules else ["session"]
    return [one for one in ANSWERS if one in ("once", *lasting, "no")]


def question(request: "Request", changes: "Sequence[str]" = ()) -> str:
    """Return what is asked: the command, why, where, and what an "always" would write down.

    The command and the reason come first, since clients cut questions after a
    few lines. `changes` are those to protected paths that were seen before.
    What others have written cannot be taken for what we say: the command's
    lines are set in, and all else of theirs is on one line.
    """
    from shlex import join

    command = request.command if isinstance(request.command, str) else join(request.command)
    where = " outside of the sandbox" if request.escalated else ""
    said = [f"Run this command{where}?", *_indented(command)]
    said.append(f"It is asked for because: {sentence(visible(request.verdict.reason))}")
    if request.cwd:
        said.append(f"In {visible(request.cwd)}.")
    if request.stdin:
        said += ["It is given to read:\n", *_indented(request.stdin[:_SHOWN].decode(errors="replace"))]
        more = len(request.stdin) - _SHOWN
        said += [f"and {more} bytes more, which are not shown.", ""] if more > 0 else [""]
    if request.env_names:
        said.append(f"It sets {visible(', '.join(request.env_names))}.")
    if changes:
        said.append("Since the server started, confined commands have changed what is protected:\n")
        said += [*(f"    {visible(one)}" for one in changes), ""]
    if request.escalated and request.once:
        said.append("A yes is for this once: it may do something else the next time.")
    elif request.escalated:
        said.append("A yes until the server ends is for exactly this command in this folder.")
    elif request.once:
        said.append("A yes is for this once: the next time, these may be others.")
    if "always" in answers(request):
        from agent_exec.policy.rulebook import write

        said.append("Always would add:\n" + _visible("\n".join(map(write, request.rules))).rstrip())
    return "\n".join(said)


def _digest(asked: "CallToolRequestParams") -> bytes:
    """Return what tells a call from others."""
    return sha256(json.dumps([asked.name, asked.arguments], sort_keys=True).encode()).digest()


def _name(question: str) -> str:
    """Return what tells a question from others, however long it is."""
    return sha256(question.encode()).hexdigest()


def _indented(text: str) -> list[str]:
    return [f"    {line}" for line in _visible(text).split("\n")]


def _visible(text: str) -> str:
    """Return a text in which nothing hides: what a screen would not show is written out."""
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))


def _form(offered: "Sequence[str]") -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "answer": {
                "type": "string",
                "title": "Answer",
                "enum": list(offered),
                "enumNames": [_WORDS[answer] for answer in offered],
            }
        },
        "required": ["answer"],
    }


def _answer(result: ElicitResult) -> str:
    """Return the answer, or the name of the way in which the question was left without one."""
    if result.action != "accept":
        return result.action
    found = (result.content or {}).get("answer")
    return found if isinstance(found, str) and found in ANSWERS else ""


class _Root(BaseModel):
    uri: str


class _Roots(BaseModel):
    """As the SDK's own result, which refuses all roots if one is not a file."""

    roots: list[_Root]


async def roots_of(context: "ServerRequestContext[Any]", asked: "CallToolRequestParams") -> list[str] | None:
    """Return the client's folders, none if it has none; None if the call has to come again with them."""
    known = context.session.client_capabilities
    if known is None or known.roots is None:
        return []
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        related = ServerMessageMetadata(related_request_id=context.request_id)
        try:
            found = await context.session.send_request(ListRootsRequest(), _Roots, _PATIENCE, related)
        except (MCPError, ValueError):  # it says that it has some, and does not name them
            return []
        return _folders(root.uri for root in found.roots)
    given = (asked.input_responses or {}).get(ROOTS)
    if given is None and asked.request_state is None:
        return None
    return _folders(str(root.uri) for root in given.roots) if isinstance(given, ListRootsResult) else []


def _folders(uris: "Iterable[str]") -> list[str]:
    """Return the paths of those that are on this machine."""
    found: list[str] = []
    for uri in uris:
        try:
            split = urlsplit(uri)
        except ValueError:
            continue
        if split.scheme == "file" and split.netloc in ("", "localhost") and split.path.startswith("/"):
            found.append(url2pathname(split.path))
    return found
