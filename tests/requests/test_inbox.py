"""The approval inbox: the first answer wins, what is killed leaves no question, and all that fails refuses."""

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agent_exec
from agent_exec import Cancel, Inbox, Policy, Request, Rule, Verdict
from agent_exec.model.errors import (
    ApprovalRequired,
    InvalidArgument,
    InvalidState,
    QuestionNotFound,
    StoreFailed,
)
from agent_exec.requests import inbox_folder
from agent_exec.requests.gate import Gate
from agent_exec.requests.inbox import Question
from support import wait_until

RULES = Policy([Rule(["git", "push"], "ask", reason="others see it", source="r.toml:7")])
ASKED = Request(("git", "push"), "/work", RULES.judge(["git", "push"]), ())
ASK = """
import sys
from agent_exec import Inbox, Policy, Rule
from agent_exec.requests.gate import Gate
Gate(Policy([Rule(["git"], "ask")]), approver=Inbox()).admit(["git", "push"])
"""
WATCH = """
from agent_exec.requests.inbox_folder import watch
for event in watch(present=True):
    print(event["kind"], event["id"], event.get("by"), flush=True)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of an inbox of this test's own."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "agent-exec" / "approvals"


def python(code: str) -> list[str]:
    """Return the argv of a program of this package's users."""
    return [sys.executable, "-c", code]


class Asking:
    """A command that asks in a thread; `result` is what came of it."""

    def __init__(
        self, approver: Callable[[Request], str], command: "tuple[str, ...]" = ("git", "push")
    ) -> None:
        self.result: object = None
        self._gate = Gate(RULES, approver=approver)
        self._command = command
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        try:
            self._gate.admit(self._command, "/work")
            self.result = "ran"
        except ApprovalRequired as error:
            self.result = error

    def end(self) -> str:
        """Wait for the result; return it as a text."""
        self._thread.join(20)
        assert not self._thread.is_alive()
        return str(self.result)


def question() -> str:
    """Wait until one question waits; return its id."""
    wait_until(inbox_folder.waiting)
    (one,) = inbox_folder.waiting()
    return str(one["id"])


def left(folder: Path) -> list[str]:
    """Return the files in the inbox that are neither an answer nor a watcher's."""
    return [name for name in os.listdir(folder) if not name.endswith(".answer")]


@pytest.mark.parametrize("answer", ["once", "session", "no"])
def test_an_answer_reaches_the_asker(folder: Path, answer: str) -> None:
    asking = Asking(Inbox())
    one = question()
    assert inbox_folder.answer(one[:6], answer, "cli")["command"] == "git push"
    assert asking.end() == "ran" if answer != "no" else "the answer was no" in asking.end()
    assert left(folder) == []
    assert inbox_folder.waiting() == []


def test_the_folder_is_private(folder: Path) -> None:
    with Inbox().post(ASKED):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(one.stat().st_mode) for one in folder.iterdir()} == {0o600}


def test_of_two_answers_at_once_exactly_one_wins() -> None:
    for _ in range(50):
        said: list[object] = []
        start = threading.Barrier(2)

        def give(answer: str, said: list[object] = said, start: threading.Barrier = start) -> None:
            start.wait()
            try:
                inbox_folder.answer(posted.id, answer, f"door-{answer}")
                said.append(answer)
            except InvalidState as error:
                said.append(error)

        with Inbox().post(ASKED) as posted:
            doors = [threading.Thread(target=give, args=(answer,)) for answer in ("once", "no")]
            for one in doors:
                one.start()
            for one in doors:
                one.join()
            found = posted.wait()
        assert found is not None
        won, lost = sorted(said, key=lambda one: isinstance(one, InvalidState))
        assert found.answer == won
        assert isinstance(lost, InvalidState)
        assert lost.details == {"question_id": posted.id, "answer": won, "by": f"door-{won}"}
        assert f"the answer {won!r} came first, by door-{won}" in lost.message


def test_an_answer_after_the_end_says_how_it_ended() -> None:
    with Inbox().post(ASKED) as posted:
        inbox_folder.answer(posted.id, "once", "http")
    with pytest.raises(InvalidState, match="'once' came first, by http"):
        inbox_folder.answer(posted.id, "no", "cli")
    with Inbox().post(ASKED) as withdrawn:
        pass
    with pytest.raises(InvalidState, match="its command was cancelled"):
        inbox_folder.answer(withdrawn.id, "once", "cli")


def test_the_deadline_refuses() -> None:
    with pytest.raises(
        ApprovalRequired, match=r"others see it\. No answer came within 0\.05 s; try again when"
    ):
        Gate(RULES, approver=Inbox(0.05)).admit(["git", "push"])
    assert inbox_folder.waiting() == []


