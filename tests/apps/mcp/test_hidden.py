"""What a box hides, over the protocol: the output of other projects' jobs, and secrets; a refused read is named as one."""

import os
from pathlib import Path
from typing import Any

import pytest

from apps.mcp.talking import Client, talk, text
from cli import Cli

LINE = "cat {log}; ls {root} | wc -l"
TOOLS: dict[str, tuple[str, Any]] = {
    "jobs": ("run", lambda line: {"command": ["sh", "-c", line]}),
    "session": ("exec_command", lambda line: {"cmd": line, "login": False}),
    "oneshot": ("exec_command", lambda line: {"command": f"sh -c '{line}'"}),
}


@pytest.mark.parametrize("toolset", ["jobs", "session", "jobs,session"])
def test_no_box_reads_the_output_of_jobs_of_other_projects(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toolset: str
) -> None:
    monkeypatch.setenv("AGENT_EXEC_ROOT", str(cli.root))
    other, place = tmp_path / "other", tmp_path / "project"
    other.mkdir()
    place.mkdir()
    job = cli("run", "--", "echo", "secret-of-another-project", cwd=other)
    log = Path(job["stdout_log_path"])
    assert log.read_text() == "secret-of-another-project\n"

    async def work(client: Client) -> None:
        for name in toolset.split(","):
            tool, asked = TOOLS[name]
            told = text(await client.call_tool(tool, asked(LINE.format(log=log, root=cli.root))))
            assert "secret-of-another-project" not in told
            assert "\n0" in told or "0\\n" in told, "the folder of jobs is not seen, or empty"

    talk(work, "-m", "agent_exec", "mcp", "--toolset", toolset, "--workspace", place)


@pytest.mark.skipif(os.getuid() != 0, reason="only root could read the file without a sandbox")
@pytest.mark.parametrize("toolset", ["jobs", "session"])
def test_a_refused_read_is_named_as_a_read(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toolset: str
) -> None:
    monkeypatch.setenv("AGENT_EXEC_ROOT", str(cli.root))

    async def work(client: Client) -> None:
        tool, asked = TOOLS[toolset]
        told = text(await client.call_tool(tool, asked("cat /etc/shadow")))
        assert "deny_read hides /etc/shadow" in told
        assert "sandbox explain" in told
        assert "read-only outside" not in told

    talk(work, "-m", "agent_exec", "mcp", "--toolset", toolset, "--workspace", tmp_path)
