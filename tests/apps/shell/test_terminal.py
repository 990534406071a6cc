"""The program on a real terminal, typed into as a person does; and what is left when it is ended."""

import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli import PROGRAM
from support import exists, wait_until


class Terminal:
    """The program in tmux: keys go in, the screen can be read."""

    def __init__(self, folder: Path, home: Path, mark: str, program: str = f"{PROGRAM} shell") -> None:
        self.place = tempfile.mkdtemp(prefix="tmux-")  # short, for it is the path of a socket
        name, _, value = mark.partition("=")
        self.env = {
            "PATH": os.environ["PATH"],
            "TMUX_TMPDIR": self.place,
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "SHELL": "/bin/sh",  # that of the account may let nobody in
            "OX_ALLOW_SHELL": "1",
            "OX_SAFE_ENV": f"PATH,HOME,{name}",
            name: value,
        }
        self.tmux(
            "new-session",
            "-d",
            "-x",
            "80",
            "-y",
            "24",
            "-c",
            str(folder),
            f"{program}; echo EXIT=$?; cat",
        )

    def tmux(self, *words: str) -> str:
        out = subprocess.run(
            ["tmux", "-L", "agent-exec", "-f", "/dev/null", *words],
            env=self.env,
            capture_output=True,
            text=True,
            check=False,
        )
        return out.stdout

    def type(self, text: str) -> None:
        """Type a text; a newline is Enter."""
        for part in text.splitlines(keepends=True):
            self.tmux("send-keys", "-l", part.rstrip("\n"))
            if part.endswith("\n"):
                self.tmux("send-keys", "Enter")

    def press(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    @property
    def screen(self) -> str:
        return self.tmux("capture-pane", "-p")

    def sees(self, *texts: str) -> None:
        deadline = time.monotonic() + 30
        while not all(text in self.screen for text in texts):
            assert time.monotonic() < deadline, f"{texts} not seen:\n{self.screen}"
            time.sleep(0.02)

    def pid(self) -> int:
        """The process of the program."""
        shell = int(self.tmux("display-message", "-p", "#{pane_pid}"))
        children = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
        return int(children[0])

    def close(self) -> None:
        self.tmux("kill-server")
        shutil.rmtree(self.place, ignore_errors=True)


@pytest.fixture
def terminal(folder: Path, tmp_path: Path, nothing_left: str) -> Iterator[Terminal]:
    if not shutil.which("tmux"):
        pytest.skip("tmux is missing")
    (folder / "build.sh").write_text("#!/bin/sh\necho building; echo oops >&2\n")
    (folder / "build.sh").chmod(0o755)
    (folder / "wait.sh").write_text("#!/bin/sh\necho $$ > pid\nexec sleep 600\n")
    (folder / "wait.sh").chmod(0o755)
    found = Terminal(folder, tmp_path, nothing_left)
    yield found
    found.close()


def test_a_person_walks_runs_looks_and_leaves(terminal: Terminal, folder: Path) -> None:
    terminal.sees("~/project", "notes.txt", "/ command")
    terminal.press("End", "Up")
    terminal.type("/sh\t./bu\t")
    terminal.sees("/shell ./build.sh")
    terminal.type("\n")
    terminal.sees("✓ shell: exit=0", "stdout=building", "$ ./build.sh")
    terminal.press("C-o")
    terminal.sees("Esc close", "oops", "exit: 0 duration:")
    terminal.press("Escape")
    terminal.sees("/ command")
    terminal.type("/shell cat a;b\n")
    terminal.sees("連結演算子は禁止 (joining operators are forbidden)")
    terminal.type("/jobs\n")
    terminal.sees("no jobs yet")
    terminal.press("Escape")
    terminal.sees("/ command")
    terminal.type("?")
    terminal.sees("Esc closes")
    terminal.press("q")
    terminal.sees("/ command")
    terminal.tmux("resize-window", "-x", "120", "-y", "40")
    terminal.sees("notes.txt")
    terminal.press("C-q")
    terminal.sees("EXIT=0")
    terminal.type("echo the terminal is well\n")  # cat repeats it: the terminal is as it was
    terminal.sees("the terminal is well")


def running(terminal: Terminal, folder: Path) -> int:
    """Have a command run; return its pid."""
    terminal.sees("/ command")
    terminal.type("/shell ./wait.sh\n")
    file = folder / "pid"
    wait_until(lambda: file.exists() and file.read_text().strip())
    return int(file.read_text())


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT", "SIGKILL"])
def test_nothing_outlives_a_program_that_is_ended(terminal: Terminal, folder: Path, name: str) -> None:
    child = running(terminal, folder)
    number = signal.Signals[name]
    os.kill(terminal.pid(), number)
    wait_until(lambda: not exists(child))
    if number != signal.SIGKILL:
        terminal.sees(f"EXIT={128 + number}")
        assert "\x1b" not in terminal.screen


def test_nothing_outlives_its_terminal(terminal: Terminal, folder: Path) -> None:
    child, program = running(terminal, folder), terminal.pid()
    terminal.close()
    wait_until(lambda: not exists(child))
    wait_until(lambda: not exists(program))


def test_an_error_of_ours_leaves_the_terminal_as_it_was(
    folder: Path, tmp_path: Path, nothing_left: str
) -> None:
    if not shutil.which("tmux"):
        pytest.skip("tmux is missing")
    (folder / "wait.sh").write_text("#!/bin/sh\necho $$ > pid\nexec sleep 600\n")
    (folder / "wait.sh").chmod(0o755)
    (tmp_path / "wrong.py").write_text(
        "from agent_exec.apps.shell.panes.filepane import FilePane\n"
        "def wrong(self): raise RuntimeError('a mistake of ours')\n"
        "FilePane.action_hidden = wrong\n"
        "from agent_exec.apps.main import main\n"
        "main(['shell'])\n"
    )
    terminal = Terminal(folder, tmp_path, nothing_left, f"{sys.executable} {tmp_path}/wrong.py")
    try:
        child = running(terminal, folder)
        terminal.sees("$ ./wait.sh")
        terminal.press("h")
        terminal.sees("RuntimeError: a mistake of ours", "EXIT=1")
        assert not exists(child)
        terminal.type("echo the terminal is well\n")
        terminal.sees("the terminal is well")
    finally:
        terminal.close()


def test_quitting_while_something_runs(terminal: Terminal, folder: Path) -> None:
    child = running(terminal, folder)
    terminal.press("C-q")
    terminal.sees("a command runs")
    terminal.type("y")
    terminal.sees("EXIT=0")
    assert not exists(child)


def test_a_terminal_that_hangs_up_is_no_reason_to_stay(
    folder: Path, tmp_path: Path, nothing_left: str
) -> None:
    """Without tmux: the other end of the terminal is closed."""
    name, _, value = nothing_left.partition("=")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "xterm", name: value}
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        [PROGRAM, "shell", str(folder)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=env,
        start_new_session=True,
        preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)),  # noqa: PLW1509
    )
    os.close(theirs)
    os.set_blocking(ours, False)
    seen = b""

    def shown() -> bool:
        nonlocal seen
        try:
            seen += os.read(ours, 65536)
        except BlockingIOError:
            pass
        return b"notes.txt" in seen

    wait_until(shown)
    os.close(ours)
    assert program.wait(30) is not None
