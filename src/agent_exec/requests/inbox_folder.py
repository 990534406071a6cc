"""The folder of the approval inbox: its questions, answers and watchers, for every program of this user.

A question is the file `ID.json`. Its asker holds the lock `ID.lock` for as
long as it waits, so that the question of a killed asker is known to be dead.
All that can end a question (an answer, the deadline, a cancelled call) creates
`ID.answer`, which only one can; it stays for a while, to tell the others.
`ID.watch` is a lock too: that of a program which shows questions to a person.
"""

import os
from time import monotonic, time

from agent_exec.host import Changes, FileLock, is_locked
from agent_exec.logs.stream import FLAGS, NONBLOCK
from agent_exec.model.errors import InvalidArgument, InvalidState, QuestionNotFound, StoreFailed
from agent_exec.model.jsonline import dump, load
from agent_exec.model.value import Value
from agent_exec.places import inbox_place, is_private, make_folder, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from agent_exec.model.cancel import Cancel

DEADLINE, WITHDRAWN = "deadline", "withdrawn"
"""The doors of a question that ended without an answer: its time was over, or its command was cancelled."""
ASKED, ANSWERED = "approval.asked", "approval.answered"
"""The kinds of events."""
QUESTION, LOCK, ANSWER, WATCH = ".json", ".lock", ".answer", ".watch"
LARGEST = 4 << 20
"""The most bytes that a question may have."""

_KEEP = 3600.0
"""Seconds after which files are removed that belong to no question: an hour, in which answers can be read."""
_SELDOM, _MOMENT = 30.0, 0.05
_FIELDS = {"id": str, "asked_at": float, "expires_at": float, "answers": list}


class Answer(Value):
    """The end of a question: "once", "session", "always" or "no", and which door it came from."""

    answer: str
    by: str
    at: float


def own_folder(*, make: bool = False) -> str:
    """Return the folder of the inbox, which may be missing without `make`.

    Raise StoreFailed if others can enter it.
    """
    folder = inbox_place()
    if make:
        make_folder(folder)
    if os.path.lexists(folder) and not is_private(folder):
        raise StoreFailed(
            f"the approval inbox {folder} must be a folder of yours that others cannot enter; "
            f"`chmod 700 {folder}`, or remove it",
            path=folder,
        )
    return folder


def is_watched() -> bool:
    """True if a program shows the inbox to a person."""
    try:
        folder = own_folder()
        return any(is_locked(os.path.join(folder, name)) for name in _names(folder) if name.endswith(WATCH))
    except (OSError, StoreFailed):
        return False


def waiting() -> "list[dict[str, Any]]":
    """Return the questions that wait, the oldest first; those of killed askers are removed."""
    folder = own_folder()
    found = [_load(folder, name) for name in _names(folder) if name.endswith(QUESTION)]
    return sorted((one for one in found if one), key=lambda one: (one["asked_at"], one["id"]))


def find(named: str) -> "tuple[str, dict[str, Any] | None, Answer | None]":
    """Return the id of a question that begins or ends so, the question if it waits, and its answer.

    Raise QuestionNotFound if there is none, InvalidArgument if there are several.
    """
    folder = own_folder()
    known = {name.partition(".")[0] for name in _names(folder) if name.endswith((QUESTION, ANSWER))}
    part = named.lower()
    ids = [part] if part in known else sorted(one for one in known if part and _matches(one, part))
    live = {one: _load(folder, one + QUESTION) for one in ids}
    if len(ids) > 1 and sum(map(bool, live.values())) == 1:
        ids = [one for one in ids if live[one]]
    if not ids:
        raise not_found(named)
    if len(ids) > 1:
        raise InvalidArgument(
            f"several questions have ids that begin or end with {named!r}: {', '.join(ids)}"
        )
    (one,) = ids
    return one, live[one], answer_of(os.path.join(folder, one))


def not_found(named: str) -> QuestionNotFound:
    """Return the error for a question that does not wait."""
    return QuestionNotFound(
        f"no question {named!r} waits; `agent-exec approvals` lists those that do", question_id=named
    )


def answer(named: str, given: str, by: str) -> "dict[str, Any]":
    """Answer a question that waits; return it. `by` names the door.

    Raise InvalidState with the first answer if it has one already.
    """
    one, question, first = find(named)
    if question is None:
        raise not_found(named) if first is None else _too_late(one, first)
    if given not in question["answers"]:
        offered = ", ".join(question["answers"])
        raise InvalidArgument(f"the answer to question {one} must be one of {offered}; got {given!r}")
    path = os.path.join(own_folder(), one)
    try:
        give(path, Answer(given, by, time()))
    except FileExistsError:
        raise _too_late(one, answer_of(path)) from None
    return question


