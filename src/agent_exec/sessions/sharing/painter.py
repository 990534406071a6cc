"""The thread that draws snapshots of sessions, a little of each in turn: none waits for a large one."""

from _thread import allocate_lock
from collections import deque
from threading import Thread
from time import monotonic, sleep

from agent_exec.sessions.replay import Replay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from agent_exec.sessions.replay import Snapshot
    from agent_exec.sessions.session import Session

    Done = Callable[[Snapshot | None], object]

_KEPT = 16
"""How many sessions a terminal is kept for, which the next snapshot goes on with."""
_AT_ONCE = 0.02
"""How many seconds a snapshot may take before its thread rests as long as it works."""


class Painter:
    """Draws snapshots; its thread ends when there is nothing to draw."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._jobs: deque[tuple[Session, int, list[Done]]] = deque()
        self._kept: dict[Session, Replay] = {}
        self._thread: Thread | None = None
        self._stopped = False

    def paint(self, session: "Session", done: "Done") -> None:
        """Call `done` with the screen of a session as it is now or later, from another thread.

        It is called with None if the output cannot be read.
        """
        with self._lock:
            for one, _, waiting in self._jobs:
                if one is session:
                    waiting.append(done)
                    return
            self._jobs.append((session, session.showable, [done]))
            if self._thread is None:
                self._thread = Thread(target=self._run, name="agent-exec snapshots", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        """Draw nothing more, and wait until the thread has ended."""
        self._stopped = True
        if (thread := self._thread) is not None:
            thread.join()

    def _run(self) -> None:
        spent = 0.0
        while not self._stopped:
            with self._lock:
                if not self._jobs:
                    self._thread = None
                    return
                session, target, _ = self._jobs[0]
            began = monotonic()
            replay = self._replay(session)
            snapshot = None
            try:
                if over := replay.step(target):
                    snapshot = replay.capture()
            except Exception:  # what one session has printed must not end the snapshots of all
                over = True
                self._kept.pop(session, None)
            with self._lock:
                job = self._jobs.popleft()
                if not over:
                    self._jobs.append(job)
            for done in job[2] if over else ():
                done(snapshot)
            took = monotonic() - began
            spent = 0.0 if over else spent + took
            if spent > _AT_ONCE:  # the threads that read output have the interpreter for as long
                sleep(took)

    def _replay(self, session: "Session") -> Replay:
        """Return the terminal of a session: the one of the last snapshot, if it is still kept."""
        replay = self._kept.pop(session, None) or Replay(session)
        self._kept[session] = replay
        if len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return replay
