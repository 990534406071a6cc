"""After each test nothing is left: no child, no descriptor, no thread, no process that bears its mark."""

import os
import signal
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_exec.engine.engine import close_shared
from cli import Cli, warmed
from programs import install_hint
from support import descriptors, newest_pid, own_children, pids_since, processes_marked, wait_until


# A script's background jobs, and whatever runs under nohup, begin with these ignored; what we start would inherit that.
def hear_signals() -> None:
    """Heed what a caller such as nohup has us ignore; before each test, for a loop of events may put it back."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


hear_signals()


def pytest_runtest_setup() -> None:
    hear_signals()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line why tests were skipped, and in another how to install the programs that some of them need."""
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )
    if reasons:
        counted = "; ".join(f"{count} because {reason}" for reason, count in reasons.most_common())
        terminalreporter.write_line(f"skipped: {counted}")
    if hint := install_hint():
        terminalreporter.write_line(hint)


@pytest.fixture(autouse=True)
def nothing_left(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    mark = f"AGENT_EXEC_TEST={uuid.uuid4().hex}"
    monkeypatch.setenv(*mark.split("="))
    close_shared()
    before = descriptors(), set(threading.enumerate()), own_children()
    newest = newest_pid()
    yield mark
    close_shared()
    if newest_pid() != newest:  # else nothing was started
        gone = wait_until(lambda: not processes_marked(mark, pids_since(newest)), fail=False)
        assert gone, f"processes left behind: {processes_marked(mark)}"
    wait_until(
        lambda: set(threading.enumerate()) == before[1], fail=False
    )  # those told to end may take a moment
    after = descriptors(), set(threading.enumerate()), own_children()
    assert after[0] == before[0], "descriptors left behind"
    assert after[1] == before[1], "threads left behind"
    assert after[2] == before[2], "children left behind"
    assert os.getcwd()


@pytest.fixture(scope="session")
def warm_cli() -> Iterator[None]:
    with warmed():
        yield


@pytest.fixture
def cli(warm_cli: None, nothing_left: str, tmp_path: Path) -> Iterator[Cli]:
    """The installed program with a store and a working directory of its own."""
    work = tmp_path / "work"
    work.mkdir()
    program = Cli(tmp_path / "jobs", work)
    yield program
    program.close()
