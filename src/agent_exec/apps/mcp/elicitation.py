"""Asks the client for an approval by a person and for its roots, in the way of each era of the protocol.

The older one has requests from the server to the client, and the thread of a
call waits for the answer. In the newer one the call is answered with the
question, and comes again with the answer: it is carried out from its
beginning, up to the question, which is then answered. Nothing may have been
done by then; the gate stands before all that is done.

The same question waits in the approval inbox, if that can be asked: in the
newer era from the first call to the repeated one, which finds the answer.
"""

from time import monotonic

from agent_exec.apps.mcp.rpc import RpcError, clean
from agent_exec.model.cancel import Cancel
from agent_exec.model.errors import ApprovalRequired
from agent_exec.requests.gate import ANSWERS
from agent_exec.requests.question import WORDS, answers, question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from agent_exec.apps.mcp.connection import Request as Asked
    from agent_exec.apps.mcp.notices import Notices
    from agent_exec.apps.mcp.rpc import Message
    from agent_exec.requests.gate import Request
    from agent_exec.requests.inbox import Inbox, Question

_UNANSWERED = {
    "decline": "The client declined the question, perhaps without showing it to a person",
    "cancel": "The client gave no answer, perhaps without showing the question to a person",
}
_UNCLEAR = "The client gave none of the answers that were offered"
_PATIENCE = 10.0
_KEEP = 600.0
_MOST = 1000
CLIENT = "client"
"""The door of an answer that the client gave."""
APPROVAL = "approval"
ROOTS = "roots"
_ELICIT, _LIST_ROOTS = "elicitation/create", "roots/list"


class Unanswered(BaseException):
    """A question has to be answered before the call can go on; no error, and not to be caught on the way.

    `answers` are those that its form offers. `posted` is the same question in
    the approval inbox, if it waits there meanwhile.
    """

    def __init__(self, message: str, answers: "Sequence[str]", posted: "Question | None" = None) -> None:
        super().__init__(message)
        self.message = message
        self.answers = answers
        self.posted = posted


class Memory:
    """Questions and answers of calls that will be repeated, each under a random key."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[float, bytes, dict[str, str], str, Question | None]] = {}

    def keep(
        self, asked: "Asked", answered: dict[str, str], question: str, posted: "Question | None" = None
    ) -> str:
        """Remember, for a while, what was answered in a call and what is asked next; give the word for it."""
        from secrets import token_urlsafe

        now = monotonic()
        for word in [word for word, kept in self._kept.items() if kept[0] < now]:
            self._drop(word)
        while len(self._kept) >= _MOST:
            self._drop(next(iter(self._kept)))
        word = token_urlsafe(24)
        self._kept[word] = now + _KEEP, _digest(asked), answered, question and _name(question), posted
        return word

    def take(self, asked: "Asked") -> "tuple[dict[str, str], dict[str, Question]]":
        """Return the answers to the questions of a call that comes again; none to those of another call.

        Return the question that waits in the approval inbox too, if there is one, by its name.
        """
        word = asked.params.get("requestState")
        kept = self._kept.pop(word, None) if isinstance(word, str) else None
        if kept is None:
            return {}, {}
        if kept[0] < monotonic() or kept[1] != _digest(asked):
            _withdraw(kept[-1])
            return {}, {}
        answered, question = dict(kept[2]), kept[3]
        given = _response(asked, APPROVAL)
        if question and given:
            answered[question] = _answer(given)
        return answered, {} if kept[-1] is None else {question: kept[-1]}

    def _drop(self, word: str) -> None:
        _withdraw(self._kept.pop(word)[-1])


def _withdraw(posted: "Question | None") -> None:
    if posted is not None:
        posted.close()


class Elicitation:
    """Asks the client of one call, and the approval inbox at once: the first answer counts.

    A client that declines or cancels, perhaps without a person, leaves the question to the inbox.
    """

    def __init__(
        self,
        asked: "Asked",
        answered: dict[str, str],
        notices: "Notices",
        inbox: "Callable[[], Inbox | None]" = lambda: None,
        posted: "dict[str, Question] | None" = None,
    ) -> None:
        self._asked = asked
        self._notices = notices
        self._inbox = inbox
        self._posted = posted or {}
        self.answered = answered
        """The answers so far, by the names of the questions."""

    @property
    def reachable(self) -> bool:
        """True if the client has announced elicitation, or the inbox can be asked."""
        return can_elicit(self._asked) or ((inbox := self._inbox()) is not None and inbox.reachable)

    def close(self) -> None:
        """Withdraw questions of a call that has ended without them."""
        for posted in self._posted.values():
            posted.close()

    def ask(self, request: "Request") -> str:
        """Ask, in the thread of the call."""
        message = question(request, tuple(self._notices.changes))
        offered = answers(request)
        again = self._asked.modern and can_elicit(self._asked)
        answer = (self._ask_again if again else self._ask_now)(request, message, offered)
        if self._asked.cancel.is_set():  # the answer of the call is dropped
            return "no"
        if answer not in offered:
            raise ApprovalRequired(_UNANSWERED.get(answer, _UNCLEAR))
        return answer

    def _ask_now(self, request: "Request", message: str, offered: "Sequence[str]") -> str:
        """Return the first answer; without an inbox, the client's."""
        asked = self._asked

        def elicit(lost: Cancel | None = None) -> str:
            try:
                return _answer(asked.connection.ask(asked, _ELICIT, _form(message, offered), cancel=lost))
            except RpcError:  # it says that it can, and cannot; or says what makes no sense
                return "cancel"

        def decide(lost: Cancel) -> str | None:
            answer = elicit(lost)
            return answer if answer in offered else None

        posted = self._post(request)
        if posted is None:
            return elicit()
        with posted:
            both = can_elicit(asked)
            found = posted.race(decide, CLIENT, asked.cancel) if both else posted.wait(asked.cancel)
            return posted.verdict(found)

    def _ask_again(self, request: "Request", message: str, offered: "Sequence[str]") -> str:
        """Return the first answer, which came with the call or to the inbox; raise Unanswered without one."""
        name = _name(message)
        answer = self.answered.get(name)
        posted = self._posted.pop(name, None)
        if posted is None and answer is None:
            posted = self._post(request)
        if answer is None and (posted is None or posted.answer is None):
            raise Unanswered(message, offered, posted)
        if posted is not None:
            with posted:
                known = answer if answer in offered else None
                found = posted.settle(known, CLIENT) if known else posted.wait(self._asked.cancel)
                answer = self.answered[name] = posted.verdict(found)
        return answer or ""

    def _post(self, request: "Request") -> "Question | None":
        """Post a question to the inbox; return None if that cannot be asked, and the client can."""
        inbox = self._inbox()
        client = self._asked.connection.client_of(self._asked)
        try:
            if inbox is None or not inbox.reachable:
                raise ApprovalRequired("The approval inbox is not watched any longer")
            return inbox.post(request, tuple(self._notices.changes), client)
        except ApprovalRequired:
            if not can_elicit(self._asked):
                raise
            return None


