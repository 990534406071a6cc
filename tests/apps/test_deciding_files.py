"""Files that decide what commands may do are no files that commands may write: every door refuses them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import agent_exec
from agent_exec.faces.jobs import open_jobs
from agent_exec.model.errors import InvalidArgument
from agent_exec.requests.leaving import keep_out
from agent_exec.sandbox.profile import Profile
from cli import Cli


@pytest.fixture
def rules(cli: Cli) -> Path:
    file = cli.cwd / "rules.toml"
    file.write_text('[[rule]]\nprefix = ["rm"]\nverdict = "deny"\n')
    return file


@pytest.fixture
def profile(cli: Cli) -> Path:
    file = cli.cwd / "p.json"
    file.write_text(json.dumps({"name": "workspace-write", "roots": [str(cli.cwd)]}))
    return file


def test_by_the_program(cli: Cli, rules: Path, profile: Path, tmp_path: Path) -> None:
    confined = ("--sandbox", "workspace-write")
    for words in (
        ("run", *confined, "--rules", rules, "--", "touch", "made"),
        ("run", "--sandbox", profile, "--", "touch", "made"),
        ("sandbox", "--profile", profile, "run", "--", "touch", "made"),
    ):
        told = cli(*words)
        assert told["error"]["code"] == "invalid_argument", told
        assert "lies where they may write: move it out" in told["error"]["message"]
    served: tuple[tuple[object, ...], ...] = (
        ("mcp", "--workspace", cli.cwd, "--policy", rules),
        ("mcp", "--sandbox", profile),
        ("shell", *confined, "--sandbox-root", cli.cwd, "--rules", rules),
    )
    for verb in served:
        done = cli.raw(*verb)
        assert done.returncode == 2, done
        assert b"lies where they may write: move it out" in done.stderr + done.stdout
    assert not (cli.cwd / "made").exists()
    assert cli("run", "--sandbox", "read-only", "--rules", rules, "--", "true")["ok"]


def doors(rules: Path, box: Profile) -> list[Callable[[], object]]:
    allowed = {"tools": {"exec_command": "allow"}}
    return [
        lambda: agent_exec.open_tools(workspace=box.roots[0], rules=str(rules), sandbox=box),
        lambda: agent_exec.create_agent_toolkit(box.roots[0], allowed, rules=rules, sandbox=box),
        lambda: open_jobs(str(rules) + ".jobs", rules=str(rules)).run(["true"], sandbox=box),
    ]


@pytest.mark.parametrize("number", range(3))
def test_from_python(cli: Cli, rules: Path, number: int) -> None:
    with pytest.raises(InvalidArgument, match="move it out"):
        doors(rules, Profile("workspace-write", [str(cli.cwd)]))[number]()


def test_links_in_and_out_are_the_same(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "rules.toml").write_text("")
    (outside / "rules.toml").write_text("")
    (outside / "in").symlink_to(root / "rules.toml")
    (root / "out").symlink_to(outside / "rules.toml")
    box = Profile("workspace-write", [str(root)])
    for path in (root / "rules.toml", outside / "in", root / "out", root / "sub" / ".." / "rules.toml"):
        (root / "sub").mkdir(exist_ok=True)
        with pytest.raises(InvalidArgument, match="lies where they may write"):
            keep_out([str(path)], box)
    keep_out([str(outside / "rules.toml"), str(root / "missing")], box)
    for other in (None, Profile("full-access"), Profile("read-only", [str(root)])):
        keep_out([str(root / "rules.toml")], other)
