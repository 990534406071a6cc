"""The order of steps, who is asked, and what ends a wait.

Seed §3 and issue 6: parse, argv, escalation, patch, policy, sandbox, spawn.
"""

import os
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from shlex import quote

import pytest

from agent_exec.faces.session.definitions import Terms
from agent_exec.model.cancel import Cancel
from agent_exec.model.command import Command, Terminal
from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from agent_exec.requests.gate import Gate, Request
from agent_exec.sessions.session import Session
from agent_exec.sessions.transcript import Transcript
from faces.session.calling import Caller, in_turn
from support import processes_marked, wait_until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="real shells of POSIX")
PATCH = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: made\n+hello\n*** End Patch\nEOF"


class Approver:
    """Says what it was told to say, and keeps what it was asked."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[Request] = []

    def __call__(self, request: Request, /) -> str:
        self.asked.append(request)
        return self.answers.pop(0)


def untouched(call: Caller, work: Path, nothing_left: str) -> None:
    """Nothing was spawned or written, and no number is taken."""
    assert list(work.iterdir()) == []
    assert call.listed() == {}
    assert call.tools.sessions.registry._reserved == set()
    assert not [line for line in processes_marked(nothing_left).values() if "touch" in line]


@pytest.mark.parametrize("policy", ["never", "untrusted"])
@pytest.mark.parametrize("cmd", ["touch made", PATCH])
def test_escalation_needs_on_request(
    opened: Callable[..., Caller], work: Path, nothing_left: str, policy: str, cmd: str
) -> None:
    """Seed §3.2, reference §1.3 step 5: rejected, also before a patch is looked for."""
    approver = Approver()
    call = opened(gate=Gate(None, approver=approver, approval=policy))
    said = call.refused("exec_command", cmd=cmd, sandbox_permissions="require_escalated")
    assert said == (
        f"approval policy is {policy}; reject command — "
        f"you cannot ask for escalated permissions if the approval policy is {policy}"
    )
    assert approver.asked == []
    untouched(call, work, nothing_left)


def test_escalation_needs_an_approver(opened: Callable[..., Caller], work: Path, nothing_left: str) -> None:
    """Without one, the refusal says so, and what the operator can do."""
    call = opened(gate=Gate(None))
    said = call.refused("exec_command", cmd="touch made", sandbox_permissions="require_escalated")
    assert "There is no approver to ask here; work within the sandbox, or have the operator allow" in said
    untouched(call, work, nothing_left)


def test_escalation_is_asked_for(opened: Callable[..., Caller], work: Path, nothing_left: str) -> None:
    """Reference §1.3 and §2.5: no is a rejection by the user, yes runs it."""
    approver = Approver("no", "once", "session", "session")
    call = opened(approver=approver)
    given = {
        "cmd": "touch made; echo done",
        "sandbox_permissions": "require_escalated",
        "justification": "I must",
    }
    said = call.refused("exec_command", **given)
    assert said.startswith("exec_command failed for `")
    assert said.endswith(
        '-c \'touch made; echo done\'`: CreateProcess { message: "Rejected(\\"rejected by user\\")" }'
    )
    untouched(call, work, nothing_left)
    assert call.told("exec_command", **given)["output"] == "done\n"
    assert call.told("exec_command", **given)["output"] == "done\n"
    assert call.told("exec_command", **given)["output"] == "done\n"
    assert len(approver.asked) == 4, "a yes is remembered for one plain command alone"
    assert {request.command for request in approver.asked} == {"touch made; echo done"}
    assert {request.cwd for request in approver.asked} == {str(work)}
    assert "I must" in approver.asked[0].verdict.reason


def test_use_default_does_not_ask(opened: Callable[..., Caller]) -> None:
    """Reference §1.1."""
    approver = Approver()
    call = opened(approver=approver)
    assert call.run("echo hi", sandbox_permissions="use_default", justification="x")["output"] == "hi\n"
    assert approver.asked == []


def test_the_policy_denies_before_anything_runs(
    opened: Callable[..., Caller], work: Path, nothing_left: str
) -> None:
    """Seed §3, reference §2.2: forbidden is a rejection with its reason."""
    call = opened(gate=Gate(Policy([Rule(["touch"], "deny")])))
    said = call.refused("exec_command", cmd="touch made")
    assert said.startswith("exec_command failed for `")
    assert "denies this command" in said
    said = call.refused("exec_command", cmd="true && touch made")
    assert "denies this command" in said
    untouched(call, work, nothing_left)
    assert call.run("true")["exit_code"] == 0


def test_an_escalated_command_is_still_judged(
    opened: Callable[..., Caller], work: Path, nothing_left: str
) -> None:
    """Reference §2.2: forbidden wins over whatever is asked for."""
    call = opened(gate=Gate(Policy([Rule(["touch"], "deny")]), approver=Approver("once", "once")))
    call.refused("exec_command", cmd="touch made", sandbox_permissions="require_escalated")
    untouched(call, work, nothing_left)


def test_a_patch_is_taken_before_anything_runs_and_judged(opened: Callable[..., Caller], work: Path) -> None:
    """Seed §3.3: intercepted before anything is run; it obeys rules as every other way to write does."""
    call = opened(gate=Gate(Policy([Rule(["apply_patch"], "deny")])))
    assert "denies this command" in call.refused("exec_command", cmd=PATCH)
    assert not (work / "made").exists()
    call = opened(gate=Gate(Policy([Rule(["apply_patch"], "allow")])))
    assert "A made" in call.run(PATCH)["output"]
    assert (work / "made").read_text() == "hello\n"


def test_a_proposed_rule(opened: Callable[..., Caller], work: Path) -> None:
    """Reference §2.6: prefix_rule is what the approver is shown; "always" writes it down."""
    approver = Approver("no", "always")
    call = opened(gate=Gate(Policy(), approver=approver, approval="untrusted"))
    call.refused("exec_command", cmd="mkdir -p x", prefix_rule=["mkdir", "-p"])
    assert [tuple(rule.prefix) for rule in approver.asked[0].rules] == [("mkdir", "-p")]
    call.run("mkdir -p x", prefix_rule=["mkdir", "-p"])
    assert (work / "x").is_dir()


def test_always_is_written_down(opened: Callable[..., Caller], work: Path, tmp_path: Path) -> None:
    """Reference §2.6: on acceptance a line is appended to the rules."""
    rules = tmp_path / "rules.toml"
    rules.write_text('approval_policy = "untrusted"\n')
    approver = Approver("always")
    call = opened(rules=str(rules), approver=approver)
    call.run("mkdir -p x", prefix_rule=["mkdir", "-p"])
    assert "mkdir" in rules.read_text()
    call.run("mkdir -p y")
    assert len(approver.asked) == 1
    other = opened(rules=str(rules))
    other.run("mkdir -p z")
    assert {path.name for path in work.iterdir()} == {"x", "y", "z"}


def test_a_server_without_proposals(opened: Callable[..., Caller]) -> None:
    """Seed §2: without the feature, prefix_rule is dropped silently, and is not in the schema."""
    approver = Approver("no")
    call = opened(
        gate=Gate(Policy(), approver=approver, approval="untrusted"), terms=Terms(request_rule=False)
    )
    call.refused("exec_command", cmd="mkdir -p x", prefix_rule=["mkdir"])
    assert ("mkdir",) not in [tuple(rule.prefix) for rule in approver.asked[0].rules]
    schema = next(one for one in call.tools.definitions() if one["name"] == "exec_command")
    assert "prefix_rule" not in str(schema)


def test_an_approver_that_fails(opened: Callable[..., Caller]) -> None:
    """Issue 6: the number is free again, whatever happens."""
    call = opened(gate=Gate(Policy(), approver=Approver("perhaps"), approval="untrusted"))
    call.refused("exec_command", cmd="mkdir x")
    assert call.tools.sessions.registry._reserved == set()


def test_our_own_processes_are_safe(call: Caller) -> None:
    """Issue 6, needs policy: harm to ourselves is denied even without rules."""
    assert "denies this command" in call.refused("exec_command", cmd=f"kill -9 {os.getpid()}")


# What ends a wait: issue 6, better 1.


def test_wait_for_output(call: Caller) -> None:
    """Issue 6, better 1: `output`."""
    told = call.run("echo first; sleep 600", wait_for="output", yield_time_ms=30_000)
    assert (told["output"], "session_id" in told) == ("first\n", True)


def test_wait_for_a_match(call: Caller) -> None:
    """Issue 6, better 1: `match`, also in what came before the wait."""
    told = call.run(
        "for i in $(seq 300); do echo line $i; done; sleep 600",
        wait_for="match:line 3\\d\\d",
        yield_time_ms=30_000,
    )
    assert "line 300" in told["output"]


def test_a_match_of_what_was_printed_before(call: Caller, work: Path) -> None:
    """Issue 6, better 1: what nobody has seen yet can match."""
    go = work / "go"
    number = call.background(f"while ! test -e {quote(str(go))}; do sleep 0.005; done; echo ready; sleep 600")
    go.touch()
    call.read_until(number, "ready")
    told = call.told("write_stdin", session_id=number, wait_for="match:^read", yield_time_ms=300_000)
    assert told["output"] == "ready\n"


def test_wait_for_idle(call: Caller) -> None:
    """Issue 6, better 1: `idle`."""
    told = call.run("echo a; sleep 600", wait_for=["idle:20", "match:never"], yield_time_ms=30_000)
    assert "session_id" in told
    assert told["output"] in ("", "a\n")


def test_wait_for_a_port(call: Caller) -> None:
    """Issue 6, better 1: `port`."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        port = other.getsockname()[1]
    code = (
        "import socket, time; s = socket.socket(); s.setsockopt(1, 2, 1); "
        f"s.bind(('127.0.0.1', {port})); s.listen(); time.sleep(600)"
    )
    told = call.run(
        f"{quote(sys.executable)} -IS -c {quote(code)}", wait_for=f"port:{port}", yield_time_ms=30_000
    )
    with socket.create_connection(("127.0.0.1", port)):
        assert "session_id" in told


