"""What a confined command makes and must not be there is taken away, told, and nothing is lost."""

import os
import stat
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import agent_exec
from agent_exec.engine.engine import shared_spawner
from agent_exec.model.command import Outcome
from agent_exec.model.errors import PlanFailed, SandboxUnavailable
from agent_exec.sandbox.plan.ours import ours
from agent_exec.sandbox.profile import PROTECTED, Profile
from agent_exec.sandbox.report import changes
from agent_exec.sandbox.report import guard as guards
from agent_exec.sandbox.report.changes import compare
from agent_exec.sandbox.report.guard import Guard
from agent_exec.sandbox.sandbox import shared_sandbox
from sandbox.trees import git, repository
from support import wait_until


@pytest.fixture
def root(tmp_path: Path) -> Path:
    place = tmp_path.resolve() / "work"
    place.mkdir()
    return place


def sh(line: str, root: Path, **fields: Any) -> Outcome:
    profile = Profile("workspace-write", [root], **fields)
    return agent_exec.run(["/bin/sh", "-c", line], cwd=root, sandbox=profile)


def told(outcome: Outcome, root: Path) -> dict[str, str]:
    return {os.path.relpath(str(one["path"]), root): str(one.get("moved_to", "")) for one in outcome.changes}


@pytest.mark.parametrize("folder", [".", "a/b"])
def test_names_that_programs_obey_are_taken_away(root: Path, folder: str) -> None:
    made = " ".join(PROTECTED)
    outcome = sh(f"mkdir -p {folder} && cd {folder} && for n in {made}; do echo hook >$n; done", root)
    changes = told(outcome, root)
    assert {os.path.basename(path) for path in changes} == set(PROTECTED)
    left = {entry.name for entry in (root / folder).iterdir()}
    assert not left & set(PROTECTED)
    assert all(Path(moved).read_text() == "hook\n" for moved in changes.values())


def test_other_repositories_tools_and_agents_are_obeyed_too(root: Path) -> None:
    made = {".hg", ".jj", "mise.toml", ".lefthook-local.yml", ".clinerules"}
    assert set(told(sh(f"mkdir {' '.join(made)}", root), root)) == made


def test_folders_and_links_are_taken_away_too(root: Path) -> None:
    outcome = sh("mkdir .claude; echo x >.claude/settings.json; ln -s /etc .vscode; ln -s . .git", root)
    assert set(told(outcome, root)) == {".claude", ".vscode", ".git"}
    assert all(name.partition(".blocked-")[1] for name in os.listdir(root))
    assert sh("true", root).ok, "the next command must not be refused"


def test_what_a_person_allows_stays(root: Path) -> None:
    outcome = sh("mkdir -p .github/workflows deep/.github; echo x >.npmrc", root, unprotect=[".github"])
    assert set(told(outcome, root)) == {".npmrc"}
    assert (root / "deep" / ".github").is_dir()
    assert sh("echo y >.npmrc", root, missing="report").changes[0]["what"] == "appeared"
    assert (root / ".npmrc").read_text() == "y\n"


def test_names_that_are_there_cannot_be_changed_at_any_depth(root: Path) -> None:
    for folder in (root, root / "a" / "b"):
        (folder / ".cursor").mkdir(parents=True)
        (folder / ".cursor" / "mcp.json").write_text("{}")
    outcome = sh("echo evil >.cursor/mcp.json; echo evil >a/b/.cursor/mcp.json; rm -rf a", root)
    assert outcome.changes == ()
    assert (root / "a" / "b" / ".cursor" / "mcp.json").read_text() == "{}"
    assert (root / ".cursor" / "mcp.json").read_text() == "{}"


def test_names_are_known_in_every_spelling_that_programs_find(root: Path) -> None:
    """Where capitals are not told apart, a program that asks for one finds the other; here both are there."""
    outcome = sh(
        "mkdir .vscode .VSCODE .v\u017fcode; touch .Envrc; mkdir -p r/objects r/refs r/HEAD r/Refs", root
    )
    assert set(told(outcome, root)) == {".vscode", ".VSCODE", ".v\u017fcode", "r"}
    assert (root / ".Envrc").exists(), "nobody finds it"


