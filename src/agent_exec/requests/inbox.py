"""The approver that asks through the approval inbox: every door can answer, and the first answer wins."""

import os
from time import monotonic, time

from agent_exec.host import Changes, FileLock
from agent_exec.model.errors import ApprovalRequired, InvalidArgument, StoreFailed
from agent_exec.model.jsonline import dump
from agent_exec.model.visible import visible
from agent_exec.places import inbox_place, write_file
from agent_exec.requests.inbox_folder import (
    DEADLINE,
    LARGEST,
    LOCK,
    QUESTION,
    WITHDRAWN,
    Answer,
    answer_of,
    give,
    is_watched,
    own_folder,
    remove,
    sweep,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Self

    from agent_exec.model.cancel import Cancel
    from agent_exec.requests.gate import Request

TIMEOUT = 600.0
"""Seconds that a question waits for an answer, unless the caller says otherwise."""
UNWATCHED = "no `agent-exec approvals watch` is open"
"""Why no question is asked in the inbox, and how the user changes that; models read it, so it is short."""


class Inbox:
    """An approver that posts each question to the approval inbox, and waits for the first answer.

    After `timeout` seconds without an answer, the command is refused. With
    `watched`, it can be asked only while a program shows the inbox to a
    person. `server` and `client` tell the person where the question comes
    from. `cancel` returns what cancels the call that asks.
    """

    __slots__ = ("_cancel", "client", "server", "timeout", "watched")

    def __init__(
        self,
        timeout: float = TIMEOUT,
        *,
        watched: bool = False,
        server: str = "python",
        client: str = "",
        cancel: "Callable[[], Cancel | None]" = lambda: None,
    ) -> None:
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
            raise InvalidArgument(f"timeout must be a number of seconds above 0; got {timeout!r}")
        self.timeout = timeout
        self.watched = watched
        self.server = server
        self.client = client
        self._cancel = cancel

    @property
    def reachable(self) -> bool:
        """True if a question may get an answer: a program shows it to a person, or none is needed."""
        return not self.watched or is_watched()

    @property
    def unreachable(self) -> str:
        """The reason that a refusal gives where no question is asked."""
        return f"The approval inbox is not watched: {UNWATCHED}"

    def __call__(self, request: "Request") -> str:
        """Ask, and wait; raise ApprovalRequired if no answer comes."""
        with self.post(request) as question:
            return question.verdict(question.wait(self._cancel()))

    def post(self, request: "Request", changes: "Sequence[str]" = (), client: str = "") -> "Question":
        """Post a question, which the caller closes; raise ApprovalRequired if that is not possible."""
        from agent_exec.requests.question import fields

        told = {"server": self.server, "pid": os.getpid(), "client": visible(client or self.client)}
        try:
            return Question({**told, **fields(request, changes)}, self.timeout)
        except StoreFailed as error:
            raise ApprovalRequired(f"The question was not posted: {error.message}") from None
        except OSError as error:
            why = error.strerror or str(error)
            raise ApprovalRequired(
                f"The question could not be written to {inbox_place()}: {why}; change that"
            ) from None


class Question:
    """A question that waits; to be closed, which withdraws it if it has no answer yet."""

    __slots__ = ("_lock", "_path", "_timeout", "_until", "id")

    def __init__(self, told: "dict[str, Any]", timeout: float) -> None:
        folder = own_folder(make=True)
        sweep(folder)
        self.id = os.urandom(6).hex()
        self._path = os.path.join(folder, self.id)
        now = time()
        data = dump({"id": self.id, "asked_at": now, "expires_at": now + timeout, **told}).encode()
        if len(data) > LARGEST:
            raise StoreFailed(f"it is larger than {LARGEST} bytes; give the command by a file")
        self._timeout = timeout
        self._until = monotonic() + timeout
        self._lock = FileLock(self._path + LOCK)
        try:
            self._lock.acquire()
            write_file(self._path + QUESTION, data, new=True, sync=False)
        except BaseException:
            self._remove()
            raise

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        lock = getattr(self, "_lock", None)
        if lock is not None and lock.held:
            self._remove()

    @property
    def answer(self) -> Answer | None:
        """The answer; None if there is none yet."""
        return answer_of(self._path)

    def wait(self, cancel: "Cancel | None" = None) -> Answer | None:
        """Return the first answer, that of the deadline at the latest; None once `cancel` is set."""
        changes = Changes(os.path.dirname(self._path))
        try:
            while (found := self.answer) is None:
                left = self._until - monotonic()
                if left <= 0:
                    return self.settle("no", DEADLINE)
                if cancel is not None and cancel.is_set():
                    return None
                changes.wait(left, cancel)
            return found
        finally:
            changes.close()

    def race(self, other: "Callable[[Cancel], str | None]", by: str, cancel: "Cancel") -> Answer | None:
        """Return the first answer, from the inbox or from `other`; None once `cancel` is set.

        `other` is called here, and returns soon once what it is given is set.
        If it returns None, which is no answer, the inbox decides.
        """
        from agent_exec.engine.engine import start_thread
        from agent_exec.model.cancel import Cancel

        lost, over = Cancel(), Cancel()
        found: list[Answer | None] = []

        def listen() -> None:
            found.append(self.wait(over))
            lost.set()

        listening = start_thread(listen, "agent-exec-inbox")
        try:
            with cancel.calling(over.set):
                given = other(lost)
                if given is not None:
                    return self.settle(given, by)
                listening.join()
                return found[0] if found else None
        finally:
            over.set()
            listening.join()

    def verdict(self, found: Answer | None) -> str:
        """Return the answer, "no" for a cancelled call; raise ApprovalRequired if the deadline gave it."""
        if found is not None and found.by == DEADLINE:
            raise ApprovalRequired(
                f"No answer came within {self._timeout:g} s; try again when a person watches the inbox"
            )
        return "no" if found is None else found.answer

    def settle(self, answer: str, by: str) -> Answer:
        """Answer it from the asker's side; return the answer that was first."""
        given = Answer(answer, by, time())
        try:
            give(self._path, given)
        except FileExistsError:
            return self.answer or given
        except OSError:  # no room: no other program can answer it either
            pass
        return given

    def close(self) -> None:
        """Withdraw it if it has no answer, and remove it; harmless when repeated."""
        if self._lock.held:
            if self.answer is None:
                self.settle("no", WITHDRAWN)
            self._remove()

    def _remove(self) -> None:
        remove(self._path + QUESTION, self._path + LOCK)
        self._lock.release()
