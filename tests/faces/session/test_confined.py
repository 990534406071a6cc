"""Sessions in a sandbox: the same, but confined; only a yes to an escalation leads out.

Issue 6: policy, sandbox, spawn; reference §2.5, §2.9, §4.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from shlex import quote

import pytest

from agent_exec.sandbox.plan.survey import Survey
from agent_exec.sandbox.profile import Profile
from agent_exec.sandbox.report.changes import Change
from agent_exec.sandbox.report.guard import Guard
from faces.session.calling import Caller
from support import processes_marked, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="boxes are made by Linux")

PYTHON = quote(os.path.realpath(sys.executable))


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    place = tmp_path / "outside"
    place.mkdir()
    return place


@pytest.fixture
def boxed(opened: Callable[..., Caller], work: Path) -> Caller:
    return opened(sandbox=Profile("workspace-write", [str(work)]))


def test_a_session_is_confined(boxed: Caller, work: Path, outside: Path) -> None:
    """Reference §4.1: workspace-write; a denial is an answer, with a note."""
    assert boxed.run("echo in > inside; cat inside")["output"] == "in\n"
    assert boxed.run(f"touch {quote(str(outside / 'x'))}")["exit_code"] == 1
    result = boxed("exec_command", cmd="touch /usr/agent-exec-test")
    assert not result.is_error
    assert result.structured is not None
    assert result.structured["exit_code"] == 1
    if os.access("/usr", os.W_OK):  # without the sandbox it would have been allowed, and so it is told
        assert "Note: " in result.text
        assert "/usr/agent-exec-test" in result.text.partition("Output:")[0]
    assert list(outside.iterdir()) == []
    assert (work / "inside").exists()


@pytest.mark.parametrize(
    ("cmd", "output"),
    [
        ("cat", ""),
        ("read -p '? ' x", "? "),
        ("read -s -p 'Password: ' x", "Password: "),
        (f"{PYTHON} -q", ">>> "),
    ],
)
def test_waiting_is_recognised_inside(boxed: Caller, cmd: str, output: str) -> None:
    """Issue 6, better 1, in a box."""
    told = boxed.run(cmd, tty=True, yield_time_ms=20_000)
    assert told["awaiting_input"]
    assert told["evidence"] in ("exact", "likely")
    assert told["output"].endswith(output)


@pytest.mark.parametrize("cmd", ["sleep 600", "printf 'x '; sleep 600", "while :; do :; done"])
def test_not_waiting_inside(boxed: Caller, cmd: str) -> None:
    """Issue 6, better 1, in a box."""
    assert not boxed.run(cmd, tty=True, yield_time_ms=500).get("awaiting_input")


def test_a_conversation_inside(boxed: Caller) -> None:
    """Issue 6, done when."""
    number = boxed.asked(f"{PYTHON} -IS -q")
    for at in range(50):
        assert boxed.type(number, f"{at}+1\n", yield_time_ms=20_000)["output"] == f"{at}+1\n{at + 1}\n>>> "
    told = boxed.type(number, "while True: pass\n\n")
    assert not told.get("awaiting_input")
    assert "KeyboardInterrupt" in boxed.type(number, "\x03", yield_time_ms=20_000)["output"]
    assert (
        boxed.type(number, "raise SystemExit(7)\n", wait_for="exit", yield_time_ms=20_000)["exit_code"] == 7
    )


def test_the_box_ends_with_its_session(boxed: Caller) -> None:
    """Reference §3."""
    number = boxed.background("setsid sleep 600 & (sleep 601 &) ; sleep 602")
    assert boxed.told("kill_session", session_id=number)["exit_code"] == 143
    assert not processes_marked(f"AGENT_EXEC_SESSION_ID={number}")
    number = boxed.background("sleep 600")
    assert boxed.type(number, "\x03", wait_for="exit", yield_time_ms=20_000)["exit_code"] == 130


def test_patches_obey_the_profile(boxed: Caller, work: Path, outside: Path) -> None:
    """Reference §2.10 and §4.1: inside the roots, and never what is protected."""
    (work / ".git").mkdir()
    (work / ".git" / "config").write_text("[core]\n")
    patch = "*** Begin Patch\n*** Add File: {}\n+x\n*** End Patch\n"
    assert "A fine" in boxed.told("apply_patch", input=patch.format("fine"))["output"]
    for bad in (
        ".git/hooks/pre-commit",
        ".git/config",
        ".vscode/x",
        "../outside/x",
        str(outside / "x"),
        "/etc/x-agent",
    ):
        assert boxed.refused("apply_patch", input=patch.format(bad))
        assert boxed.refused("exec_command", cmd=f"apply_patch <<'EOF'\n{patch.format(bad)}EOF")
    delete = "*** Begin Patch\n*** Delete File: .git/config\n*** End Patch\n"
    assert boxed.refused("apply_patch", input=delete)
    assert {path.name for path in work.iterdir()} == {".git", "fine"}
    assert [path.name for path in (work / ".git").iterdir()] == ["config"]
    assert list(outside.iterdir()) == []


def test_patches_make_no_repository(boxed: Caller, work: Path) -> None:
    """Reference §4.1: `.git` is protected even when it is missing."""
    for bad in (".git/config", ".vscode/tasks.json"):
        assert boxed.refused(
            "apply_patch", input=f"*** Begin Patch\n*** Add File: {bad}\n+x\n*** End Patch\n"
        )
    assert list(work.iterdir()) == []


def test_a_read_only_box_takes_no_patch(opened: Callable[..., Caller], work: Path) -> None:
    """Reference §2.10: writing is blocked by a read-only sandbox."""
    call = opened(sandbox=Profile("read-only", [str(work)]))
    assert call.refused("apply_patch", input="*** Begin Patch\n*** Add File: x\n+x\n*** End Patch\n")
    assert call.run("touch x")["exit_code"] == 1
    assert list(work.iterdir()) == []


def test_only_a_yes_leads_out(opened: Callable[..., Caller], work: Path, outside: Path) -> None:
    """Reference §2.5: require_escalated asks, then runs with no sandbox."""
    answers = ["no", "once"]
    call = opened(sandbox=Profile("workspace-write", [str(work)]), approver=lambda _request: answers.pop(0))
    cmd = f"touch {quote(str(outside / 'x'))}"
    assert "rejected by user" in call.refused(
        "exec_command", cmd=cmd, sandbox_permissions="require_escalated"
    )
    assert list(outside.iterdir()) == []
    assert call.run(cmd)["exit_code"] == 1
    assert call.run(cmd, sandbox_permissions="require_escalated")["exit_code"] == 0
    assert [path.name for path in outside.iterdir()] == ["x"]
    assert call.run(f"rm {quote(str(outside / 'x'))}")["exit_code"] == 1


def test_full_access_patches(opened: Callable[..., Caller], outside: Path, work: Path) -> None:
    """Reference §4.1: without walls there is nothing to keep a patch in."""
    call = opened(sandbox=Profile("full-access", [str(work)]))
    call.told("apply_patch", input=f"*** Begin Patch\n*** Add File: {outside / 'x'}\n+x\n*** End Patch\n")
    assert (outside / "x").exists()


def test_sizes_inside(boxed: Caller) -> None:
    """Issue 6, better 3, in a box."""
    number = boxed.asked("while read x; do stty size; done")
    boxed.told("resize", session_id=number, rows=7, columns=77)
    wait_until(lambda: "7 77\n" in boxed.type(number, "\n")["output"])


def test_secrets_stay_out(opened: Callable[..., Caller], work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 6: secrets filtered by default, in a box too."""
    monkeypatch.setenv("SOME_TOKEN", "hunter2")
    call = opened(sandbox=Profile("workspace-write", [str(work)]))
    told = call.run("env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'", max_output_tokens=100_000)
    assert "hunter2" not in told["output"]
    assert os.environ["SOME_TOKEN"] == "hunter2"