def watch(
    seconds: float | None = None, cancel: "Cancel | None" = None, *, present: bool
) -> "Iterator[dict[str, Any]]":
    """Yield each question that waits, each that comes, and each that has ended: so long, or until `cancel`.

    With `present`, the inbox counts as watched meanwhile. Events have a
    `kind`. One of `ANSWERED` has `answer` and `by`; both are None if the
    asker was killed.
    """
    until = None if seconds is None else monotonic() + seconds
    folder = own_folder(make=True)
    changes = Changes(folder, closed=True)
    known: dict[str, float] = {}
    pause = _MOMENT
    presence = FileLock(os.path.join(folder, os.urandom(6).hex() + WATCH))
    try:
        if present:
            presence.acquire()
        while True:
            now = {one["id"]: one for one in waiting()}
            for one in [one for one in known if one not in now]:
                del known[one]
                found = answer_of(os.path.join(folder, one))
                told = (None, None) if found is None else (found.answer, found.by)
                yield {"kind": ANSWERED, "id": one, "answer": told[0], "by": told[1]}
            for one, question in now.items():
                if one not in known:
                    known[one] = question["expires_at"]
                    yield {"kind": ASKED, **question}
            ends = [moment - time() for moment in known.values()]
            left = min([pause, *(max(end, _MOMENT) for end in ends)])
            if until is not None:
                left = min(left, until - monotonic())
            if left <= 0 or (cancel is not None and cancel.is_set()):
                return
            began = monotonic()
            changes.wait(left, cancel)
            # The lock of a killed asker is freed right after the system reports that its file was closed.
            pause = _MOMENT if monotonic() - began < left else _SELDOM
    finally:
        changes.close()
        if present:
            remove(presence.path)
            presence.release()


def sweep(folder: str) -> None:
    """Remove what is left of questions and watchers that are long gone."""
    for name in _names(folder):
        path = os.path.join(folder, name)
        try:
            if name.endswith(QUESTION):
                _load(folder, name)
            elif time() - os.lstat(path).st_mtime > _KEEP and not is_locked(path):
                os.unlink(path)
        except OSError:
            continue


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def _matches(one: str, part: str) -> bool:
    return one.startswith(part) or one.endswith(part)


def _load(folder: str, name: str) -> "dict[str, Any] | None":
    """Return a question that waits; None if it does not. One whose asker was killed is removed."""
    path = os.path.join(folder, name.removesuffix(QUESTION))
    found = _read(path + QUESTION)
    if found is None or not all(isinstance(found.get(field), kind) for field, kind in _FIELDS.items()):
        return None
    if not is_locked(path + LOCK):
        remove(path + QUESTION, path + LOCK)
        return None
    return found if found["expires_at"] > time() and answer_of(path) is None else None


def answer_of(path: str) -> Answer | None:
    """Return the answer to the question at a path without its ending; None if there is none."""
    found = _read(path + ANSWER)
    return None if found is None else Answer(found["answer"], found["by"], found["at"])


def give(path: str, given: Answer) -> None:
    """Record an answer; raise FileExistsError if another was first."""
    told = {"answer": given.answer, "by": given.by, "at": given.at}
    write_file(path + ANSWER, dump(told).encode(), new=True, sync=False)


def _read(path: str) -> "dict[str, Any] | None":
    """Return the object in a file, None if there is none."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | NONBLOCK | FLAGS)) as file:
            found = load(file.read(LARGEST + 1).decode())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _too_late(one: str, first: Answer | None) -> InvalidState:
    if first is None:
        return InvalidState(f"question {one} has an answer already; nothing was changed", question_id=one)
    how = {DEADLINE: "its deadline has passed", WITHDRAWN: "its command was cancelled"}.get(first.by)
    said = how or f"the answer {first.answer!r} came first, by {first.by}"
    details = {"question_id": one, "answer": first.answer, "by": first.by}
    return InvalidState(f"question {one} does not wait any longer: {said}; nothing was changed", **details)


def remove(*paths: str) -> None:
    """Remove files; those that are gone are no error."""
    for path in paths:
        try:
            os.unlink(path)
        except OSError:
            continue
