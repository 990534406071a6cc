"""The operations on the approval inbox: what waits for a person, and the person's answer."""

from typing import TYPE_CHECKING

from agent_exec.apps.serve.operation import Operation
from agent_exec.engine.awaiting import in_thread
from agent_exec.faces import approval_verbs
from agent_exec.model.cancel import Cancel
from agent_exec.requests.gate import ANSWERS
from agent_exec.tools.define import choice

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from agent_exec.apps.web.events import Event

DOOR = "http"
"""The name of this door in answers."""
STREAM = "approvals"

OPERATIONS = (
    Operation(
        "approvals",
        "List the questions that wait for a person; as a stream, follow them.",
        lambda _service, _given, _call: approval_verbs.waiting(),
        reads=True,
        streams=STREAM,
    ),
    Operation(
        "show_approval",
        "Show a question, or the answer that it got.",
        lambda _service, given, _call: approval_verbs.show(given["approval"]),
        reads=True,
    ),
    Operation(
        "answer_approval",
        "Answer a question; the first answer counts.",
        lambda _service, given, _call: approval_verbs.give(given["approval"], given["answer"], DOOR),
        {"answer": choice("One of the answers that the question offers.", ANSWERS)},
        ("answer",),
        answers=True,
    ),
)


async def approval_events(*, present: bool) -> "AsyncGenerator[Event, None]":
    """Yield what happens in the inbox, without end; with `present`, the client shows it to a person."""
    cancel = Cancel()
    found = approval_verbs.follow(cancel=cancel, present=present)
    try:
        while (event := await in_thread(lambda: next(found, None), cancel.set)) is not None:
            yield event["kind"], event, ""
    finally:
        cancel.set()
        found.close()  # type: ignore[attr-defined]  # a generator, which ends our presence
