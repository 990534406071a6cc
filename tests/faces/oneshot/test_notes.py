"""What an answer of exec_command says beside its nine fields: a hidden failure, the processes that were ended."""

import shutil

import pytest

from agent_exec.faces.oneshot.kit import Toolkit
from agent_exec.faces.oneshot.text import text_of
from agent_exec.model.choices import ShellMode
from faces.oneshot.seen import data

MODES = pytest.mark.parametrize("mode", ["default", "direct"])


@MODES
@pytest.mark.skipif(not shutil.which("bash"), reason="only bash reports it")
def test_a_failure_that_the_exit_code_hides_is_noted(kit: Toolkit, mode: ShellMode) -> None:
    words = ["bash", "-c", "(echo out; echo err >&2; exit 3) | cat"]
    answer = kit.exec_command(".", words, shell_mode=mode)
    told = data(answer)
    assert (told["exit_code"], told["stdout"], told["stderr"]) == (0, "out\n", "err\n")
    assert told["notes"] == ["the exit code is that of the last command; in a pipeline, others failed: 3 | 0"]
    assert told["notes"][0] in text_of("exec_command", answer)
    assert "notes" not in data(kit.exec_command(".", ["bash", "-c", "true | cat"], shell_mode=mode))


def test_a_timeout_counts_the_processes(kit: Toolkit) -> None:
    words = ["sh", "-c", "sleep 600 & sleep 600 & wait"]
    told = data(kit.exec_command(".", words, shell_mode="direct", timeout_ms=300))
    assert (told["timed_out"], told["notes"]) == (True, ["3 processes ended, 0 left"])
