"""Confined runs: what the engine, the toolkit and a plan that is kept promise."""

import os
from pathlib import Path

import pytest

import agent_exec
from agent_exec.model.choices import ProfileName, WriteScope
from agent_exec.model.errors import InvalidArgument, SandboxUnavailable
from agent_exec.sandbox.plan.ours import ours
from agent_exec.sandbox.sandbox import shared_sandbox


def sh(line: str, root: Path, name: ProfileName = "workspace-write") -> agent_exec.Outcome:
    profile = agent_exec.Profile(name, [root])
    return agent_exec.run(["sh", "-c", line], cwd=root, timeout=30, sandbox=profile)


def test_a_workspace_in_tmp_keeps_its_files_when_the_box_is_cleaned(tmp_path: Path) -> None:
    (tmp_path / "before").mkdir(mode=0o755)
    (tmp_path / "before" / "file").write_text("old")
    for _ in range(3):
        out = sh(
            "mkdir -p sub/x; echo new > sub/x/file; mkdir -p /tmp/gone; echo x > /tmp/gone/y; ls /tmp",
            tmp_path,
        )
        assert out.ok, out.stderr
        assert "gone\n" in out.stdout_text
    assert "gone" not in sh("ls /tmp /dev/shm /var/tmp", tmp_path).stdout_text
    assert (tmp_path / "before" / "file").read_text() == "old"
    assert (tmp_path / "sub" / "x" / "file").read_text() == "new\n"
    assert (tmp_path / "before").stat().st_mode & 0o777 == 0o755


def test_a_link_from_a_private_folder_does_not_lead_the_cleaning_out(tmp_path: Path) -> None:
    (tmp_path / "keep").write_text("x")
    assert sh(f"ln -s {tmp_path} /tmp/link; ln -s {tmp_path} /dev/shm/link", tmp_path).ok
    assert (tmp_path / "keep").exists()


def test_an_engine_and_a_terminal(tmp_path: Path) -> None:
    profile = agent_exec.Profile("workspace-write", [tmp_path])
    with agent_exec.Engine() as engine:
        runs = [
            engine.start(
                agent_exec.Command(["sh", "-c", f"echo {n} > {n}; tty"], cwd=tmp_path, tty=True),
                sandbox=profile,
            )
            for n in range(6)
        ]
        for number, run in enumerate(runs):
            assert run.outcome().stdout.startswith(b"/dev/pts/"), run.outcome()
            assert (tmp_path / str(number)).exists()


def test_nothing_can_be_left_running(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="leftovers"):
        agent_exec.run(["true"], leftovers="leave", sandbox=agent_exec.Profile("read-only"))
    out = sh("setsid sleep 600 & echo up", tmp_path)
    assert (out.stdout, out.leaked) == (b"up\n", True)


def test_a_profile_is_planned_anew_and_a_plan_is_kept_while_it_holds(tmp_path: Path) -> None:
    profile = agent_exec.Profile("workspace-write", [tmp_path])
    assert shared_sandbox().look(profile, ours()).protected == ()
    (tmp_path / ".git").mkdir()
    plan = shared_sandbox().look(profile, ours())
    assert str(tmp_path / ".git") in plan.protected
    assert shared_sandbox().look(plan, ours()) is plan
    os.rename(tmp_path / ".git", tmp_path / "other")
    assert shared_sandbox().look(plan, ours()).protected == ()


def test_the_profile_bounds_the_time(tmp_path: Path) -> None:
    profile = agent_exec.Profile("read-only", limits=agent_exec.BoxLimits(wall=0.2))
    assert agent_exec.run(["sleep", "600"], cwd="/", sandbox=profile).timed_out
    assert agent_exec.run(["sleep", "600"], cwd="/", sandbox=profile, timeout=500).timed_out


def test_a_root_that_became_another_folder_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    assert sh("true", root).ok
    root.rename(tmp_path / "old")
    root.mkdir()
    for _ in range(2):
        with pytest.raises(SandboxUnavailable, match="root"):
            sh("echo x > x", root)
    assert not list(root.iterdir())


def test_what_is_not_carried_out_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument):
        agent_exec.run(["true"], sandbox={"name": "read-only"})  # type: ignore[arg-type]


def test_the_toolkit_in_a_box(tmp_path: Path) -> None:
    allowed = {"tools": {"exec_command": "allow"}}
    cases: list[tuple[ProfileName, WriteScope, str]] = [
        ("read-only", "read-only", "success"),
        ("workspace-write", "read-only", "denied"),
        ("workspace-write", "workspace-write", "success"),
    ]
    for name, scope, status in cases:
        kit = agent_exec.create_agent_toolkit(
            tmp_path, allowed, scope, sandbox=agent_exec.Profile(name, [tmp_path])
        )
        answer = kit.exec_command(".", ["touch", f"{name}-{scope}"])
        assert answer["status"] == status, answer
    assert [path.name for path in tmp_path.iterdir()] == ["workspace-write-workspace-write"]
    with pytest.raises(InvalidArgument, match="sandbox"):
        agent_exec.create_agent_toolkit(tmp_path, allowed, sandbox="read-only")  # type: ignore[arg-type]


def test_the_toolkit_reports_denials(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    kept = root / "kept.json"
    kept.write_text("")
    allowed = {"tools": {"exec_command": "allow"}}
    kit = agent_exec.create_agent_toolkit(
        root,
        allowed,
        own=[kept],
        sandbox=agent_exec.Profile("workspace-write", [root]),
    )
    script = f"echo more >> {kept}; echo y > {root}/.envrc; echo z > {root}/z"
    answer = kit.exec_command(".", ["sh", "-c", script], shell_mode="direct")
    told = answer["data"]["sandbox"]
    assert (told["backend"], told["strength"]) == ("ns", "full")
    assert [denial["path"] for denial in told["denials"]] == [str(kept)]
    (change,) = told["protected_changes"]
    assert (change["path"], change["what"]) == (str(root / ".envrc"), "appeared")
    assert not (root / ".envrc").exists()
    assert Path(change["moved_to"]).read_text() == "y\n"
    assert repr(change["moved_to"]) in told["message"]
    assert "more" not in kept.read_text()
    assert (root / "z").exists()
