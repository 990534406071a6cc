"""What was typed: kept for the next time, whoever else writes, and whatever is in the file."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from agent_exec.faces.slash import history
from agent_exec.faces.slash.history import History
from agent_exec.host import FileLock


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "history")


def test_s19_lines_are_there_the_next_time(file: str) -> None:
    first = History(file)
    lines = ["/shell ls", "/shell 日本 '\"\\", "/shell ls"]
    for line in [
        *lines,
        "/shell ls",
        "",
        "  ",
        "x" * 40_000,
        "/shell a\nb",
        "/shell \x1b[2J",
        "/shell \udcff",
    ]:
        first.add(line)
    assert first.lines == lines
    assert History(file).lines == lines
    assert first.problem == ""
    assert len(Path(file).read_bytes().splitlines()) == len(lines)


def test_s19_the_file_is_for_us_alone(file: str) -> None:
    History(file).add("/shell a")
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(file)).st_mode) == 0o700
    os.chmod(file, 0o666)
    History(file).add("/shell b")
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


def test_s19_it_has_an_end(file: str) -> None:
    first = History(file, most=10)
    for number in range(100):
        first.add(f"/shell {number}")
    assert first.lines == [f"/shell {number}" for number in range(90, 100)]
    assert History(file, most=10).lines == first.lines
    assert len(Path(file).read_text().splitlines()) == 10
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert sorted(os.listdir(os.path.dirname(file))) == ["history", "history.lock"]


@pytest.mark.parametrize(
    "bad",
    [b'"torn', b"\xff\xfe", b"{}", b"null", b"[" * 100_000, b"", b"\0" * 100, b'"' + b"x" * 40_000 + b'"'],
)
def test_s19_what_cannot_be_read_is_passed_over(file: str, bad: bytes) -> None:
    os.makedirs(os.path.dirname(file))
    Path(file).write_bytes(b'"/shell a"\n' + bad + b'\n"/shell b"\n' + bad)
    found = History(file)
    assert found.lines == ["/shell a", "/shell b"]
    found.add("/shell c")
    assert History(file).lines == ["/shell a", "/shell b", "/shell c"]


def test_s19_several_programs_write_at_once(file: str) -> None:
    code = (
        "import sys; from agent_exec.faces.slash.history import History\n"
        "for n in range(100): History(sys.argv[1], most=1000).add(f'/shell {sys.argv[2]} {n}')"
    )
    programs = [subprocess.Popen([sys.executable, "-c", code, file, str(one)]) for one in range(3)]
    assert [program.wait() for program in programs] == [0, 0, 0]
    found = History(file).lines
    assert sorted(found) == sorted(f"/shell {one} {n}" for one in range(3) for n in range(100))


def test_s19_none_is_lost_while_another_makes_it_shorter(file: str) -> None:
    code = (
        "import sys; from agent_exec.faces.slash.history import History\n"
        "for n in range(60): History(sys.argv[1], most=50).add(f'/shell {n}')"
    )
    program = subprocess.Popen([sys.executable, "-c", code, file])
    for number in range(60):
        mine = History(file, most=50)
        mine.add(f"/mine {number}")
    assert program.wait() == 0
    last = History(file, most=50).lines
    assert len(last) == 50
    for who in ("/mine", "/shell"):
        numbers = [int(line.split()[1]) for line in last if line.startswith(who)]
        assert numbers == list(range(60 - len(numbers), 60))


def test_s19_without_a_file_it_works_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "history")
    (tmp_path / "file").touch()
    for place in (
        str(tmp_path),
        str(tmp_path / "file" / "history"),
        str(tmp_path / "pipe" / "history"),
        "/proc/none/x",
    ):
        found = History(place)
        assert "the history is not kept" in found.problem
        found.add("/shell a")
        assert found.lines == ["/shell a"]
    memory = History()
    memory.add("/shell a")
    assert (memory.lines, memory.problem) == (["/shell a"], "")


def test_s19_a_lock_that_is_never_freed_costs_a_moment(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "_PATIENCE", 0.01)
    os.makedirs(os.path.dirname(file))
    lock = FileLock(f"{file}.lock")
    assert lock.acquire()
    try:
        History(file).add("/shell a")
        assert History(file).lines == ["/shell a"]
    finally:
        lock.release()


def test_s19_back_and_forth(file: str) -> None:
    found = History()
    for line in ("/a", "/b", "/c"):
        found.add(line)
    walk = found.walk()
    assert [walk.older("/dra"), walk.older("/c"), walk.older("/b"), walk.older("/a")] == [
        "/c",
        "/b",
        "/a",
        "/a",
    ]
    assert [walk.newer("/a"), walk.newer("/b"), walk.newer("/c"), walk.newer("/dra")] == [
        "/b",
        "/c",
        "/dra",
        "/dra",
    ]
    assert walk.older("/other") == "/c"
    assert walk.newer("/c") == "/other"
    empty = History().walk()
    assert (empty.older("/x"), empty.newer("/x")) == ("/x", "/x")
