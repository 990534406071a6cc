"""Asks the client for an approval by a person and for its roots, in the way of each era of the protocol.

The older one has requests from the server to the client, and the thread of a
call waits for the answer. In the newer one the call is answered with the
question, and comes again with the answer: it is carried out from its
beginning, up to the question, which is then answered. Nothing may have been
done by then; the gate stands before all that is done.
"""

from time import monotonic

from agent_exec.apps.mcp.rpc import RpcError, clean
from agent_exec.model.errors import ApprovalRequired
from agent_exec.model.visible import visible
from agent_exec.requests.gate import ANSWERS, sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_exec.apps.mcp.connection import Request as Asked
    from agent_exec.apps.mcp.notices import Notices
    from agent_exec.apps.mcp.rpc import Message
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
_ELICIT, _LIST_ROOTS = "elicitation/create", "roots/list"


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

    def keep(self, asked: "Asked", answered: dict[str, str], question: str) -> str:
        """Remember, for a while, what was answered in a call and what is asked next; give the word for it."""
        from secrets import token_urlsafe

        now = monotonic()
        for word in [word for word, kept in self._kept.items() if kept[0] < now]:
            del self._kept[word]
        while len(self._kept) >= _MOST:
            del self._kept[next(iter(self._kept))]
        word = token_urlsafe(24)
        self._kept[word] = now + _KEEP, _digest(asked), answered, question and _name(question)
        return word

    def take(self, asked: "Asked") -> dict[str, str]:
        """Return the answers to the questions of a call that comes again; none to those of another call."""
        word = asked.params.get("requestState")
        kept = self._kept.pop(word, None) if isinstance(word, str) else None
        if kept is None or kept[0] < monotonic() or kept[1] != _digest(asked):
            return {}
        answered, question = dict(kept[2]), kept[3]
        given = _response(asked, APPROVAL)
        if question and given:
            answered[question] = _answer(given)
        return answered


class Elicitation:
    """Asks the client of one call."""

    def __init__(self, asked: "Asked", answered: dict[str, str], notices: "Notices") -> None:
        self._asked = asked
        self._notices = notices
        self.answered = answered
        """The answers so far, by the names of the questions."""

    @property
    def reachable(self) -> bool:
        """True if the client has announced elicitation."""
        return can_elicit(self._asked)

    def ask(self, request: "Request") -> str:
        """Ask, in the thread of the call."""
        message = question(request, tuple(self._notices.changes))
        offered = answers(request)
        if not self._asked.modern:
            form = _form(message, offered)
            try:
                answer = _answer(self._asked.connection.ask(self._asked, _ELICIT, form))
            except RpcError:  # it says that it can, and cannot; or says what makes no sense
                answer = "cancel"
            if self._asked.cancel.is_set():  # the answer of the call is dropped
                return "no"
        elif _name(message) not in self.answered:
            raise Unanswered(message, offered)
        else:
            answer = self.answered[_name(message)]
        if answer not in offered:
            raise ApprovalRequired(_UNANSWERED.get(answer, _UNCLEAR))
        return answer


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


def _indented(text: str) -> list[str]:
    return [f"    {line}" for line in _visible(text).split("\n")]


def _visible(text: str) -> str:
    """Return a text in which nothing hides: what a screen would not show is written out."""
    return "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))


def _form(message: str, offered: "Sequence[str]") -> "Message":
    """Return what the client is asked to show."""
    answer = {
        "type": "string",
        "title": "Answer",
        "enum": list(offered),
        "enumNames": [_WORDS[answer] for answer in offered],
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
