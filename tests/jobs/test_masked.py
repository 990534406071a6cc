"""A failure that an exit code hides is in the record of a job, and what reports it is not in its output."""

import shutil

import pytest

from cli import Cli

pytestmark = pytest.mark.skipif(not shutil.which("bash"), reason="only bash reports it")


@pytest.mark.parametrize("box", [(), ("--sandbox", "workspace-write")], ids=["free", "boxed"])
@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("(echo out; echo err >&2; exit 3) | cat", "in a pipeline, others failed: 3 | 0"),
        ("echo out; echo err >&2; (exit 3) || true", "an earlier one ended with 3"),
        ("(exit 3); echo out; echo err >&2", "an earlier one ended with 3"),
    ],
)
def test_a_hidden_failure_is_recorded(cli: Cli, box: tuple[str, ...], line: str, said: str) -> None:
    told = cli("run", *box, "--", "bash", "-c", line)
    assert (told["exit_code"], told["stdout"], told["stderr"]) == (0, "out\n", "err\n")
    assert told["note"].endswith(said)
    assert cli("status", told["job_id"])["note"] == told["note"]
    assert cli("wait", told["job_id"])["note"] == told["note"]


@pytest.mark.parametrize(
    "words",
    [
        ["bash", "-c", "true | cat; echo out"],
        ["bash", "-xc", "false | cat"],
        ["bash", "-c", "false | cat; exit 3"],
        ["sh", "-c", "false | cat"],
        ["echo", "bash", "-c", "a | b"],
    ],
)
def test_where_nothing_is_hidden_or_known_nothing_is_said(cli: Cli, words: list[str]) -> None:
    told = cli("run", "--", *words)
    assert "note" not in told
    assert "agent-exec" not in told["stderr"]


def test_output_that_looks_like_the_beginning_of_a_report_is_kept(cli: Cli) -> None:
    told = cli("run", "--", "bash", "-c", "printf '\\033]agent-exec;pipe' >&2; trap - EXIT; true | true")
    assert told["stderr"] == "\x1b]agent-exec;pipe"
    assert told["stderr_total_bytes"] == len("\x1b]agent-exec;pipe")


def test_a_variable_of_the_caller_is_not_replaced(cli: Cli) -> None:
    told = cli("run", "--env", "BASH_ENV=/dev/null", "--", "bash", "-c", "echo $BASH_ENV; false | true")
    assert (told["stdout"], "note" in told) == ("/dev/null\n", False)