def test_wait_for_exit_only(call: Caller, work: Path) -> None:
    """Issue 6, better 1: `exit` is not ended by a program that waits for input."""
    told = call.run("read -t 0.2 x; exit 4", tty=True, wait_for="exit", yield_time_ms=30_000)
    assert told["exit_code"] == 4
    assert not told.get("awaiting_input")


def test_the_end_ends_every_wait(call: Caller) -> None:
    """Reference §1.9."""
    for wanted in ("exit", "output", "match:x", "idle:600000", "port:1"):
        assert call.run("true", wait_for=wanted, yield_time_ms=30_000)["exit_code"] == 0


def test_a_cancelled_call_loses_nothing(call: Caller) -> None:
    """Reference §1.9: aborted by user; better: what was printed is in the next answer."""
    cancelled = Cancel()
    number = call.background("echo one; sleep 600", tty=True)
    go = call.background("sleep 600")
    cancelled.set()
    result = call.tools.call("write_stdin", {"session_id": number, "chars": ""}, cancelled)
    assert result.is_error
    assert "aborted by user after" in result.text
    result = call.tools.call("exec_command", {"cmd": "echo two; sleep 600", "login": False}, cancelled)
    assert result.text.startswith("Wall time: ")
    assert result.text.endswith(" seconds\naborted by user")
    other = next(one for one in call.listed() if one not in (number, go))
    call.read_until(other, "two")
    assert call.told("write_stdin", session_id=other, wait_for="output")["output"] == "two\n"