def can_elicit(asked: "Asked") -> bool:
    """True if a client can show a form."""
    found = asked.capabilities.get("elicitation")
    return isinstance(found, dict) and (found.get("form") is not None or found.get("url") is None)


def required(asked: Unanswered, word: str) -> "Message":
    """Return the answer to a call that has to come again with an approval."""
    form = _form(asked.message, asked.answers)
    return _input_required(APPROVAL, {"method": _ELICIT, "params": form}, word)


def roots_required(word: str) -> "Message":
    """Return the answer to a call that has to come again with the client's roots."""
    return _input_required(ROOTS, {"method": _LIST_ROOTS}, word)


def _input_required(name: str, request: "Message", word: str) -> "Message":
    return {"resultType": "input_required", "inputRequests": {name: request}, "requestState": word}


def _response(asked: "Asked", name: str) -> "Message":
    """Return what a call that comes again says to a question; an empty object if it says nothing."""
    given = asked.params.get("inputResponses")
    found = given.get(name) if isinstance(given, dict) else None
    return found if isinstance(found, dict) else {}


def _digest(asked: "Asked") -> bytes:
    """Return what tells a call from others."""
    from hashlib import sha256
    from json import dumps

    told = [asked.params.get("name"), asked.params.get("arguments")]
    return sha256(dumps(told, sort_keys=True).encode()).digest()


def _name(question: str) -> str:
    """Return what tells a question from others, however long it is."""
    from hashlib import sha256

    return sha256(question.encode(errors="surrogatepass")).hexdigest()


def _form(message: str, offered: "Sequence[str]") -> "Message":
    """Return what the client is asked to show."""
    answer = {
        "type": "string",
        "title": "Answer",
        "enum": list(offered),
        "enumNames": [WORDS[answer] for answer in offered],
    }
    schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    return {"message": clean(message), "requestedSchema": schema}


def _answer(result: "Message") -> str:
    """Return the answer, or the name of the way in which the question was left without one."""
    action, content = result.get("action"), result.get("content")
    if action != "accept":
        return action if isinstance(action, str) and action in _UNANSWERED else ""
    found = content.get("answer") if isinstance(content, dict) else None
    return found if isinstance(found, str) and found in ANSWERS else ""


def roots_of(asked: "Asked") -> list[str] | None:
    """Return the client's folders, none if it has none; None if the call has to come again with them."""
    if asked.capabilities.get("roots") is None:
        return []
    if asked.modern:
        given = _response(asked, ROOTS)
        if not given and asked.params.get("requestState") is None:
            return None
        return _folders(given.get("roots"))
    try:
        found = asked.connection.ask(asked, _LIST_ROOTS, seconds=_PATIENCE)
    except RpcError:  # it says that it has some, and does not name them
        return []
    return _folders(found.get("roots"))


def _folders(roots: object) -> list[str]:
    """Return the paths of those that are on this machine."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    found: list[str] = []
    for root in roots if isinstance(roots, list) else ():
        uri = root.get("uri") if isinstance(root, dict) else None
        try:
            split = urlsplit(uri if isinstance(uri, str) else "")
        except ValueError:
            continue
        if split.scheme == "file" and split.netloc in ("", "localhost") and split.path.startswith("/"):
            found.append(url2pathname(split.path))
    return found