def test_a_question_past_its_deadline_is_not_shown_and_takes_no_answer() -> None:
    with Inbox(0.01).post(ASKED) as posted:
        wait_until(lambda: not inbox_folder.waiting())
        with pytest.raises(QuestionNotFound, match="agent-exec approvals"):
            inbox_folder.answer(posted.id, "once", "cli")


def test_a_cancelled_call_withdraws_its_question(folder: Path) -> None:
    cancel = Cancel()
    asking = Asking(Inbox(cancel=lambda: cancel))
    one = question()
    cancel.set()
    assert "the answer was no" in asking.end()
    assert left(folder) == []
    with pytest.raises(InvalidState, match="cancelled"):
        inbox_folder.answer(one, "once", "cli")


def test_the_question_of_a_killed_asker_is_removed_and_watchers_hear_of_it(folder: Path) -> None:
    with (
        subprocess.Popen(python(ASK)) as asker,
        subprocess.Popen(python(WATCH), stdout=subprocess.PIPE, text=True) as watcher,
    ):
        assert watcher.stdout is not None
        try:
            one = question()
            assert watcher.stdout.readline() == f"approval.asked {one} None\n"
            asker.kill()
            asker.wait()
            assert watcher.stdout.readline() == f"approval.answered {one} None\n"
            with pytest.raises(QuestionNotFound):
                inbox_folder.answer(one, "once", "cli")
            # A file that was being written is swept later.
            assert [name for name in left(folder) if not name.endswith((".watch", ".new"))] == []
        finally:
            asker.kill()
            watcher.kill()


def test_a_killed_watcher_is_no_longer_there() -> None:
    asker = Inbox(watched=True)
    assert not asker.reachable
    with subprocess.Popen(python(WATCH), stdout=subprocess.DEVNULL) as watcher:
        try:
            wait_until(lambda: asker.reachable)
        finally:
            watcher.kill()
    wait_until(lambda: not asker.reachable)
    with pytest.raises(ApprovalRequired, match=r"others see it\. The approval inbox is not watched"):
        Gate(RULES, approver=asker).admit(["git", "push"])
    assert inbox_folder.waiting() == []


def test_a_watcher_that_ends_leaves_nothing(folder: Path) -> None:
    with subprocess.Popen(python(WATCH), stdout=subprocess.DEVNULL) as watcher:
        try:
            wait_until(inbox_folder.is_watched)
            watcher.send_signal(signal.SIGINT)
            watcher.wait(20)
        finally:
            watcher.kill()
    assert os.listdir(folder) == []


def test_only_what_is_offered_can_be_answered() -> None:
    with Inbox().post(ASKED) as posted:
        for answer in ("always", "yes", "", "ONCE"):
            with pytest.raises(InvalidArgument, match="must be one of once, session, no; got"):
                inbox_folder.answer(posted.id, answer, "cli")
        assert posted.answer is None


@pytest.mark.parametrize("named", ["", "zz", "../../x", "*", "\0", "x" * 5000])
def test_ids_that_do_not_exist(named: str) -> None:
    with Inbox().post(ASKED), pytest.raises(QuestionNotFound):
        inbox_folder.answer(named, "once", "cli")


def test_a_part_of_an_id_must_name_one_question() -> None:
    with Inbox().post(ASKED) as first, Inbox().post(ASKED) as second:
        common = set(first.id) & set(second.id)
        for one in (first.id[:9], first.id[-9:], first.id.upper()):
            assert inbox_folder.find(one)[0] == first.id
        for part in common:
            if all(one.startswith(part) or one.endswith(part) for one in (first.id, second.id)):
                with pytest.raises(InvalidArgument, match="several questions"):
                    inbox_folder.find(part)


def hostile() -> Request:
    """Return a request whose texts try to look like ours."""
    command = ("echo", "a\x1b[2J\u202eb\r", "\nIt is asked for because: it is harmless.", "\udcff")
    verdict = Verdict("ask", reason="x\nRun this command? \x1b[31m", rule=RULES.rules[0])
    return Request(command, "/w\n/x", verdict, (), env_names=("A\nB",), stdin=b"\x1b]0;t\x07\xff" * 1000)


def test_what_a_person_sees_hides_nothing() -> None:
    with Inbox(server="mcp").post(hostile(), client="cl\x1bient"):
        (shown,) = inbox_folder.waiting()
    assert shown["argv"] == list(hostile().command)
    assert shown["rule"] == "r.toml:7"
    assert shown["answers"] == ["once", "no"]
    assert shown["once"]
    assert shown["stdin_bytes"] == 7000
    assert shown["env_names"] == ["A\\nB"]
    assert shown["cwd"] == "/w\\n/x"
    assert "\\x1b[2J\\u202eb\\r" in shown["command"]
    assert "\n    It is asked for because: it is harmless." in shown["text"]
    for name, value in shown.items():
        if isinstance(value, str):
            assert all(one.isprintable() or one in "\n\t" for one in value), name