def test_a_link_that_was_there_is_put_back(root: Path) -> None:
    (root / "shared").mkdir()
    (root / "shared" / "settings.json").write_text("{}")
    (root / ".claude").symlink_to("shared")
    outcome = sh(
        "rm .claude; mkdir .claude; echo evil >.claude/settings.json; echo evil >shared/settings.json", root
    )
    assert os.readlink(root / ".claude") == "shared"
    assert (root / "shared" / "settings.json").read_text() == "{}"
    assert list(told(outcome, root)) == [".claude"]


def test_a_plain_repository_may_be_made(root: Path) -> None:
    outcome = sh("git init -q . && git init -q --bare store.git && git init -q deep/er", root)
    assert told(outcome, root) == {".git": "", "store.git": "", "deep/er/.git": ""}
    assert (root / ".git" / "HEAD").exists()
    outcome = sh("echo evil >>store.git/config; echo evil >>deep/er/.git/config", root)
    assert outcome.changes == ()
    assert "evil" not in (root / "store.git" / "config").read_text()


@pytest.mark.parametrize(
    "evil",
    [
        "git config core.fsmonitor ./evil",
        "git config alias.st '!./evil'",
        "git config pager.log ./evil",
        "git config submodule.x.update '!./evil'",
        "git config include.path ../evil",
        "git config core.hooksPath .",
        "echo ./evil >.git/hooks/post-checkout",
        "rm -rf .git/hooks && ln -s .. .git/hooks",
        "echo .. >.git/commondir",
    ],
)
def test_a_repository_that_runs_something_is_taken_away(root: Path, evil: str) -> None:
    outcome = sh(f"git init -q . && {evil}", root)
    assert not (root / ".git").exists()
    assert [change["path"] for change in outcome.changes] == [str(root / ".git")]
    assert Path(str(outcome.changes[0]["moved_to"])).is_dir()


def test_a_repository_in_disguise_is_no_longer_one(root: Path) -> None:
    """The host's git obeys a folder of that shape, whatever it is called."""
    repository(root)
    line = "mkdir -p sub/objects sub/refs; echo ref: refs/heads/x >sub/HEAD; cp .git/config sub; "
    outcome = sh(
        line
        + "printf '[core]\\nfsmonitor=\"touch %s/ran; false\"\\nbare=false\\nworktree=.\\n' $PWD >sub/config",
        root,
    )
    assert list(told(outcome, root)) == ["sub"]
    subprocess.run(["git", "status"], cwd=root / "sub", capture_output=True, check=False)
    assert not (root / "ran").exists()
    shared = "mkdir -p b/objects b/refs c; echo ref: refs/heads/x >c/HEAD; echo ../b >c/commondir"
    assert list(told(sh(shared, root), root)) == ["c"]


@pytest.mark.parametrize(
    ("line", "door"),
    [
        ("echo ../evil >.git/commondir", ".git/commondir"),
        ("echo x >.git/config.worktree", ".git/config.worktree"),
        ("mkdir -p .git/info; echo '* filter=x' >.git/info/attributes", ".git/info/attributes"),
        (
            "mkdir -p .git/modules/x/hooks; echo ref: refs/heads/x >.git/modules/x/HEAD; echo >.git/modules/x/hooks/y",
            ".git/modules/x",
        ),
        (
            "mkdir -p .git/worktrees/x; echo ref: refs/heads/x >.git/worktrees/x/HEAD; echo /evil >.git/worktrees/x/commondir",
            ".git/worktrees/x",
        ),
    ],
)
def test_the_doors_of_a_repository_that_can_be_committed_to_are_shut(
    root: Path, line: str, door: str
) -> None:
    repository(root)
    outcome = sh(line, root, git="commit")
    assert list(told(outcome, root)) == [door]
    assert told(outcome, root)[door]
    git(root, "status")
    commit = "git -c user.name=a -c user.email=b commit -qm new"
    assert sh(f"echo new >new && git add new && {commit}", root, git="commit").ok


def test_what_cannot_be_taken_away_stops_everything(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: str, _roots: object) -> str:
        raise PermissionError(1, "Operation not permitted", path)

    monkeypatch.setattr(guards, "take_away", fail)
    assert "Operation not permitted" in str(sh("echo >.envrc", root).changes[0]["why"])
    with pytest.raises(SandboxUnavailable, match="envrc"):
        sh("echo >ran", root)
    assert not (root / "ran").exists()
    (root / ".envrc").unlink()
    assert sh("true", root).ok