@pytest.mark.parametrize("within", [False, True])
def test_what_sessions_have_printed_is_hidden(
    opened: Callable[..., Caller], work: Path, temporary: Path, within: bool
) -> None:
    """Reference §4.1, and ours: the output is out of reach for what they run, also in a root (a shared /tmp)."""
    roots = [str(work), str(temporary)] if within else [str(work)]
    call = opened(sandbox=Profile("workspace-write", roots))
    number = call.background("seq 100000; echo secret; sleep 600")
    call.read_until(number, "secret")
    (folder,) = temporary.glob("agent-exec-sessions-*/server-*")
    kept = folder / str(number)
    assert list(kept.iterdir())
    above = quote(str(folder.parent))
    told = call.run(
        f"cat {quote(str(kept))}/*; ls {above}; touch {above}/x; mv {above} {above}2; rm -rf {above}; echo > {above}/y"
    )
    assert "secret" not in told["output"]
    assert folder.name not in told["output"].replace(str(kept), "")
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    assert call.told("read_output", session_id=number, **{"from": 588_895})["output"] == "secret\n"
    patch = f"*** Begin Patch\n*** Add File: {folder}/x\n+x\n*** End Patch\n"
    assert "rejected" in call.refused("apply_patch", input=patch)


def test_our_own_files_stay_as_they_are(opened: Callable[..., Caller], work: Path) -> None:
    """Ours: the rules and the profile are not for those to change that they hold for."""
    rules, profile = work.with_name("rules.toml"), work / "profile.json"
    rules.write_text('[[rule]]\nprefix = ["rm"]\nverdict = "deny"\n')
    profile.write_text("{}")
    before = rules.read_text(), profile.read_text()
    call = opened(sandbox=Profile("workspace-write", [str(work)]), rules=str(rules), own=[str(profile)])
    for name in ("../rules.toml", "profile.json"):
        call.run(f"echo > {name}; mv {name} x; ln -sf /dev/null {name}; cp /dev/null {name}")
        if name.startswith(".."):
            continue
        patch = f"*** Begin Patch\n*** Delete File: {name}\n*** End Patch\n"
        assert "protected" in call.refused("apply_patch", input=patch)
    assert (rules.read_text(), profile.read_text()) == before
    assert call.run("echo fine > other; cat other profile.json")["exit_code"] == 0


def test_sessions_that_have_ended_are_not_looked_at_again(
    boxed: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that has run many commands must not become slower with each."""
    looks: list[Guard] = []
    look = Guard.look

    def counted(guard: Guard, surveys: dict[tuple[str, bool], Survey] | None = None) -> tuple[Change, ...]:
        looks.append(guard)
        return look(guard, surveys)

    monkeypatch.setattr(Guard, "look", counted)
    counts = []
    for _ in range(6):
        looks.clear()
        assert boxed.run("true")["exit_code"] == 0
        counts.append(len(looks))
    assert counts == [counts[0]] * 6
