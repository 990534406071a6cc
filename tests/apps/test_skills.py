"""install-skills: what coding agents read about this program, where they look for it."""

import re
from pathlib import Path

import pytest

from agent_exec.apps.cli import skills
from agent_exec.apps.options import GLOBAL, SAME_OPTIONS, VERBS
from cli import Cli


@pytest.mark.parametrize("words", [(), ("--claude",), ("--global",), ("--global", "--claude")], ids=str)
def test_the_skill_is_written_where_agents_look(cli: Cli, tmp_path: Path, words: tuple[str, ...]) -> None:
    base = tmp_path / "home" if "--global" in words else cli.cwd
    path = base / (".claude" if "--claude" in words else ".agents") / "skills" / "agent-exec" / "SKILL.md"
    env = {"HOME": str(tmp_path / "home")}
    planned = cli("install-skills", *words, "--dry-run", env=env)
    assert not path.exists()
    answer = cli("install-skills", *words, env=env)
    assert (
        answer["skills"]
        == planned["skills"]
        == [{"name": "agent-exec", "source_type": "embedded", "path": str(path), "action": "created"}]
    )
    head, _, text = path.read_text().removeprefix("---\n").partition("\n---\n")
    assert "name: agent-exec\n" in head
    assert len(text.split()) < 600, "an agent reads all of it"
    assert cli("install-skills", *words, env=env)["skills"][0]["action"] == "unchanged"
    path.write_text("an older one")
    assert cli("install-skills", *words, env=env)["skills"][0]["action"] == "updated"
    assert "agent-exec run" in path.read_text()


def test_all_that_the_skill_names_exists() -> None:
    text = Path(skills._SOURCE).read_text()
    commands = re.findall(r"agent-exec ([a-z-]+)([^`|]*)", text.partition("\n# ")[2])
    assert len(commands) > 8
    for verb, rest in commands:
        assert verb in VERBS, verb
        known = {option[0] for option in (*GLOBAL, *VERBS[verb].options)} | SAME_OPTIONS.keys()
        assert set(re.findall(r" --([a-z-]+)", rest.partition(" -- ")[0])) <= known, rest


def test_a_folder_that_cannot_be_written_is_reported(cli: Cli) -> None:
    (cli.cwd / ".agents").write_text("a file")
    answer = cli("install-skills")
    assert (answer["error"]["code"], answer.code) == ("config_failed", 1)
    assert cli.raw("install-skills", "x").returncode == 2