@pytest.fixture
def not_ours(folder: Path) -> Path:
    """Return an inbox that others can enter."""
    folder.mkdir(parents=True, mode=0o755)
    folder.chmod(0o755)
    return folder


def test_a_folder_that_others_can_enter_is_refused(not_ours: Path) -> None:
    with pytest.raises(ApprovalRequired, match=f"The question was not posted: .*chmod 700 {not_ours}"):
        Gate(RULES, approver=Inbox()).admit(["git", "push"])
    with pytest.raises(StoreFailed, match="others cannot enter"):
        inbox_folder.waiting()
    assert not Inbox(watched=True).reachable
    not_ours.chmod(0o700)
    assert inbox_folder.waiting() == []


def test_a_link_in_its_place_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.parent.mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreFailed):
        inbox_folder.waiting()


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives folders away")
def test_a_folder_of_another_user_is_refused(folder: Path) -> None:
    folder.mkdir(parents=True, mode=0o700)
    os.chown(folder, 12345, 12345)
    with pytest.raises(StoreFailed):
        inbox_folder.waiting()


def test_a_full_disk_refuses_the_command(folder: Path) -> None:
    code = f"""
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8))
try:
{"".join("    " + line + chr(10) for line in ASK.strip().splitlines())}
except Exception as error:
    print(type(error).__name__, error)
"""
    said = subprocess.run(python(code), capture_output=True, text=True, check=True, timeout=60).stdout
    assert said.startswith("ApprovalRequired this command needs approval"), said
    assert f"The question could not be written to {folder}: " in said
    assert left(folder) == []


def test_what_is_no_question_is_left_alone(folder: Path) -> None:
    with Inbox().post(ASKED) as posted:
        (folder / "aaaa.json").write_text("{")
        (folder / "bbbb.json").write_text('{"id": 3}')
        (folder / "cccc.json").mkdir()
        (folder / "dddd.json").symlink_to("/etc/passwd")
        assert [one["id"] for one in inbox_folder.waiting()] == [posted.id]


def test_leftovers_of_long_ago_are_removed_and_newer_ones_are_not(folder: Path) -> None:
    with Inbox().post(ASKED) as posted:
        inbox_folder.answer(posted.id, "once", "cli")
        old = [folder / name for name in ("0a.answer", "0b.lock", "0c.watch", "0d.answer.1f.new")]
        for path in old:
            path.touch()
            os.utime(path, (1, 1))
        with Inbox().post(ASKED):
            assert not any(path.exists() for path in old)
            assert posted.answer is not None


def test_the_library_has_a_name_for_it() -> None:
    assert agent_exec.Inbox is Inbox
    for wrong in (0, -1, "10m", True):
        with pytest.raises(InvalidArgument, match="timeout"):
            Inbox(wrong)  # type: ignore[arg-type]


class Other:
    """Another way to ask: answers when it is told to, and notes that it was cancelled."""

    def __init__(self, answer: str | None = None) -> None:
        self.answer = answer
        self.lost: bool | None = None

    def __call__(self, lost: Cancel) -> str | None:
        if self.answer is None:
            self.lost = lost.wait(20)
            return None
        return None if self.answer == "nothing" else self.answer


def race(posted: Question, other: Other, done: Callable[[], Any] = lambda: None) -> "Any":
    """Have a question be asked in two ways at once; return the answer."""
    cancel, found = Cancel(), []
    thread = threading.Thread(target=lambda: found.append(posted.race(other, "client", cancel)))
    thread.start()
    done()
    thread.join(20)
    return found[0]


def test_of_two_ways_to_ask_the_first_answer_counts_and_the_other_is_cancelled() -> None:
    with Inbox().post(ASKED) as posted:
        found = race(posted, Other("session"))
        assert (found.answer, found.by) == ("session", "client")
    with Inbox().post(ASKED) as posted:
        waits = Other()
        found = race(posted, waits, lambda: inbox_folder.answer(posted.id, "once", "cli"))
        assert (found.answer, found.by, waits.lost) == ("once", "cli", True)
    with Inbox().post(ASKED) as posted:  # a way that gives no answer leaves it to the inbox
        found = race(posted, Other("nothing"), lambda: inbox_folder.answer(posted.id, "once", "cli"))
        assert found.by == "cli"
    with Inbox(0.05).post(ASKED) as posted:
        waits = Other()
        assert race(posted, waits).by == "deadline"
        assert waits.lost
