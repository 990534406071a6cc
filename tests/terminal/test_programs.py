"""Real programs on a terminal: the screen shows what a person would see, the text what they would read."""

import io
import os
import shutil
import sys
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_exec import Command, Engine, Run, Terminal
from agent_exec.terminal.keys import translate
from agent_exec.terminal.picture import svg
from agent_exec.terminal.plain import NOTE, Plain
from agent_exec.terminal.recording import export
from agent_exec.terminal.screen import Screen
from support import python, wait_until


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


class Seen:
    """A program on a terminal, and somebody who looks at it and types."""

    def __init__(self, engine: Engine, argv: list[str], cwd: Path, term: str = "xterm-256color") -> None:
        kept = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "LESS", "COLUMNS"}}
        env = kept | {"TERM": term, "LC_ALL": "C.UTF-8", "HOME": str(cwd), "PS1": "$ "}
        self.chunks: deque[bytes] = deque()
        self.raw = b""
        self.given = ""
        self.plain = Plain(80)
        self.screen = Screen(24, 80, self.answer)
        self.run: Run | None = None
        self.run = engine.start(
            Command(
                argv,
                cwd=str(cwd),
                env=env,
                tty=True,
                size=Terminal(24, 80),
                on_output=lambda _, chunk: self.chunks.append(bytes(chunk)),
            )
        )

    def answer(self, data: bytes) -> None:
        if self.run is not None and not self.run.done:
            self.run.write(data)

    def look(self) -> str:
        while self.chunks:
            chunk = self.chunks.popleft()
            self.raw += chunk
            self.given += self.plain.feed(chunk)
            self.screen.feed(chunk)
        return self.screen.text()

    @property
    def text(self) -> str:
        self.look()
        return self.given + self.plain.peek()

    def press(self, keys: str) -> None:
        assert self.run is not None
        self.run.write(translate(keys, self.screen.application_keys))

    def until(self, *words: str) -> str:
        try:
            wait_until(lambda: all(word in self.look() for word in words))
        except AssertionError:
            raise AssertionError(f"{words} not on the screen:\n{self.look()}") from None
        return self.look()

    def end(self) -> None:
        assert self.run is not None
        self.run.outcome()
        self.look()


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine() as engine:
        yield engine


@needs("bash")
def test_bash_and_its_line_editor(engine: Engine, tmp_path: Path) -> None:
    seen = Seen(engine, ["bash", "--norc", "--noprofile", "-i"], tmp_path)
    seen.until("$")
    seen.press("echo one two")
    seen.until("$ echo one two")
    seen.press("<C-Left><C-w>X <C-a>true; <C-e><Enter>")
    # The line that was typed ends so too, before anything is printed.
    assert seen.until("X two\nX two\n").splitlines()[:2] == ["$ true; echo X two", "X two"]
    seen.press("<Up><Enter>")
    wait_until(lambda: seen.look().count("X two\n$") == 2)
    long = "echo " + "long " * 30
    seen.press(long)
    wait_until(lambda: seen.look().replace("\n", "").count("long") == 30)
    seen.press("<C-a><C-k>")
    wait_until(lambda: seen.look().endswith("\n$"))
    seen.press(f"{long}<Enter>")
    whole = f"$ {long}\n{long.removeprefix('echo ').rstrip()}\n$ "  # the prompt may come later than the rest
    wait_until(lambda: whole in seen.text)
    seen.press("exit 3<Enter>")
    seen.end()
    assert seen.run is not None
    assert seen.run.outcome().exit_code == 3
    assert seen.text.startswith("$ true; echo X two\nX two\n$ true; echo X two\nX two\n$ ")


def test_the_python_prompt(engine: Engine, tmp_path: Path) -> None:
    seen = Seen(engine, [sys.executable, "-q", "-E", "-s"], tmp_path)
    assert seen.until(">>>").strip() == ">>>"  # from 3.13 on, in the second row of an empty screen
    assert seen.screen.cursor[1] == 4
    seen.press("for n in range(2):<Enter>    print('n', n)<Enter><Enter>")
    seen.until("n 0\nn 1\n>>>")
    seen.press("1/0<Enter>")
    seen.until("ZeroDivisionError")
    seen.press("<C-d>")
    seen.end()
    assert "    print('n', n)\n..." in seen.text
    assert "\nn 0\nn 1\n>>> 1/0\n" in seen.text


