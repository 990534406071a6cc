"""apply_patch in a kit: in the workspace, by the policy and the scope, around what is protected."""

from pathlib import Path

import pytest

import agent_exec
from agent_exec.faces.oneshot.kit import Toolkit
from agent_exec.model.choices import WriteScope

ADD = "*** Begin Patch\n*** Add File: {}\n+hello\n*** End Patch"
ALLOWED = {"tools": {"apply_patch": "allow"}}


def kit(root: Path, scope: WriteScope = "workspace-write", **settings: object) -> Toolkit:
    return agent_exec.create_agent_toolkit(
        root,
        ALLOWED,
        scope,
        tools=[agent_exec.APPLY_PATCH],
        **settings,  # type: ignore[arg-type]
    )


def test_files_are_changed_and_reported(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    answer = kit(tmp_path).invoke("apply_patch", {"patch": ADD.format("a.txt"), "cwd": "sub"})
    assert answer["data"]["added"] == ["a.txt"]
    assert (tmp_path / "sub" / "a.txt").read_text() == "hello\n"


def test_it_is_denied_where_nothing_may_be_written_or_it_is_not_allowed(tmp_path: Path) -> None:
    asked = {"patch": ADD.format("a.txt")}
    assert kit(tmp_path, "read-only").invoke("apply_patch", asked)["status"] == "denied"
    other = agent_exec.create_agent_toolkit(tmp_path, None, tools=[agent_exec.APPLY_PATCH])
    assert other.invoke("apply_patch", asked)["status"] == "denied"
    assert list(tmp_path.iterdir()) == []


def test_what_leads_out_or_is_protected_stays(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / ".git").mkdir(parents=True)
    assert kit(root).invoke("apply_patch", {"patch": ADD.format("../out")})["status"] == "denied"
    confined = kit(root, sandbox=agent_exec.Profile("workspace-write", [root]))
    answer = confined.invoke("apply_patch", {"patch": ADD.format(".git/config")})
    assert (answer["status"], list((root / ".git").iterdir())) == ("denied", [])
    assert confined.invoke("apply_patch", {"patch": ADD.format("fine")})["status"] == "success"


@pytest.mark.parametrize("confined", [False, True])
def test_no_repository_is_made(tmp_path: Path, confined: bool) -> None:
    """Its own, or one further down; and what the profile hides is not written either."""
    root = tmp_path / "root"
    (root / "sub" / ".git").mkdir(parents=True)
    (root / "hidden").write_text("secret\n")
    box = agent_exec.Profile("workspace-write", [root], deny_read=["hidden"])
    tools = kit(root, sandbox=box) if confined else kit(root)
    for path in (".git/config", "sub/.git/config", "new/.git/hooks/x", *(["hidden"] if confined else ())):
        answer = tools.invoke("apply_patch", {"patch": ADD.format(path)})
        assert answer["status"] == "denied", path
        assert answer["error"]["code"] == "SANDBOX_VIOLATION"
    assert {path.name for path in root.rglob("*")} == {"sub", ".git", "hidden"}


@pytest.mark.parametrize(
    "paths",
    [
        ["new/.envrc"],
        ["a/b/.VSCODE/tasks.json"],
        ["r/HEAD", "r/objects/x", "r/refs/x", "r/config"],
        ["half/refs/x"],
        ["c/HEAD", "c/commondir"],
    ],
)
def test_nothing_that_programs_obey_is_made(tmp_path: Path, paths: list[str]) -> None:
    """A command that makes it has it taken away; a patch is refused."""
    (tmp_path / "half" / "objects").mkdir(parents=True)
    (tmp_path / "half" / "HEAD").touch()
    before = sorted(tmp_path.rglob("*"))
    tools = kit(tmp_path, sandbox=agent_exec.Profile("workspace-write", [tmp_path]))
    hunks = "".join(f"*** Add File: {path}\n+x\n" for path in paths)
    answer = tools.invoke("apply_patch", {"patch": f"*** Begin Patch\n{hunks}*** End Patch"})
    assert (answer["status"], sorted(tmp_path.rglob("*"))) == ("denied", before), answer
    free = agent_exec.Profile("workspace-write", [tmp_path], unprotect=[".envrc"])
    patch = {"patch": ADD.format("new/.envrc")}
    assert kit(tmp_path, sandbox=free).invoke("apply_patch", patch)["status"] == "success"


def test_a_patch_that_does_not_fit_says_so(tmp_path: Path) -> None:
    answer = kit(tmp_path).invoke("apply_patch", {"patch": "nonsense"})
    assert answer["status"] == "failure"
    assert "apply_patch verification failed" in answer["message"]
    assert kit(tmp_path).invoke("apply_patch", {"patch": 5})["status"] == "failure"


def test_rules_judge_every_file_of_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    rules = tmp_path / "rules.toml"
    rules.write_text(f'[[rule]]\nwrite = ["{root}/kept"]\nverdict = "deny"\n')
    two = "*** Begin Patch\n*** Add File: fine\n+x\n*** Add File: kept/a\n+x\n*** End Patch"
    answer = kit(root, rules=str(rules)).invoke("apply_patch", {"patch": two})
    assert (answer["status"], answer["error"]["code"]) == ("denied", "POLICY_DENIED")
    assert (
        kit(root, rules=str(rules)).invoke("apply_patch", {"patch": ADD.format("a")})["status"] == "success"
    )
    untrusted = kit(root, approval_policy="untrusted").invoke("apply_patch", {"patch": ADD.format("b")})
    assert untrusted["status"] == "denied"
    assert [path.name for path in root.iterdir()] == ["a"]
