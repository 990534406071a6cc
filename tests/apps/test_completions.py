"""completions: a script for each shell, and the words that it asks for."""

import shutil
import subprocess
from pathlib import Path

import pytest

from agent_exec.apps.cli.completions import candidates
from agent_exec.apps.options import VERBS
from cli import PROGRAM, Cli

SHELLS = ("bash", "zsh", "fish", "powershell")


def words(cli: Cli, *typed: str, cwd: Path | None = None) -> list[str]:
    out = cli.raw("completions", "words", "--", "agent-exec", *typed, cwd=cwd)
    assert (out.returncode, out.stderr) == (0, b"")
    return [line.partition("\t")[0] for line in out.stdout.decode().splitlines()]


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script_that_it_can_read(cli: Cli, shell: str) -> None:
    out = cli.raw("completions", shell)
    assert (out.returncode, out.stderr) == (0, b"")
    assert b"agent-exec completions words" in out.stdout
    program = shutil.which("pwsh" if shell == "powershell" else shell)
    if program is None or shell == "powershell":
        return
    subprocess.run([program, "-n"], input=out.stdout, check=True)


@pytest.mark.parametrize("typed", [[], ["elvish"], ["bash", "zsh"]], ids=str)
def test_other_shells_are_refused(cli: Cli, typed: list[str]) -> None:
    out = cli.raw("completions", *typed)
    assert (out.returncode, out.stdout) == (2, b"")
    assert b"bash, zsh, fish, powershell" in out.stderr


def test_bash_completes_by_its_script(cli: Cli) -> None:
    job_id = cli.start("sleep", "60")
    script = cli.raw("completions", "bash").stdout.decode()
    line = f"{script}COMP_WORDS=(agent-exec kill 0); COMP_CWORD=2; _agent_exec; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    env = {**cli.env, "PATH": f"{PROGRAM.parent}:{cli.env['PATH']}"}
    out = subprocess.run(
        ["bash", "-c", line], env=env, cwd=cli.cwd, capture_output=True, text=True, check=True
    )
    assert out.stdout.split() == [job_id]


def test_verbs_and_their_words_and_options() -> None:
    assert [word for word, _ in candidates([""])] == list(VERBS)
    assert [word for word, _ in candidates(["st"])] == [name for name in VERBS if name.startswith("st")]
    assert [word for word, _ in candidates(["help", "sch"])] == ["schema"]
    assert [word for word, _ in candidates(["completions", ""])] == [*SHELLS, "words"]
    assert [word for word, _ in candidates(["sandbox", ""])] == ["run", "explain", "doctor"]
    assert ("--merged", "both streams in order of arrival, with timestamps") in candidates(["tail", "--me"])
    assert [word for word, _ in candidates(["tail", "W5QC", "--roo"])] == ["--root"]
    assert [word for word, _ in candidates(["kill", "--signal", "K"])] == ["KILL"]
    assert candidates(["run", "--cwd", ""]) == [], "the shell completes files"


def test_jobs_of_this_folder_in_a_state_that_the_verb_is_for(cli: Cli, tmp_path: Path) -> None:
    ended = cli("run", "--tag", "build.linux", "--", "true")["job_id"]
    live = cli.start("sleep", "60")
    cli("run", "--cwd", tmp_path, "--tag", "elsewhere", "--", "true")
    named = [live, ended, "last", "@build.linux"]
    assert words(cli, "status", "") == words(cli, "tail", "--lines", "5", "") == named
    assert words(cli, "kill", "") == [live]
    assert words(cli, "delete", "") == words(cli, "rm", "") == [ended]
    assert words(cli, "status", ended, "") == [], "it takes one"
    assert words(cli, "status", ended[:12]) == [job for job in (live, ended) if job.startswith(ended[:12])]
    assert words(cli, "list", "--tag", "") == ["build.linux"]


def test_the_store_that_is_named_is_asked(cli: Cli, tmp_path: Path) -> None:
    job_id = cli("--root", tmp_path / "named", "run", "--", "true")["job_id"]
    assert words(cli, "--root", str(tmp_path / "named"), "status", "") == [job_id, "last"]
    assert words(cli, "--root", str(tmp_path / "missing"), "status", "") == []


@pytest.mark.parametrize(
    ("shell", "place"),
    [
        ("bash", "data/bash-completion/completions/agent-exec"),
        ("zsh", "data/zsh/site-functions/_agent-exec"),
        ("fish", "config/fish/completions/agent-exec.fish"),
    ],
)
def test_a_script_is_installed_where_its_shell_looks(
    cli: Cli, tmp_path: Path, shell: str, place: str
) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    said = cli.raw("completions", shell, "--install", env=env)
    assert said.stdout.decode().startswith(f"{tmp_path / place} is written; ")
    assert (tmp_path / place).read_bytes() == cli.raw("completions", shell).stdout
    assert cli.raw("completions", "powershell", "--install", env=env).returncode == 2