@needs("less")
def test_less(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("".join(f"line {number}\n" for number in range(100)))
    seen = Seen(engine, ["less", "file"], tmp_path)
    text = seen.until("line 22")
    assert text.splitlines()[0] == "line 0"
    assert seen.screen.alternate
    seen.press("<Space>")
    assert seen.until("line 45").splitlines()[0] == "line 23"
    seen.press("<Up>")
    assert seen.until("line 22").splitlines()[0] == "line 22"
    seen.press("/line 77<Enter>")
    assert seen.until("line 77").splitlines()[0] == "line 77"
    assert any(span[3][2] for span in seen.screen.spans(0)), "what was found is marked"
    seen.press("q")
    seen.end()
    assert not seen.screen.alternate
    assert seen.text.strip() == NOTE


@needs("vim")
def test_vim(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "file.txt"
    file.write_text("first\nsecond\nthird\n")
    seen = Seen(engine, ["vim", "-u", "NONE", "-N", "file.txt"], tmp_path)
    text = seen.until("first", "file.txt")
    assert text.splitlines()[:5] == ["first", "second", "third", "~", "~"]
    seen.press("<Down>ccchanged wörld 日本<Esc>")
    seen.until("changed wörld 日本")
    seen.press("Gonew line<Esc>ggdd")
    seen.until("new line")
    wait_until(lambda: seen.look().startswith("changed wörld 日本\nthird\nnew line\n~"))
    seen.press(":s/changed/kept/<Enter>")
    wait_until(lambda: seen.look().startswith("kept wörld 日本\nthird"))
    root = svg(seen.screen)
    assert "kept wörld 日本" in root
    seen.press(":wq<Enter>")
    seen.end()
    assert file.read_text() == "kept wörld 日本\nthird\nnew line\n"
    assert seen.text.strip() == NOTE


@needs("top")
def test_top_redraws_one_page(engine: Engine, tmp_path: Path) -> None:
    seen = Seen(engine, ["top", "-d", "0.1"], tmp_path)
    seen.until("PID USER")
    wait_until(lambda: seen.look() and seen.raw.count(b"\x1b[H") >= 4)
    assert seen.look().startswith("top - ")
    seen.press("q")
    seen.end()
    assert seen.look().count("PID USER") == 1
    assert seen.text.count("PID USER") == 1, "the same page again is no new text"


@needs("top")
def test_top_in_batch_mode(engine: Engine, tmp_path: Path) -> None:
    seen = Seen(engine, ["top", "-b", "-n", "1"], tmp_path)
    seen.end()
    assert seen.text == seen.raw.decode().replace("\r\n", "\n")


def test_a_flood(engine: Engine, tmp_path: Path) -> None:
    seen = Seen(engine, ["seq", "200000"], tmp_path)
    seen.end()
    assert seen.text == "".join(f"{number}\n" for number in range(1, 200001))
    assert seen.look() == "\n".join(str(number) for number in range(199978, 200001))


BARS = """
import sys, time
out = sys.stdout
for step in range(101):
    out.write(f"\\r\\x1b[32m[{'#' * (step // 5):20}]\\x1b[0m {step}%"); out.flush()
print("\\ndone")
print("a\\nb")
for step in range(50):
    out.write(f"\\x1b[2A\\x1b[2Ka {step}\\n\\x1b[2Kb {step * 2}\\n"); out.flush()
out.write("working..."); out.flush(); out.write("\\r\\x1b[K"); print("end")
"""


def test_progress_bars(engine: Engine, tmp_path: Path) -> None:
    seen = Seen(engine, python(BARS), tmp_path)
    seen.end()
    expected = f"[{'#' * 20}] 100%\ndone\na 49\nb 98\nend\n"
    assert seen.text == expected
    assert seen.look() == expected.rstrip()
    file = io.StringIO()
    export(file, [(0.0, seen.raw)], 80, 24, timestamp=0, command="sh")
    assert file.getvalue().count("\n") == 2


@needs("node")
def test_node(engine: Engine, tmp_path: Path) -> None:
    seen = Seen(engine, ["node"], tmp_path)
    seen.until("\n>")
    seen.press("6 * 7<Enter>")
    seen.until("> 6 * 7\n42\n>")
    seen.press("[1, 2].map(x => x + 1)<Enter>")
    seen.until("[ 2, 3 ]\n>")
    seen.press(".exit<Enter>")
    seen.end()
    assert "> 6 * 7\n42\n> [1, 2].map(x => x + 1)\n[ 2, 3 ]\n" in seen.text


@needs("nano")
def test_nano(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("some words\n")
    seen = Seen(engine, ["nano", "--ignorercfiles", "notes"], tmp_path)
    lines = seen.until("some words", "Exit").splitlines()
    assert "notes" in lines[0]
    assert seen.screen.cursor[1] == 0
    seen.press("<End> more<C-o><Enter>")
    seen.until("some words more", "Wrote 1 line")
    seen.press("<C-x>")
    seen.end()
    assert (tmp_path / "notes").read_text() == "some words more\n"
