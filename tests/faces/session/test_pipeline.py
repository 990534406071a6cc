"""Issue 6, better 6: a masked failure is pointed out."""

import shutil

import pytest

from faces.session.calling import Caller

pytestmark = pytest.mark.skipif(not shutil.which("bash"), reason="only bash tells")


def notes(call: Caller, cmd: str, **given: object) -> list[str]:
    told = call.run(cmd, shell="bash", **given)
    return [note for note in told.get("notes", []) if "pipeline" in note]


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
        "false | cat; echo after",
        "exec cat /dev/null | cat",
    ],
)
def test_what_did_not_fail_or_is_no_secret_is_not_reported(call: Caller, cmd: str) -> None:
    assert notes(call, cmd) == []


def test_nothing_of_it_reaches_further_shells(call: Caller) -> None:
    told = call.run("bash -c 'echo [$BASH_ENV]; trap' | cat; trap -p | cat; exit 0", shell="bash")
    assert told["output"].startswith("[]\n")


def test_an_exit_code_and_a_trap_of_the_command_are_its_own(call: Caller) -> None:
    assert call.run("false | true; exit 7", shell="bash")["exit_code"] == 7
    told = call.run("trap 'echo mine' EXIT; false | true", shell="bash")
    assert (told["output"], told["exit_code"]) == ("mine\n", 0)
