"""What the tests of the slash contract share: typing a line and waiting for its end."""

from pathlib import Path
from typing import Any, Protocol

from agent_exec.faces.slash.core import ShellExecution, SlashCore
from agent_exec.faces.slash.feedback import SlashFeedback
from agent_exec.faces.slash.line import words_in
from agent_exec.faces.slash.permission import ShellPermission
from agent_exec.faces.slash.view import ShellExecutionResult, ShellOutputView

FORBIDDEN = SlashFeedback("連結演算子は禁止 (joining operators are forbidden)", "Error")


class MakeCore(Protocol):
    def __call__(self, permission: ShellPermission | None = None, **terms: Any) -> SlashCore: ...


def start(core: SlashCore, line: str, folder: Path) -> ShellExecution:
    """Submit a command that must be accepted."""
    answer = core.submit(line, str(folder))
    assert answer.execution is not None, answer
    return answer.execution


def run(core: SlashCore, line: str, folder: Path) -> ShellExecutionResult:
    """Submit a command that must run, and wait for its end."""
    execution = start(core, line, folder)
    assert execution.wait(60)
    assert execution.result is not None, execution.feedback
    return execution.result


def refused(core: SlashCore, line: str, folder: Path) -> SlashFeedback:
    """Submit a command that must be refused."""
    answer = core.submit(line, str(folder))
    assert answer.execution is None
    assert answer.feedback is not None
    return answer.feedback


def script(folder: Path, name: str, text: str) -> None:
    """Put a program into a folder."""
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


def texts(view: ShellOutputView) -> list[str]:
    """Return the lines of a view."""
    return [line.text for line in view.snapshot().lines]


def split(line: str) -> list[str]:
    """Return the words of a line as text."""
    return [word.text for word in words_in(line)]
