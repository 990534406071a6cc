"""A call pays for nothing that it does not use."""

import subprocess
import sys
from pathlib import Path

import pytest

from cli import Cli

SOURCE = Path(__file__).parents[2] / "src"
HEAVY = {
    "argparse",
    "asyncio",
    "ctypes",
    "dataclasses",
    "datetime",
    "enum",
    "hashlib",
    "json",
    "logging",
    "pathlib",
    "random",
    "re",
    "shutil",
    "signal",
    "socket",
    "subprocess",
    "tempfile",
    "threading",
    "typing",
}


def loaded_by(cli: Cli, *words: str) -> set[str]:
    """Return the modules that are loaded when a call is over."""
    code = (
        f"import sys; sys.path.append({str(SOURCE)!r})\n"
        "from agent_exec.apps.main import main\n"
        "code = main(sys.argv[1:])\n"
        "sys.stderr.write(' '.join(sys.modules))\n"
        "sys.exit(code)"
    )
    out = subprocess.run(
        [sys.executable, "-IS", "-c", code, *words],
        capture_output=True,
        text=True,
        env=cli.env,
        cwd=cli.cwd,
        check=True,
    )
    assert out.stdout.startswith('{"schema_version"')
    return set(out.stderr.split())


@pytest.mark.parametrize(
    "words",
    [
        ["status", "{id}"],
        ["tail", "{id}"],
        ["tail", "{id}", "--merged"],
        ["wait", "{id}"],
        ["kill", "{id}"],
        ["list"],
        ["ps", "--all"],
        ["delete", "{id}"],
        ["gc"],
        ["schema"],
        ["run", "--", "true"],
        ["run", "--wait", "--stdin", "x", "--env", "A=b", "--", "cat"],
    ],
    ids=" ".join,
)
def test_imports(cli: Cli, words: list[str]) -> None:
    job_id = cli("run", "--", "echo", "hello")["job_id"]
    loaded = loaded_by(cli, *(word.replace("{id}", job_id) for word in words))
    assert "agent_exec.apps.main" in loaded
    assert not loaded & HEAVY


def test_status_loads_no_supervisor(cli: Cli) -> None:
    job_id = cli("run", "--", "true")["job_id"]
    loaded = {name for name in loaded_by(cli, "status", job_id) if name.startswith("agent_exec.")}
    assert "agent_exec.jobs.record" in loaded
    assert not {
        name for name in loaded if name.startswith(("agent_exec.engine", "agent_exec.jobs.supervise"))
    }


def test_without_rules_a_run_loads_no_judge(cli: Cli, tmp_path: Path) -> None:
    cli.env = {**cli.env, "XDG_CONFIG_HOME": str(tmp_path / "none")}
    judge = ("agent_exec.policy", "agent_exec.requests.gate", "agent_exec.requests.rulefile")
    assert not {name for name in loaded_by(cli, "run", "--", "true") if name.startswith(judge)}
    assert {name for name in loaded_by(cli, "run", "--", "echo", "kill") if name.startswith(judge)}