def test_timeouts(call: Caller) -> None:
    """Issue 6, better 3: hard and idle timeouts."""
    result = call("exec_command", cmd="sleep 600", timeout_ms=50, yield_time_ms=30_000)
    assert result.structured is not None
    assert (result.structured["exit_code"], result.structured["timed_out"]) == (143, True)
    assert "Note: the command was ended because its time was over\n" in result.text
    told = call.run("echo a; sleep 600", idle_timeout_ms=50, yield_time_ms=30_000)
    assert (told["exit_code"], told["output"]) == (143, "a\n")
    told = call.run(
        "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.1; done", idle_timeout_ms=600, yield_time_ms=30_000
    )
    assert told["exit_code"] == 0


def test_one_exchange_at_a_time(call: Caller) -> None:
    """Reference §1.13: reads and writes on one session are serialised."""
    number = call.asked("exec bash --norc --noprofile -i")
    call.type(number, "PS1='> '; bind 'set enable-bracketed-paste off'\n")
    wrong: list[str] = []

    def talk(name: str) -> None:
        for at in range(40):
            told = call.type(number, f"echo {name}{at}\n", yield_time_ms=20_000)
            if told["output"] != f"echo {name}{at}\n{name}{at}\n> ":
                wrong.append(told["output"])

    threads = [threading.Thread(target=talk, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_many_at_once(opened: Callable[..., Caller]) -> None:
    """Reference §1.1: parallel calls."""
    call = opened(limit=128)
    found: list[str] = []

    def one(at: int) -> None:
        told = call.run(f"echo {at}; exit {at}", tty=at % 2 == 0, wait_for="exit", yield_time_ms=30_000)
        assert told["exit_code"] == at
        found.append(told["output"])

    threads = [threading.Thread(target=one, args=(at,)) for at in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(f"{at}\n" for at in range(50))


def test_many_prompts_at_once(opened: Callable[..., Caller]) -> None:
    """Issue 6, better 1: also when many start at once, everyone is seen to wait."""
    call = opened(limit=128)
    told: list[bool] = []
    threads = [
        threading.Thread(target=lambda: told.append(call.asked("read -p '? ' x") > 0)) for _ in range(30)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [True] * 30


def test_a_session_that_is_waited_for_can_be_killed(call: Caller) -> None:
    """Issue 6, better 3: kill_session does not wait for those who wait."""
    number = call.background("sleep 600")
    told: list[object] = []
    waiter = threading.Thread(
        target=lambda: told.append(call.type(number, "", yield_time_ms=300_000)["exit_code"])
    )
    waiter.start()
    wait_until(lambda: not call.tools.sessions.registry.find(number) or _is_held(call, number))
    assert call.told("kill_session", session_id=number)["exit_code"] == 143
    waiter.join()
    assert told == [143]


def _is_held(call: Caller, number: int) -> bool:
    session = call.tools.sessions.registry.find(number)
    assert session is not None
    return in_turn(session)


def test_a_screen_shows_everything_once(tmp_path: Path) -> None:
    """Issue 6, better 4: what is printed while the screen is made is not drawn twice."""
    command = Command(["true"], tty=True, size=Terminal(4, 20))
    session = Session(1000, command, Transcript(str(tmp_path / "1000")), "true", render="screen")
    view = session.view
    session.transcript.write(b"one ")
    taken = session.take()
    session.transcript.write(b"two ")
    assert view.show(taken, None, session.read).strip() == "one"
    assert view.show(session.take(), None, session.read).strip() == "one two"
    assert view.show(session.take(), "raw", session.read) == ""


def test_tools_whose_first_thread_could_not_be_started_work_later_and_close(
    opened: Callable[..., Caller], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_words: object) -> None:
        raise RuntimeError("can't start new thread")

    call = opened()
    with monkeypatch.context() as scarce:
        scarce.setattr(threading.Thread, "start", refuse)
        assert "no room for another thread" in call.refused("exec_command", cmd="true")
    told = call.run("echo now", yield_time_ms=20_000)
    assert (told["exit_code"], told["output"]) == (0, "now\n")
