"""One session without a face: what ends a wait, and that no output is missed."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from agent_exec.engine.engine import Engine
from agent_exec.model.command import Command
from agent_exec.model.errors import CommandNotFound, InputClosed
from agent_exec.model.output import Head
from agent_exec.sessions.session import Session
from agent_exec.sessions.transcript import Transcript
from agent_exec.sessions.wanted import Wanted
from support import descriptors, python, wait_until

if TYPE_CHECKING:
    from agent_exec.host.ports import Gaze

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows what a process waits for")


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine() as engine:
        yield engine


def new(tmp_path: Path, argv: list[str], *, tty: bool = False, separate: bool = False) -> Session:
    command = Command(argv, tty=tty, keep=Head(0))
    return Session(1000, command, Transcript(str(tmp_path / "1000")), "test", separate=separate)


def test_the_end(engine: Engine, tmp_path: Path) -> None:
    """Reference §1.9: the end ends a wait, and all output is there."""
    session = new(tmp_path, ["sh", "-c", "echo out; exit 3"])
    session.start(engine)
    assert session.wait(60).cause == "exit"
    assert session.outcome is not None
    assert session.outcome.exit_code == 3
    assert session.take().head == b"out\n"
    session.close()


def test_the_deadline(engine: Engine, tmp_path: Path) -> None:
    """Reference §1.9."""
    session = new(tmp_path, ["sleep", "600"])
    session.start(engine)
    assert session.wait(0).cause == "deadline"
    session.run.kill()
    assert session.wait(60).cause == "exit"


def test_conditions(engine: Engine, tmp_path: Path) -> None:
    """Issue 6, better 1: conditions hold for what nobody has taken yet."""
    session = new(tmp_path, ["sh", "-c", "echo first; sleep 600"])
    session.start(engine)
    wait_until(lambda: session.transcript.waiting)
    assert session.wait(60, Wanted(output=True)).cause == "output"
    assert session.wait(60, Wanted(regexes=("^fir",))).cause == "match"
    assert session.wait(0, Wanted(regexes=("second",))).cause == "deadline"
    session.take()
    assert session.wait(0, Wanted(output=True)).cause == "deadline"
    assert session.wait(60, Wanted(idle=0.001)).cause == "idle"
    assert session.wait(0, Wanted(only_exit=True)).cause == "deadline"


def test_idle_counts_from_what_was_typed(engine: Engine, tmp_path: Path) -> None:
    """Issue 6, better 1: a program has the time that is asked for to answer."""
    session = new(tmp_path, ["sleep", "600"], tty=True)
    session.start(engine)
    session._printed = session._typed = 0.0
    assert session.wait(60, Wanted(idle=100.0)).cause == "idle"
    session.type(b"x")
    assert session.wait(0, Wanted(idle=100.0)).cause == "deadline"


def test_waiting_for_input(engine: Engine, tmp_path: Path) -> None:
    """Issue 6, better 1."""
    session = new(tmp_path, ["cat"], tty=True)
    session.start(engine)
    ending = session.wait(60)
    assert (ending.cause, ending.evidence, ending.echo) == ("input", "exact", True)
    session.type(b"hello\n")
    assert session.wait(60).cause == "input"
    assert session.take().head == b"hello\r\nhello\r\n"
    assert session.wait(0, Wanted(only_exit=True)).cause == "deadline"
    session.run.end_input()
    assert session.wait(60, Wanted(only_exit=True)).cause == "exit"
    with pytest.raises(InputClosed):
        session.run.write(b"late")


def test_pipes_cannot_be_typed_on(engine: Engine, tmp_path: Path) -> None:
    """Reference §1.13."""
    session = new(tmp_path, ["sleep", "600"])
    session.start(engine)
    with pytest.raises(InputClosed):
        session.type(b"x")


def test_the_start_is_seen_however_fast_it_is(engine: Engine, tmp_path: Path) -> None:
    """Issue 6, better 1: also if the spawn is told before `start` has returned."""
    session = new(tmp_path, ["cat"], tty=True)
    start, spawned = engine.start, threading.Event()

    class Slow:
        """An engine whose start returns late."""

        def start(self, command: Command, **given: object) -> object:
            run = start(command, **given)  # type: ignore[arg-type]
            wait_until(lambda: run.pid is not None)
            spawned.wait(0.05)
            return run

    session.start(Slow())  # type: ignore[arg-type]
    assert session.wait(60).cause == "input"


def test_streams_apart(engine: Engine, tmp_path: Path) -> None:
    """Issue 6, better 5."""
    session = new(tmp_path, ["sh", "-c", "echo out; echo err >&2"], separate=True)
    session.start(engine)
    session.wait(60)
    assert session.take_streams() == {"stdout": "out\n", "stderr": "err\n"}
    assert session.take_streams() == {"stdout": "", "stderr": ""}
    assert new(tmp_path, ["true"]).take_streams() is None


def test_idle_timeouts(engine: Engine, tmp_path: Path) -> None:
    """Issue 6, better 3: no thread is left of it."""
    session = new(tmp_path, ["sleep", "600"])
    session.start(engine)
    session.end_when_idle(0.01)
    assert session.wait(60).cause == "exit"
    session.close()
    other = new(tmp_path, ["sh", "-c", "echo x; exit 0"])
    other.start(engine)
    other.end_when_idle(3600)
    assert other.wait(60).cause == "exit"
    other.close()
    assert other.outcome is not None
    assert other.outcome.exit_code == 0


def test_many_wait_for_one(engine: Engine, tmp_path: Path) -> None:
    """Issue 6: any thread may use it."""
    session = new(tmp_path, ["sleep", "600"])
    session.start(engine)
    causes: list[str] = []
    threads = [threading.Thread(target=lambda: causes.append(session.wait(60).cause)) for _ in range(8)]
    for thread in threads:
        thread.start()
    session.run.kill()
    for thread in threads:
        thread.join()
    assert causes == ["exit"] * 8


def test_what_cannot_start(engine: Engine, tmp_path: Path) -> None:
    """Reference §1.12."""
    session = new(tmp_path, ["/nonexistent/program"])
    with pytest.raises(CommandNotFound) as caught:
        session.start(engine)
    assert str(caught.value) == caught.value.message


def test_a_flood_is_seen_whole(engine: Engine, tmp_path: Path) -> None:
    """Issue 6, better 2."""
    session = new(tmp_path, python("import sys; [sys.stdout.write('%09d\\n' % at) for at in range(300_000)]"))
    session.start(engine)
    assert session.wait(60).cause == "exit"
    assert session.transcript.total == 3_000_000
    assert session.read(1_500_000, 10) == (1_500_000, b"000150000\n")
    session.close()


def test_the_waiting_thread_reads_by_itself(engine: Engine, tmp_path: Path) -> None:
    """The engine's thread reads between waits, the waiting one meanwhile; nothing is lost or comes twice."""
    session = new(
        tmp_path,
        python("while line := input('more? '): print(*range(int(line)), sep=chr(10))"),
        tty=True,
    )
    readers = set()

    class Noted(Transcript):
        def write(self, chunk: bytes) -> None:
            readers.add(threading.current_thread().name)
            super().write(chunk)

    session.transcript = Noted(str(tmp_path / "noted"))
    session.start(engine)
    for _ in range(20):
        assert session.wait(60).cause == "input"
        session.take()
        session.type(b"500\n")
        assert session.wait(60).cause == "input"
        numbers = session.take().head.decode().replace("\r\n", " ").split()
        assert numbers == ["500", *map(str, range(500)), "more?"]
    assert threading.current_thread().name in readers
    session.type(b"3\n")
    wait_until(lambda: session.transcript.waiting >= 18)  # by the engine: nobody waits
    assert "agent-exec" in readers
    session.stop()
    assert session.wait(60, Wanted(only_exit=True)).cause == "exit"