def test_more_repositories_than_can_be_protected_do_not_brick_the_workspace(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guards, "_MOST_REPOSITORIES", 5)
    outcome = sh("for n in 1 2 3 4 5 6 7 8; do mkdir -p d$n/.git; done", root)
    assert len([one for one in outcome.changes if "moved_to" in one]) == 3
    assert sh("true", root).ok


def test_a_thousand_repositories_can_be_protected(root: Path) -> None:
    for number in range(1100):
        (root / str(number) / ".git").mkdir(parents=True)
    assert sh("true", root).ok


def test_a_swapped_folder_does_not_lead_out_of_the_root(root: Path, tmp_path: Path) -> None:
    """What is taken away is found below the root without links, whatever a command does to the folders."""
    outside = tmp_path / "outside"
    (outside / ".claude").mkdir(parents=True)
    guard = shared_sandbox().guard(Profile("workspace-write", [root]), shared_spawner(), ours())
    (root / "a").mkdir()
    (root / "a" / ".claude").mkdir()
    changes = compare(guard._before, guard.plan, shared_sandbox().memory.surveyor)
    (root / "a").rename(root / "b")
    (root / "a").symlink_to(outside)
    assert [guard._undo(change, 0).moved_to for change in changes] == [""]
    assert (outside / ".claude").is_dir()
    shared_sandbox().watched.stuck.clear()


def test_a_guard_can_be_sent(root: Path) -> None:
    repository(root)
    guard = shared_sandbox().guard(Profile("workspace-write", [root]), shared_spawner(), ours())
    from marshal import dumps, loads

    other = Guard.from_fields(shared_sandbox(), loads(dumps(guard.to_fields())))
    (root / ".envrc").write_text("x")
    assert [change.path for change in other.look()] == [str(root / ".envrc")]
    assert not (root / ".envrc").exists()
    assert guard.look() == ()


def test_a_plan_that_was_kept_protects_what_came_since(root: Path) -> None:
    plan = agent_exec.warm(Profile("workspace-write", [root]), 0)
    repository(root / "new")
    (root / ".vscode").mkdir()
    out = agent_exec.run(["sh", "-c", "echo x >new/.git/config; echo x >.vscode/y"], cwd=root, sandbox=plan)
    assert out.exit_code
    assert (root / "new" / ".git" / "config").read_text() != "x\n"


