"""Patches that commands would apply: intercepted, and applied without a process.

Seed §3.3, reference §2.10 and §1.11.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from shlex import quote

import pytest

from agent_exec.policy.policy import Policy
from agent_exec.policy.rule import Rule
from agent_exec.requests.gate import Gate, Request
from agent_exec.sandbox.profile import Profile
from faces.session.calling import Caller

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="real shells of POSIX")
ADD = "*** Begin Patch\n*** Add File: made\n+hello\n*** End Patch\n"
INTERCEPTED = (
    "Wall time: 0.0000 seconds\nOutput:\nExit code: 0\nWall time: 0 seconds\nOutput:\n"
    "Success. Updated the following files:\nA made\n"
)


def heredoc(patch: str, before: str = "", name: str = "apply_patch") -> str:
    return f"{before}{name} <<'EOF'\n{patch}EOF\n"


@pytest.mark.parametrize("name", ["apply_patch", "applypatch"])
@pytest.mark.parametrize("login", [True, False])
def test_alone(call: Caller, work: Path, name: str, login: bool) -> None:
    """Reference §1.11: no chunk id, no token count, the patch's own block."""
    result = call("exec_command", cmd=heredoc(ADD, name=name), login=login)
    assert not result.is_error
    assert result.text == INTERCEPTED
    assert (work / "made").read_text() == "hello\n"
    assert call.listed() == {}
    assert call.tools.sessions.registry._reserved == set()


def test_after_cd(call: Caller, work: Path) -> None:
    """Reference §2.10: after one plain `cd`."""
    (work / "a b").mkdir()
    call.run(heredoc(ADD, before="cd 'a b' && "))
    assert (work / "a b" / "made").exists()
    (work / "c").mkdir()
    call.run(heredoc(ADD, before="cd ../c && "), workdir="a b")
    assert (work / "c" / "made").exists()
    assert not (work / "made").exists()


def test_the_tool(call: Caller, work: Path) -> None:
    """Issue 6: also a toolkit tool `apply_patch`."""
    told = call.told("apply_patch", input=ADD)
    assert "A made\n" in told["output"]
    assert (work / "made").exists()
    (work / "sub").mkdir()
    call.told("apply_patch", input=ADD, workdir="sub")
    assert (work / "sub" / "made").exists()


@pytest.mark.parametrize(
    "cmd",
    [
        heredoc(ADD) + "echo after\n",
        heredoc(ADD, before="true; "),
        heredoc(ADD, before="cd a && cd b && "),
        f"apply_patch {quote(ADD)} | cat",
    ],
)
def test_anything_more_is_left_to_the_shell(call: Caller, work: Path, cmd: str) -> None:
    """Reference §2.10: not intercepted, run as it is; there is no such program here."""
    told = call.run(f"PATH=/nowhere; {cmd}" if "cat" in cmd else cmd)
    assert "exit_code" in told
    assert not (work / "made").exists()


def test_a_patch_without_a_call(call: Caller, work: Path) -> None:
    """Reference §2.10: said, and not run."""
    said = call.refused("exec_command", cmd=ADD)
    assert said.startswith("patch detected without explicit call to apply_patch.")
    assert call.listed() == {}
    assert list(work.iterdir()) == []


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("*** Begin Patch\n*** Update File: none\n@@\n-a\n+b\n*** End Patch\n", "none"),
        ("*** Begin Patch\n*** Delete File: none\n*** End Patch\n", "none"),
        ("*** Begin Patch\n*** Frobnicate: x\n*** End Patch\n", "is not a valid hunk header"),
        ("nothing\n", "first line"),
        ("*** Begin Patch\n*** Add File: ../out\n+x\n*** End Patch\n", "out"),
        ("*** Begin Patch\n*** Add File: /etc/agent-exec-test\n+x\n*** End Patch\n", "/etc/agent-exec-test"),
    ],
)
def test_errors_are_text(call: Caller, work: Path, patch: str, said: str) -> None:
    """Reference §2.10: verification errors as text, and nothing is changed."""
    (work / "kept").write_text("kept\n")
    for result in (call("exec_command", cmd=heredoc(patch)), call("apply_patch", input=patch)):
        assert result.is_error
        assert result.text.startswith(("apply_patch", "patch rejected: writing outside")), result.text
        assert said in result.text
    assert [path.name for path in work.iterdir()] == ["kept"]
    assert not (work.parent / "out").exists()
    assert call.tools.sessions.registry._reserved == set()


def test_all_or_nothing(call: Caller, work: Path) -> None:
    """Issue 6: atomic, all files or none."""
    patch = "*** Begin Patch\n*** Add File: made\n+x\n*** Update File: none\n@@\n-a\n+b\n*** End Patch\n"
    call.refused("exec_command", cmd=heredoc(patch))
    assert list(work.iterdir()) == []


