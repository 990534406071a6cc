"""What the executor's tests share: a logger that remembers, and commands that are on the lists."""

from collections.abc import Callable, Iterable

from agent_exec.faces.executor.config import CommandExecutorConfig
from agent_exec.faces.executor.executor import CommandExecutor
from agent_exec.faces.executor.lists import WHITELIST, CommandLists
from agent_exec.faces.executor.result import CommandExecutionResult

MISSING = "no-such-program-anywhere"
LISTS = CommandLists((*WHITELIST, MISSING, "sh", "sleep", "true"))

DEAF = "import os, signal, time; signal.signal(15, signal.SIG_IGN); os.write(1, b'deaf'); time.sleep(600)"
"""A program that does not hear the polite signal."""
ENDLESS = "import os, time; os.write(1, b'on'); time.sleep(600)"


class Recorder:
    """A logger that remembers its lines as (level, text)."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def info(self, message: str) -> None:
        self.lines.append(("info", message))

    def debug(self, message: str) -> None:
        self.lines.append(("debug", message))

    def error(self, message: str) -> None:
        self.lines.append(("error", message))

    def at(self, level: str) -> list[str]:
        return [text for kind, text in self.lines if kind == level]


def made(logger: Recorder | None = None, **terms: object) -> CommandExecutor:
    """Return an executor that knows a few commands more, and has little patience."""
    terms = {"policy": LISTS, "kill_timeout": 200, **terms}
    return CommandExecutor(logger, CommandExecutorConfig(**terms))  # type: ignore[arg-type]


def python(executor: CommandExecutor, code: str, *args: str, **terms: object) -> CommandExecutionResult:
    """Run a small Python program."""
    return executor.execute_command("python3", ["-IS", "-c", code, *args], **terms)  # type: ignore[arg-type]


def in_time(
    attempt: Callable[[int], CommandExecutionResult], fair: Callable[[], bool] = lambda: True
) -> CommandExecutionResult:
    """Give the result of an attempt that had the time to print something before its timeout, however slow we are.

    `fair` may look whether it really was before.
    """
    for timeout in (400, 2000, 10000, 60000):
        out = attempt(timeout)
        if out.output and fair():
            return out
    raise AssertionError("there is no time in which this prints anything")


def each(cases: Iterable[object]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Make one test of many small cases: looking for what a test has left costs more than they do.

    A tuple is several arguments.
    """

    def one(test: Callable[..., None]) -> Callable[[], None]:
        def all_of_them() -> None:
            for case in cases:
                try:
                    test(*case) if isinstance(case, tuple) else test(case)
                except BaseException as error:
                    error.add_note(f"case: {case!r}")
                    raise

        all_of_them.__name__ = test.__name__
        all_of_them.__doc__ = test.__doc__
        return all_of_them

    return one
