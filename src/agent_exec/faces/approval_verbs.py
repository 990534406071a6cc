"""The approval inbox, as answers of the program and of the server."""

from agent_exec.faces.answers import answer
from agent_exec.jobs.record import stamp
from agent_exec.requests import inbox_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from agent_exec.model.cancel import Cancel

    Fields = dict[str, Any]


def waiting() -> "Fields":
    """Return the questions that wait, the oldest first, and whether a program shows them to a person."""
    found = [_entry(one) for one in inbox_folder.waiting()]
    return answer("approvals", {"approvals": found, "watched": inbox_folder.is_watched()})


def show(named: str) -> "Fields":
    """Return a question, or the answer that it got; raise QuestionNotFound if there is none."""
    one, question, first = inbox_folder.find(named)
    fields: Fields = {"id": one, "state": "waiting" if first is None else "answered"}
    if question is not None:
        fields["question"] = _entry(question)
    elif first is None:
        raise inbox_folder.not_found(named)
    if first is not None:
        fields |= {"answer": first.answer, "by": first.by, "answered_at": stamp(first.at)}
    return answer("approval", fields)


def give(named: str, given: str, by: str) -> "Fields":
    """Answer a question through the door `by`; raise InvalidState if it has an answer already."""
    question = inbox_folder.answer(named, given, by)
    told = {"id": question["id"], "answer": given, "by": by, "command": question["command"]}
    return answer("approval_answered", told)


def follow(
    seconds: float | None = None, cancel: "Cancel | None" = None, *, present: bool
) -> "Iterator[Fields]":
    """Return what happens in the inbox as it happens, the questions that wait first.

    With `present`, a person sees them, and programs that ask only such a person can ask meanwhile.
    """
    for event in inbox_folder.watch(seconds, cancel, present=present):
        yield _entry(event) if event["kind"] == inbox_folder.ASKED else event


def _entry(question: "Fields") -> "Fields":
    moments = {name: stamp(question[name]) for name in ("asked_at", "expires_at")}
    return {**question, **moments}