def test_links_lead_nowhere(call: Caller, work: Path, tmp_path: Path) -> None:
    """Reference §2.10: a patch stays in the workspace."""
    (tmp_path / "outside").mkdir()
    (work / "link").symlink_to(tmp_path / "outside")
    call.refused("exec_command", cmd=heredoc(ADD.replace("made", "link/made")))
    call.refused("exec_command", cmd=heredoc(ADD), workdir="link")
    call.refused("apply_patch", input=ADD, workdir="..")
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_folder_that_is_not_there(call: Caller, work: Path) -> None:
    """Reference §2.10: whatever is wrong, there is a text."""
    (work / "file").touch()
    for bad in ("nowhere", "file", "file/x"):
        result = call("exec_command", cmd=heredoc(ADD), workdir=bad)
        assert result.text
    result = call("exec_command", cmd=heredoc(ADD, before="cd file && "))
    assert result.is_error


def test_no_approval_is_requested(opened: Callable[..., Caller], work: Path) -> None:
    """Seed §3.3: before policy and approval."""
    call = opened(gate=Gate(None, approval="never"))
    assert call("exec_command", cmd=heredoc(ADD)).text == INTERCEPTED


@pytest.mark.parametrize("path", [".git/config", "sub/.git/config", "sub/.git/hooks/x", "new/.git"])
@pytest.mark.parametrize("confined", [False, True])
def test_no_repository_is_written(
    opened: Callable[..., Caller], work: Path, path: str, confined: bool
) -> None:
    """Reference §4.1: `.git` is protected, there or missing, and further down as at the top."""
    (work / "sub" / ".git").mkdir(parents=True)
    call = opened(sandbox=Profile("workspace-write", [str(work)])) if confined else opened()
    patch = f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n"
    assert "protected" in call.refused("apply_patch", input=patch)
    assert "protected" in call.refused("exec_command", cmd=heredoc(patch))
    assert {one.name for one in work.rglob("*")} == {"sub", ".git"}


def test_nothing_that_programs_obey_is_made(opened: Callable[..., Caller], work: Path) -> None:
    call = opened(sandbox=Profile("workspace-write", [str(work)]))
    patch = "*** Begin Patch\n*** Add File: new/.vscode/tasks.json\n+x\n*** End Patch\n"
    assert "protected" in call.refused("apply_patch", input=patch)
    assert "protected" in call.refused("exec_command", cmd=heredoc(patch))
    assert list(work.iterdir()) == []


@pytest.mark.parametrize("way", [{"cmd": heredoc(ADD)}, {"input": ADD}])
@pytest.mark.parametrize("rule", [{"write": "work"}, {"prefix": ["apply_patch"]}])
def test_rules_judge_it(
    opened: Callable[..., Caller], work: Path, way: dict[str, str], rule: dict[str, object]
) -> None:
    """What a rule says to writing there, or to the program, holds for a patch too."""
    tool = "exec_command" if "cmd" in way else "apply_patch"
    denied = Rule(rule.get("prefix", ()), "deny", write=[str(work)] if "write" in rule else ())  # type: ignore[arg-type]
    call = opened(gate=Gate(Policy([denied])))
    assert "the policy denies" in call.refused(tool, **way)
    assert not list(work.iterdir())


@pytest.mark.parametrize("way", [{"cmd": heredoc(ADD)}, {"input": ADD}])
def test_untrusted_asks_for_it_each_time(
    opened: Callable[..., Caller], work: Path, way: dict[str, str]
) -> None:
    tool = "exec_command" if "cmd" in way else "apply_patch"
    asked: list[Request] = []

    def always(request: Request) -> str:
        asked.append(request)
        return "no" if len(asked) == 3 else "always"

    call = opened(gate=Gate(Policy(), approver=always, approval="untrusted"))
    for _ in range(2):
        call.told(tool, **way)
        (work / "made").unlink()
    assert "the answer was no" in call.refused(tool, **way)
    assert [request.stdin for request in asked] == [ADD.encode()] * 3
    assert not list(work.iterdir())
    nobody = opened(gate=Gate(Policy(), approval="untrusted"))
    assert "no approver" in nobody.refused(tool, **way)
    assert not list(work.iterdir())


def test_a_patch_that_does_not_fit_shows_the_lines_of_the_file(call: Caller, work: Path) -> None:
    (work / "f.py").write_text("def a():\n    return 1\n\n\ndef b():\n    x = 2\n    return x\n")
    patch = "*** Begin Patch\n*** Update File: f.py\n{}\n-    x = 3\n+    x = 4\n*** End Patch"
    told = call.refused("apply_patch", input=patch.format(" def b():"))
    assert "Failed to find expected lines in f.py:\ndef b():\n    x = 3\n" in told
    assert "The file has:\n4: \n5: def b():\n6:     x = 2\n7:     return x" in told
    assert "5: def b():" in call.refused("apply_patch", input=patch.format("@@ def bb():"))
    assert "The file has" not in call.refused("apply_patch", input=patch.format("@@ zzzzzzzzzzzz"))