def test_two_that_wait_for_one_terminal(engine: Engine, tmp_path: Path) -> None:
    """One of them reads; both hear of what there is."""
    session = new(tmp_path, python("print('up'); input('? '); input('! ')"), tty=True)
    session.start(engine)
    causes: list[str] = []
    threads = [threading.Thread(target=lambda: causes.append(session.wait(60).cause)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert causes == ["input"] * 4
    session.type(b"x\n")
    assert session.wait(60).cause == "input"
    session.run.kill()
    assert session.wait(60, Wanted(only_exit=True)).cause == "exit"


def test_ends_while_someone_reads(engine: Engine, tmp_path: Path) -> None:
    """However the end falls into a wait, it is told at once, and nothing of the eyes is left open."""
    before = len(descriptors())
    for number in range(30):
        session = new(
            tmp_path,
            python(f"import time; print('x' * {number * 500}); time.sleep({number} / 2000)"),
            tty=True,
        )
        session.start(engine)
        while session.wait(60).cause != "exit":
            pass
        assert session.outcome is not None
        assert not session.outcome.leaked
        assert session.take().head == b"x" * (number * 500) + b"\r\n"
        session.close()
    wait_until(lambda: len(descriptors()) <= before + 12)  # keepers that wait for the next


def test_much_is_typed_while_someone_reads(engine: Engine, tmp_path: Path) -> None:
    """What the terminal does not take at once is typed by the engine, which takes the terminal back."""
    session = new(tmp_path, ["sh", "-c", "stty raw -echo; echo up; cat"], tty=True)
    session.start(engine)
    assert session.wait(60, Wanted(output=True)).cause == "output"
    data = b"".join(b"%07d\n" % number for number in range(40_000))
    session.type(data)
    while session.transcript.total < len(data) + 3:
        session.wait(60, Wanted(output=True))
        session.take()
    assert session.read(3, len(data)) == (3, data)
    session.run.kill()
    assert session.wait(60, Wanted(only_exit=True)).cause == "exit"


def test_an_interrupt_at_the_worst_moment(engine: Engine, tmp_path: Path) -> None:
    """Between beginning to read and knowing it: the terminal is given back, and somebody reads it."""
    session = new(tmp_path, python("while line := input('more? '): print(line * 3)"), tty=True)
    session.start(engine)
    assert session.wait(60).cause == "input"

    class Interrupting:
        def __init__(self, gaze: "Gaze") -> None:
            self.gaze = gaze

        def attend(self) -> bool:
            assert self.gaze.attend()
            raise KeyboardInterrupt

        def leave(self) -> None:
            self.gaze.leave()

    gaze = session._gaze
    assert gaze is not None
    session._gaze = Interrupting(gaze)  # type: ignore[assignment]
    session.type(b"ab\n")
    with pytest.raises(KeyboardInterrupt):
        session.wait(60)
    session._gaze = gaze
    wait_until(lambda: b"ababab" in b"".join(session.transcript.peek()))  # by the engine
    assert session.wait(60).cause == "input"
    session.run.kill()
    assert session.wait(60, Wanted(only_exit=True)).cause == "exit"


def test_the_writing_caller_reads_the_terminal_alone(engine: Engine, tmp_path: Path) -> None:
    """From before the program can answer; whoever leaves without waiting gives it back."""
    session = new(tmp_path, python("while line := input('more? '): print(line * 3)"), tty=True)
    readers: list[str] = []

    class Noted(Transcript):
        def write(self, chunk: bytes) -> None:
            readers.append(threading.current_thread().name)
            super().write(chunk)

    session.transcript = Noted(str(tmp_path / "noted"))
    session.start(engine)
    assert session.wait(60).cause == "input"
    readers.clear()
    for _ in range(50):
        session.type(b"ab\n", attentive=True)
        assert session.wait(60).cause == "input"
        session.leave()
    assert set(readers) == {threading.current_thread().name}
    session.take()
    session.type(b"cd\n", attentive=True)
    session.leave()
    session.leave()
    wait_until(lambda: b"cdcdcd" in b"".join(session.transcript.peek()))
    assert readers[-1] == "agent-exec"
    session.type(b"ef\n", attentive=True)
    session.run.kill()
    session.run.wait()
    session.leave()
    assert session.wait(60).cause == "exit"
