"""A failure that a pipeline masks is pointed out, in boxes too, and nothing else of the command changes."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_exec.requests.shells import Pipeline
from agent_exec.sandbox.profile import Profile
from faces.session.calling import Caller

pytestmark = pytest.mark.skipif(not shutil.which("bash"), reason="only bash tells")


def notes(call: Caller, cmd: str, **given: object) -> list[str]:
    told = call.run(cmd, shell="bash", **given)
    return [note for note in told.get("notes", []) if "last command" in note]


@pytest.mark.parametrize("login", [False, True])
@pytest.mark.parametrize("tty", [False, True])
def test_a_first_part_that_failed_is_reported(call: Caller, login: bool, tty: bool) -> None:
    (note,) = notes(call, "(exit 3) | cat | tail -1", login=login, tty=tty)
    assert note.endswith("others failed: 3 | 0 | 0")


@pytest.mark.parametrize(
    "cmd",
    [
        "true | cat",
        "yes | head -1",
        "false | false",
        "set -o pipefail; false | cat",
        "echo 'a | b'",
        "exec cat /dev/null | cat",
        "if false; then true; fi; echo no",
        "false && true; echo no",
        "! false; true",
        "set -x; false | cat",
        "false; exit 3",
        "for one in 1 2; do true; done",
    ],
)
def test_what_did_not_fail_or_is_no_secret_is_not_reported(call: Caller, cmd: str) -> None:
    assert notes(call, cmd) == []


@pytest.mark.parametrize(
    "profile", [Profile("full-access"), Profile("workspace-write")], ids=lambda one: one.name
)
@pytest.mark.parametrize("tty", [False, True])
def test_a_first_part_that_failed_in_a_box_is_reported(
    opened: Callable[..., Caller], work: Path, profile: Profile, tty: bool
) -> None:
    call = opened(sandbox=profile.replace(roots=(str(work),)))
    told = call.run("(exit 3) | cat; (echo out; echo err >&2; exit 2) | tail -1", shell="bash", tty=tty)
    assert [note for note in told["notes"] if note.endswith("others failed: 2 | 0")]
    assert told["exit_code"] == 0
    assert sorted(told["output"].split()) == ["err", "out"], "what reports it is no output"


def test_a_report_is_taken_out_of_any_chunks() -> None:
    said = b"before\x1b]0;title\x07\x1b]agent-exec;pipeline;3;0\x07after\x1b]"
    for size in range(1, len(said)):
        pipeline = Pipeline()
        pieces = [pipeline.strip(said[at : at + size]) for at in range(0, len(said), size)]
        assert b"".join([*pieces, pipeline.rest()]) == b"before\x1b]0;title\x07after\x1b]"
        assert pipeline.statuses == (3, 0)
    for other in (b"\x1b]agent-exec;pipeline;x\x07", b"\x1b]agent-exec;pipeline;" + b"1" * 400):
        pipeline = Pipeline()
        assert pipeline.strip(other) + pipeline.rest() == other
        assert pipeline.notes(0) == []


def test_nothing_of_it_reaches_further_shells(call: Caller) -> None:
    told = call.run("bash -c 'echo [$BASH_ENV]; trap' | cat; trap -p | cat; exit 0", shell="bash")
    assert told["output"].startswith("[]\n")


def test_an_exit_code_and_a_trap_of_the_command_are_its_own(call: Caller) -> None:
    assert call.run("false | true; exit 7", shell="bash")["exit_code"] == 7
    told = call.run("trap 'echo mine' EXIT; false | true", shell="bash")
    assert (told["output"], told["exit_code"]) == ("mine\n", 0)


@pytest.mark.parametrize(
    ("cmd", "said"),
    [
        ("(exit 3) | cat; echo after", "in a pipeline, others failed: 3 | 0"),
        ("(exit 3) | cat || true", "in a pipeline, others failed: 3 | 0"),
        ("yes | head -1; (exit 3); echo after", "an earlier one ended with 3"),
        ("(exit 3) || true", "an earlier one ended with 3"),
        ("(exit 3) || :", "an earlier one ended with 3"),
        ("(exit 3); echo after", "an earlier one ended with 3"),
        ("(exit 3)\necho after", "an earlier one ended with 3"),
        ("IFS=,; (exit 3) | cat", "in a pipeline, others failed: 3 | 0"),
        ("set -eu; (exit 3) | cat", "in a pipeline, others failed: 3 | 0"),
    ],
)
def test_an_earlier_failure_that_the_exit_code_hides_is_reported(call: Caller, cmd: str, said: str) -> None:
    told = call.run(cmd, shell="bash", separate_streams=True)
    assert (told["exit_code"], told["streams"]["stderr"]) == (0, "")
    assert [note for note in told["notes"] if note.endswith(said)]