def test_what_is_ours_is_hidden_from_every_command(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        (root / variable / "agent-exec").mkdir(parents=True)
        (root / variable / "agent-exec" / "file").write_text("secret")
        monkeypatch.setenv(variable, str(root / variable))
    (root / "jobs").mkdir()
    (root / "jobs" / "file").write_text("secret")
    monkeypatch.setenv("AGENT_EXEC_ROOT", str(root / "jobs"))
    out = sh("cat */agent-exec/file jobs/file; echo forged >jobs/file; mv jobs other", root)
    assert out.stdout == b""
    assert (root / "jobs" / "file").read_text() == "secret"


def test_a_job_has_it_taken_away_while_it_runs(root: Path, tmp_path: Path) -> None:
    jobs = agent_exec.open_jobs(str(tmp_path / "store"))
    job = jobs.run(
        ["sh", "-c", "echo hook >.envrc; exec sleep 600"],
        cwd=str(root),
        sandbox=Profile("workspace-write", [root]),
        observe=0,
    )
    wait_until(lambda: any(".blocked-" in name for name in os.listdir(root)))
    ended = jobs.kill(job["job_id"])
    assert ended["state"] == "killed"
    (change,) = jobs.status(job["job_id"])["sandbox"]["protected_changes"]
    assert change["path"] == str(root / ".envrc")


@pytest.mark.parametrize("how", ["protected", "masked", "absent"])
def test_a_command_ends_when_the_host_replaces_what_is_protected_or_hidden(root: Path, how: str) -> None:
    """A mount over a single file comes off when another file is renamed over it."""
    held = root / ".mcp.json" if how == "protected" else root / "secret"
    if how != "absent":
        held.write_text("old")
    deny = ["secret"] if how != "protected" else []
    line = f"echo up >up; while :; do cat {held.name} >>seen 2>/dev/null; echo evil >>{held.name}; sleep 0.01; done"
    with agent_exec.Engine() as engine:
        profile = Profile("workspace-write", [root], deny_read=deny)
        run = engine.start(agent_exec.Command(["sh", "-c", line], cwd=root), sandbox=profile)
        if how != "absent":
            wait_until((root / "up").exists)
            (root.parent / "new").write_text("new")
            (root.parent / "new").rename(held)
        with pytest.raises(agent_exec.AgentExecError, match="was replaced while the command ran"):
            run.outcome()


def test_what_another_command_made_is_taken_away_without_harm_to_this_one(root: Path) -> None:
    """It was there when this one was planned, and is protected; it may not be made anew either."""
    (root / ".claude").mkdir()
    with agent_exec.Engine() as engine:
        line = "until mkdir .claude 2>/dev/null; do touch up; sleep 0.01; done; touch made; sleep 600"
        run = engine.start(
            agent_exec.Command(["sh", "-c", line], cwd=root), sandbox=Profile("workspace-write", [root])
        )
        wait_until((root / "up").exists)
        moved = Path(changes.take_away(str(root / ".claude"), [str(root)]))
        wait_until((root / "made").exists)
        assert isinstance(run.guard, Guard)
        (change,) = run.guard.look()
        assert (change.path, change.what) == (str(root / ".claude"), "appeared")
        assert not (root / ".claude").exists()
        assert {*root.glob(".claude*")} == {moved, Path(change.moved_to)}
        run.stop()
        assert run.outcome().cause == "stopped"


def test_commands_that_run_at_once_do_not_end_each_other(root: Path) -> None:
    """All make what must not be there; a box that another's end has spoiled is refused before its start."""

    def make(number: int) -> str:
        try:
            outcome = sh(f"mkdir -p .claude; echo x >.claude/{number}; true", root)
        except PlanFailed as error:
            return error.code if error.retryable else "not retryable"
        return "" if outcome.ok and told(outcome, root).keys() <= {".claude"} else repr(outcome)

    with ThreadPoolExecutor(12) as pool:
        results = set(pool.map(make, range(48)))
    assert "" in results
    assert results <= {"", "sandbox_unavailable"}
    assert not (root / ".claude").exists()
    assert sh("true", root).ok


def test_a_session_reports_what_was_removed_and_when(root: Path, tmp_path: Path) -> None:
    with agent_exec.open_tools(workspace=str(root), sandbox=Profile("workspace-write", [root])) as tools:
        first = tools.call(
            "exec_command", {"cmd": "echo x >.envrc; read x; echo y >.npmrc; read x", "tty": True}
        )
        assert first.structured is not None
        assert [one["path"] for one in first.structured["sandbox"]["protected_changes"]] == [
            str(root / ".envrc")
        ]
        assert "[sandbox] protected: " in first.text
        assert "--unprotect NAME" in first.text
        assert not (root / ".envrc").exists()
        number = first.structured["session_id"]
        second = tools.call("write_stdin", {"session_id": number, "chars": "\n"})
        assert second.structured is not None
        assert [one["path"] for one in second.structured["sandbox"]["protected_changes"]] == [
            str(root / ".npmrc")
        ]
        tools.call("kill_session", {"session_id": number})


def test_what_a_session_made_unseen_is_not_taken_for_the_users(root: Path) -> None:
    """A command that goes on after its answer makes a name; the next command must not find it protected."""
    with agent_exec.open_tools(workspace=str(root), sandbox=Profile("workspace-write", [root])) as tools:
        cmd = "while [ ! -e go ]; do sleep 0.01; done; mkdir .claude; echo > made; sleep 600"
        tools.call("exec_command", {"cmd": cmd, "yield_time_ms": 250})
        (root / "go").touch()
        wait_until((root / "made").exists)
        tools.call("exec_command", {"cmd": "true"})
        assert not (root / ".claude").exists()


def test_every_file_that_a_setting_of_git_names_is_protected(root: Path) -> None:
    repository(root)
    (root / "tool.sh").write_text("fine")
    for name, value in (
        ("pager.log", "./tool.sh"),
        ("submodule.x.update", "!./tool.sh -x"),
        ("mergetool.x.path", "./tool.sh"),
        ("sendemail.toCmd", "./tool.sh"),
        ("gpg.ssh.defaultKeyCommand", "./tool.sh"),
        ("some.thing.new", "./tool.sh"),
    ):
        git(root, "config", name, value)
        assert not sh("echo evil >tool.sh", root).ok
        git(root, "config", "--unset", name)
    assert (root / "tool.sh").read_text() == "fine"
    assert sh("echo now >tool.sh", root).ok


def test_a_secret_that_a_mount_hides_is_watched(root: Path, tmp_path: Path) -> None:
    """What lies outside of homes may be hidden by a mount of its own, which a rename takes off."""
    plan = (
        shared_sandbox()
        .guard(Profile("workspace-write", [root], deny_read=["/etc/passwd"]), shared_spawner(), ours())
        .plan
    )
    assert "/etc/passwd" in dict(plan.held)


_NESTED = [
    pytest.param(
        "git config a.b c && printf '[a][core] fsmonitor = ./x\n' >>.git/config", id="two headers on a line"
    ),
    pytest.param("git config filter.x.clean 'git-lfs clean || ./x'", id="more than git-lfs"),
    pytest.param("git config core.hooksPath on", id="a folder that is called on"),
    pytest.param("git config alias.st '-c core.fsmonitor=./x status'", id="an alias with options"),
    pytest.param("git config protocol.ext.allow always", id="a protocol that runs commands"),
    pytest.param("git config merge.tool ../../x", id="a tool by its path"),
    pytest.param("git config gc.recentObjectsHook ./x", id="a hook in the settings"),
    pytest.param(
        "mkdir -p .git/hooks; touch .git/hooks/pre-commit; chmod 111 .git/hooks", id="hooks nobody lists"
    ),
    pytest.param("ln -s . l; touch f; git config a.b ./l/f", id="what no plan can protect"),
]


@pytest.mark.parametrize("line", _NESTED)
def test_every_spelling_of_a_dangerous_repository_is_taken_away(root: Path, line: str) -> None:
    outcome = sh(f"git init -q && {line}", root)
    changes = told(outcome, root)
    assert changes[".git"], outcome
    assert not (root / ".git").exists()
    assert not (Path(changes[".git"]) / "HEAD").exists(), "it is a repository under its new name"
    assert sh("true", root).ok, "the next command must not be refused"


_POINTING = [
    pytest.param(
        "echo ../.. >R/worktrees/x/commondir; cp config R/config", id="settings of the shared folder"
    ),
    pytest.param(
        "mkdir -p E/objects E/refs/a/b; cp config E; ln -s ../../../E/refs/a/b R/worktrees/x/l;"
        " echo l/../../.. >R/worktrees/x/commondir",
        id="a shared folder behind a link",
    ),
    pytest.param("git init -q ' x'; cp -r E ' x/.git/e'; printf 'gitdir:  x/.git/e' >.git", id="two blanks"),
    pytest.param("git init -q x; cp -r E x/.git/e; printf 'gitdir: x/.git/e\\0y' >.git", id="a null"),
    pytest.param("ln -s . l; git init -q x; echo 'gitdir: l/x/.git' >.git", id="a link on the way"),
]


@pytest.mark.parametrize("line", _POINTING)
def test_a_file_that_leads_to_a_dangerous_repository_is_taken_away(root: Path, line: str) -> None:
    made = (
        "mkdir -p s && cd s && mkdir -p R/objects R/refs R/worktrees/x && echo 'ref: refs/heads/m' >R/worktrees/x/HEAD;"
        "printf '[core]\\nrepositoryformatversion = 0\\nfsmonitor = ./x\\n' >config;"
        "git init -q --bare E; cat config >>E/config; echo 'gitdir: R/worktrees/x' >.git;"
    )
    outcome = sh(made + line, root)
    assert told(outcome, root)["s/.git"], outcome
    assert not (root / "s" / ".git").exists()
    assert sh("true", root).ok, "the next command must not be refused"


_EVIL = (
    "mkdir -p F/objects F/refs; echo 'ref: refs/heads/m' >F/HEAD;"
    "printf '[core]\\nrepositoryformatversion = 0\\nfsmonitor = \"touch %s/ran; false\"\\n' $PWD >F/config"
)
"""A repository in F that has git run something."""


@pytest.mark.parametrize("path", ["../.git/f", "../.git/modules/f", "/proc/self/cwd/../.git/f"])
@pytest.mark.parametrize("mode", ["read-only", "commit"])
def test_a_file_that_leads_into_a_known_repository_is_judged(root: Path, path: str, mode: str) -> None:
    """Not all in a repository's folder is protected, and some was made before the repository was known."""
    hidden = _EVIL.replace("F/", f".git/{path.partition('.git/')[2]}/")
    sh(f"git init -q; {hidden}", root, git=mode)
    if not (root / ".git").exists():  # judged by then
        assert "modules" in path
        repository(root)
    outcome = sh(
        f"test {mode} != commit || {{ {hidden}; }}; mkdir s; echo 'gitdir: {path}' >s/.git", root, git=mode
    )
    subprocess.run(["git", "status"], cwd=root / "s", capture_output=True, check=False)
    assert not (root / "ran").exists(), outcome
    if path.startswith("/proc") or mode == "commit":
        assert told(outcome, root)["s/.git"], outcome


@pytest.mark.parametrize("line", ["true", "mv .git/modules/f .git/f; ln -s ../f .git/modules/f"])
def test_a_repository_with_a_module_that_runs_something_is_taken_away(root: Path, line: str) -> None:
    """`git submodule update --init` takes a module for its own that is there already."""
    outcome = sh(f"git init -q; {_EVIL.replace('F/', '.git/modules/f/')}; {line}", root)
    assert told(outcome, root)[".git"], outcome
    assert not (root / ".git").exists()


def test_a_root_does_not_become_a_repository_itself(root: Path) -> None:
    made = "mkdir objects refs sub .vscode; echo 'ref: refs/heads/m' >HEAD; echo 'gitdir: ..' >sub/.git"
    outcome = sh(
        f"{made}; printf '[core]\\nfsmonitor = ./x\\n' >config; git init -q --bare in; echo >in/.mcp.json",
        root,
    )
    assert {path for path, moved in told(outcome, root).items() if moved} == {
        ".",
        ".vscode",
        "in/.mcp.json",
        "sub/.git",
    }
    assert not {"HEAD", ".vscode"} & set(os.listdir(root))
    assert sh("true", root).ok, "the next command must not be refused"


def test_what_is_obeyed_in_what_is_taken_away_is_taken_away_too(root: Path) -> None:
    outcome = sh(
        "mkdir -p .vscode/a; cd .vscode/a; git init -q; git config core.fsmonitor ./x; echo >.envrc", root
    )
    changes = told(outcome, root)
    assert set(changes) == {".vscode", ".vscode/a/.git", ".vscode/a/.envrc"}
    assert all(os.path.lexists(moved) for moved in changes.values())
    assert not {".git", ".envrc"} & set(os.listdir(os.path.join(changes[".vscode"], "a")))


def test_folders_that_a_command_has_closed_are_looked_into(root: Path) -> None:
    outcome = sh("mkdir -p d/e/.vscode r/.github; chmod 555 r; chmod 111 d", root)
    try:
        assert set(told(outcome, root)) == {"d/e/.vscode", "r/.github"}
        assert all(told(outcome, root).values())
        assert [stat.S_IMODE((root / name).stat().st_mode) for name in ("d", "r")] == [0o111, 0o555]
        assert sh("true", root).ok, "the next command must not be refused"
    finally:
        for name in ("d", "r"):
            (root / name).chmod(0o755)


def test_submodules_and_worktrees_stay(root: Path) -> None:
    ids = "git config user.name a; git config user.email b; git commit -q --allow-empty -m x"
    outcome = sh(
        f"for r in s m; do git init -q $r; (cd $r; {ids}); done; cd m;"
        " git -c protocol.file.allow=always submodule --quiet add ../s s; git worktree add -q ../w",
        root,
    )
    assert {"m/.git", "m/s/.git", "w/.git"} <= set(told(outcome, root)), outcome
    assert not any(told(outcome, root).values()), outcome
    assert sh("cd m/s && git log -1 && cd ../../w && git log -1", root).ok
