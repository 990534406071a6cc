"""Rules over the protocol: programs that take code and rules go together, and a call does what explain says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from apps.mcp.talking import Client, jobs, talk, text

RULES = """\
[[rule]]
prefix = ["git", "push"]
verdict = "ask"

[[rule]]
prefix = ["python3"]
verdict = "allow"
"""


def doors(rules: Path, line: str) -> dict[str, str]:
    words = ["policy", "explain", "--rules", str(rules), "--line", line]
    told = subprocess.run([sys.executable, "-m", "agent_exec", *words], stdout=subprocess.PIPE, check=True)
    found: dict[str, str] = json.loads(told.stdout)["doors"]
    return found


@pytest.mark.parametrize("sandbox", ["full-access", "workspace-write"])
def test_a_repl_and_rules_go_together(tmp_path: Path, sandbox: str) -> None:
    rules, place = tmp_path / "rules.toml", tmp_path / "work"
    rules.write_text(RULES)
    place.mkdir()
    (place / "x.py").write_text("print(6*7)\n")

    async def work(client: Client) -> None:
        repl = {"cmd": "python3 -q", "tty": True, "login": False, "wait_for": "match:>>> "}
        result = await client.call_tool("exec_command", repl)
        number = result.structured_content["session_id"]
        typed = {"session_id": number, "chars": "6*7\n", "wait_for": "match:42"}
        assert "42" in text(await client.call_tool("write_stdin", typed))
        await client.call_tool("kill_session", {"session_id": number})
        for line in ("python3 -c 'print(6*7)'", "echo 'print(6*7)' | python3", "python3 x.py"):
            assert doors(rules, line)["mcp"] == "run"
            assert "42" in text(await client.call_tool("exec_command", {"cmd": line, "login": False}))
        line = "python3 -c 'import os; os.system(\"git push\")'"
        assert (doors(rules, line)["mcp"], doors(rules, line)["cli"]) == ("ask", "refuse")
        assert "approv" in text(await client.call_tool("exec_command", {"cmd": line, "login": False}))

    talk(work, *jobs("--toolset", "session", "--sandbox", sandbox, "--rules", rules, "--workspace", place))
