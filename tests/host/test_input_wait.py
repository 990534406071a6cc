"""What the kernel shows of a terminal's foreground group, without engine or sessions.

feasibility.md §11.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator

import pytest

if sys.platform != "linux":
    pytest.skip("only Linux shows what a process waits for", allow_module_level=True)

import fcntl
import termios

from agent_exec.host.posix.input_wait import Attention, Gaze, Peer
from support import exists, wait_until


class Still:
    """A reader that has nothing on its way."""

    busy = False
    writer = None

    def __init__(self) -> None:
        self.peer = Peer()

    def face(self) -> Peer:
        return self.peer


class Front:
    """A program in front of a terminal of its own."""

    def __init__(self, code: str) -> None:
        self.master, slave = os.openpty()
        self.pid = os.posix_spawn(
            sys.executable,
            [
                sys.executable,
                "-IS",
                "-c",
                f"import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n{code}",
            ],
            os.environ,
            setsid=True,
            file_actions=[(os.POSIX_SPAWN_DUP2, slave, fd) for fd in range(3)],
        )
        os.close(slave)
        self.reader = Still()
        self.gaze = Gaze(os.dup(self.master), self.reader)  # type: ignore[arg-type]
        self.printed = b""

    def expect(self, text: bytes) -> None:
        while text not in self.printed:
            self.printed += os.read(self.master, 1000)

    def look(self, *, unfinished: bool = False) -> Attention:
        return self.gaze.look(unfinished=unfinished)

    def close(self) -> None:
        self.gaze.close()
        self.gaze.close()
        self.reader.peer.close()
        self.reader.peer.close()
        os.killpg(self.pid, signal.SIGKILL)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.master)


@pytest.fixture
def front(nothing_left: str) -> Iterator[Callable[[str], Front]]:
    made: list[Front] = []

    def make(code: str) -> Front:
        made.append(Front(code))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_read_is_exact(front: Callable[[str], Front]) -> None:
    one = front("import os; print('up'); os.read(0, 1); os.read(0, 1)")
    one.expect(b"up\r\n")
    wait_until(lambda: one.look().evidence == "exact")
    assert one.look().echo
    os.write(one.master, b"x\n")


def test_watching_is_likely_at_a_prompt_only(front: Callable[[str], Front]) -> None:
    one = front("import select; print('up'); select.select([0], [], [])")
    one.expect(b"up\r\n")
    wait_until(lambda: one.look(unfinished=True).evidence == "likely")
    assert one.look(unfinished=False).evidence == ""


def test_a_raw_terminal_is_a_prompt(front: Callable[[str], Front]) -> None:
    one = front("import select, tty; tty.setraw(0); print('up'); select.select([0], [], [])")
    one.expect(b"up")
    wait_until(lambda: one.look().evidence == "likely")
    assert one.look().echo  # the program edits lines itself


def test_a_secret(front: Callable[[str], Front]) -> None:
    one = front(
        "import os, termios; a = termios.tcgetattr(0); a[3] &= ~termios.ECHO\n"
        "termios.tcsetattr(0, termios.TCSANOW, a); print('up'); os.read(0, 1)"
    )
    one.expect(b"up\r\n")
    wait_until(lambda: one.look().evidence == "exact")
    assert not one.look().echo


def test_what_was_not_read_yet(front: Callable[[str], Front]) -> None:
    """Whoever has not read what was typed, or whose print nobody has read, does not wait."""
    one = front("import os, time; print('up'); os.read(0, 1)")
    wait_until(lambda: one.look().evidence == "" and _printed(one.master))
    assert one.look().evidence == ""
    one.expect(b"up\r\n")
    wait_until(lambda: one.look().evidence == "exact")
    one.reader.busy = True
    assert one.look().evidence == ""
    one.reader.busy = False
    assert one.look().evidence == "exact"


def _printed(master: int) -> bool:
    return int.from_bytes(fcntl.ioctl(master, termios.FIONREAD, bytes(4)), sys.byteorder) >= 4


@pytest.mark.parametrize(
    "code",
    [
        "import time; print('up'); time.sleep(600)",
        "print('up')\nwhile True: pass",
        "import os; r, w = os.pipe(); print('up'); os.read(r, 1)",
        "import os, signal; print('up'); os.kill(os.getpid(), signal.SIGSTOP); os.read(0, 1)",
        "import select, socket; a, b = socket.socketpair(); print('up'); select.select([a], [], [])",
    ],
    ids=["sleep", "busy", "pipe", "stopped", "socket"],
)
def test_others_never_wait(front: Callable[[str], Front], code: str) -> None:
    one = front(code)
    one.expect(b"up\r\n")
    assert all(one.look(unfinished=True).evidence == "" for _ in range(300))


def test_a_sleeping_reader_with_a_busy_child(front: Callable[[str], Front]) -> None:
    one = front("import os\nprint('up', flush=True)\nif os.fork() == 0:\n while True: pass\nos.read(0, 1)")
    one.expect(b"up\r\n")
    wait_until(lambda: len(_children(one.pid)) == 1)
    assert all(one.look().evidence == "" for _ in range(300))
    for pid in _children(one.pid):
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda pid=pid: not exists(pid))  # type: ignore[misc]


def _children(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def test_a_terminal_whose_program_is_gone(front: Callable[[str], Front]) -> None:
    one = front("print('up')")
    one.expect(b"up\r\n")
    wait_until(lambda: not exists(one.pid))
    assert one.look(unfinished=True).evidence == ""


def test_eyes_that_are_closed(front: Callable[[str], Front]) -> None:
    one = front("import os; print('up'); os.read(0, 1)")
    one.expect(b"up\r\n")
    one.gaze.close()
    assert one.look().evidence == ""


def test_looking_leaves_nothing_open(front: Callable[[str], Front]) -> None:
    one = front("import os; print('up'); os.read(0, 1)")
    one.expect(b"up\r\n")
    first = len(os.listdir("/proc/self/fd"))
    wait_until(lambda: one.look().evidence == "exact")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(100):
        one.look()
    assert len(os.listdir("/proc/self/fd")) == before
    one.gaze.close()
    one.reader.peer.close()
    assert len(os.listdir("/proc/self/fd")) == first - 1  # the copy of the master, too


def test_a_program_that_becomes_another(front: Callable[[str], Front]) -> None:
    """What was kept open of the first one shows nothing of the second."""
    second = "import select, sys; print('> ', end='', flush=True); select.select([0], [], [])"
    code = f"import os, sys; input('? '); os.execv(sys.executable, [sys.executable, '-c', {second!r}])"
    one = front(code)
    one.expect(b"? ")
    wait_until(lambda: one.look(unfinished=True).evidence == "exact")
    os.write(one.master, b"go\n")
    one.expect(b"> ")
    wait_until(lambda: one.look(unfinished=True).evidence == "likely")


def test_the_same_read_of_something_else(front: Callable[[str], Front]) -> None:
    """The same call, with the same arguments, at the same place of the program, but not of the terminal."""
    one = front("import os\nfor _ in range(2):\n  print('up'); os.read(0, 9); os.dup2(os.pipe()[0], 0)")
    one.expect(b"up\r\n")
    wait_until(lambda: one.look().evidence == "exact")
    os.write(one.master, b"x\n")
    one.expect(b"x\r\nup\r\n")
    wait_until(lambda: "pipe" in _channel(one.pid) or _channel(one.pid) in ("0", ""))
    for _ in range(100):
        assert one.look(unfinished=True).evidence == ""


def _channel(pid: int) -> str:
    with open(f"/proc/{pid}/wchan") as file:
        return file.read()


def test_a_terminal_that_was_hung_up_for_us(front: Callable[[str], Front]) -> None:
    one = front("import os; print('up'); os.read(0, 1)")
    one.expect(b"up\r\n")
    wait_until(lambda: one.look().evidence == "exact")
    one.reader.peer.close()
    assert one.look().evidence == ""  # nobody waits behind an end that is closed
