"""The configuration file: defaults of run, the shell, rules, profiles and automatic collection."""

import os
from pathlib import Path

import pytest
import yaml

from apps.test_gc import age, make, there
from apps.test_startup import said_by
from cli import Cli
from support import wait_until


@pytest.fixture
def config(cli: Cli) -> Path:
    """The place of the user's own configuration."""
    folder = Path(cli.env["XDG_CONFIG_HOME"]) / "agent-exec"
    folder.mkdir(parents=True)
    return folder / "config.toml"


def test_defaults_of_run(cli: Cli, config: Path) -> None:
    config.write_text(
        '[run]\ntimeout = "1h"\nkill_after = "3s"\ntail_lines = 1\nmax_log_bytes = 100\nwait = true\n'
    )
    told = cli("run", "--", "sh", "-c", "echo one; echo two")
    assert (told["timeout_ms"], told["kill_after_ms"]) == (3_600_000, 3000)
    assert told["snapshot"]["stdout_tail"] == "two"
    assert cli("status", told["job_id"])["max_log_bytes"] == 100
    given = cli("run", "--timeout", "0", "--tail-lines", 5, "--no-wait", "--", "true")
    assert given["timeout_ms"] is None
    assert "snapshot" not in given


def test_an_option_and_a_variable_name_another_file(cli: Cli, config: Path, tmp_path: Path) -> None:
    config.write_text("[run]\ntail_lines = 1\n")
    other = tmp_path / "other.toml"
    other.write_text('[run]\ntimeout = "2h"\n')
    words = ("run", "--", "true")
    assert cli("--config", other, *words)["timeout_ms"] == 7_200_000
    assert cli(*words, env={"AGENT_EXEC_CONFIG": str(other)})["timeout_ms"] == 7_200_000
    assert (
        cli("run", "--config", config, "--", "true", env={"AGENT_EXEC_CONFIG": str(other)})["timeout_ms"]
        is None
    )
    assert cli(*words, env={"AGENT_EXEC_CONFIG": ""})["timeout_ms"] is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[gc]\nauto = true\nmax_job = 5\n", "config.toml:3: [gc] has no 'max_job'; did you mean max_jobs?"),
        ("[shel]\n", "config.toml:1: this file has no 'shel'; did you mean shell?"),
        ("gc = 1\n", "config.toml:1: this file gc must be a table; got 1; write [gc] and keys below it"),
        ('[shell]\nunix = "sh"\n', "config.toml:2: [shell] unix must be a list of words"),
        ("\n[run]\ntimeout = 60\n", "config.toml:3: [run] timeout must be a time with its unit"),
        ('[run]\nsandbox = "workspace"\n', "there is no profile 'workspace'; did you mean workspace-write?"),
        ('[run]\nnet = "on"\n', "config.toml:2: [run] net needs a sandbox"),
        ('[run]\nwait = true\nuntil = "1s"\n', "wait and until contradict each other"),
        ("[profiles.mine]\n\nunprotekt = []\n", "config.toml:3: [profiles.mine]: profile has an unknown field"),
        ("[profiles.mine.limits]\nprocs = 0\n", "config.toml:2: [profiles.mine]: limits.procs must be"),
        ("[profiles.read-only]\n", "config.toml:1: [profiles.read-only]: this name is taken"),
        ('[policy]\nrule = "x"\n', "config.toml:2: [policy] has no 'rule'; did you mean rules?"),
        ("[run\n", "config.toml:1: this is not TOML"),
    ],
)  # fmt: skip
def test_a_mistake_is_found_on_its_line_and_nothing_is_run(
    cli: Cli, config: Path, text: str, message: str
) -> None:
    config.write_text(text)
    told = cli("run", "--", "touch", "made")
    assert (told.code, told["error"]["code"]) == (1, "config_error")
    assert message in told["error"]["message"]
    assert told["error"]["details"]["file"] == str(config)
    assert not (cli.cwd / "made").exists()


def test_a_file_that_cannot_be_read_is_said(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"\n\xff")
    for file, message in (
        ("nowhere", "No such file"),
        (tmp_path, "directory"),
        (tmp_path / "bytes", ":2: this is not UTF-8"),
    ):
        told = cli("run", "--config", file, "--", "true")
        assert told["error"]["code"] == "config_error", told
        assert message in told["error"]["message"]


def test_a_shell_reads_commands_if_it_is_configured(cli: Cli, config: Path) -> None:
    assert cli("run", "--", "echo $0")["error"]["code"] == "command_not_found"
    assert cli("run", "--shell-wrapper", "sh -c", "--", "echo $0 a")["stdout"] == "sh a\n"
    config.write_text('[shell]\nunix = ["bash", "-c"]\n[compression]\ndefault = "off"\n')
    assert cli("run", "--", "echo $0 a")["stdout"] == "bash a\n"
    assert cli("run", "--shell", "--", "echo $0 b")["stdout"] == "bash b\n"
    assert cli("run", "--", "echo", "$0", "it's")["stdout"] == "$0 it's\n"
    assert cli("run", "--shell-wrapper", "sh -c", "--", "echo $0 a")["stdout"] == "sh a\n"
    assert cli.raw("run", "--shell-wrapper", " ", "--", "true").returncode == 2


def test_rules_of_the_configuration_are_in_force(cli: Cli, config: Path, tmp_path: Path) -> None:
    (config.parent / "mine.toml").write_text(
        '[[rule]]\nprefix = ["touch"]\nverdict = "deny"\nreason = "no"\n'
    )
    config.write_text('[policy]\nrules = "mine.toml"\n[shell]\nunix = ["sh", "-c"]\n')
    for words in (("touch", "made"), ("touch made",)):
        assert cli("run", "--", *words)["error"]["code"] == "command_denied"
    assert cli("policy", "explain", "--", "touch", "x")["rules"] == str(config.parent / "mine.toml")
    (tmp_path / "empty.toml").touch()
    assert cli("run", "--rules", tmp_path / "empty.toml", "--", "touch", "made")["ok"]
    assert cli("run", "--", "touch", "made", env={"AGENT_EXEC_RULES": str(tmp_path / "empty.toml")})["ok"]


def test_profiles_have_names(cli: Cli, config: Path) -> None:
    config.write_text('[profiles.mine]\nname = "read-only"\n[run]\nsandbox = "mine"\n')
    told = cli("run", "--", "touch", "made")
    assert told["sandbox"]["profile"] == "read-only"
    assert told["exit_code"] != 0
    assert not (cli.cwd / "made").exists()
    assert cli("run", "--sandbox", "workspace-write", "--", "touch", "made")["exit_code"] == 0
    out = cli.raw("run", "--sandbox", "mein", "--", "true")
    assert b"--sandbox takes read-only, workspace-write, full-access, mine, or a JSON file" in out.stderr


def test_a_confined_command_cannot_change_the_configuration(cli: Cli) -> None:
    (cli.cwd / "mine.toml").write_text("[run]\n")
    told = cli("run", "--config", "mine.toml", "--sandbox", "workspace-write", "--", "true")
    assert "lies where they may write: move it out" in told["error"]["message"]


def loaded(cli: Cli, *words: str) -> tuple[set[str], list[str]]:
    """Return the modules that a call has loaded, and the paths that were looked at."""
    code = (
        "import os\n"
        "from agent_exec.apps.main import main\n"
        "seen = []\n"
        "def watch(name, real=os.lstat):\n"
        "    def look(path, **more):\n"
        "        seen.append(os.fspath(path))\n"
        "        return real(path, **more)\n"
        "    return look\n"
        "os.lstat, os.stat = watch('lstat'), watch('stat', os.stat)\n"
        "code = main(sys.argv[1:])\n"
        "sys.stderr.write('\\n'.join([*sys.modules, '', *map(str, seen)]))\n"
        "sys.exit(code)"
    )
    modules, _, paths = said_by(cli, code, *words).partition("\n\n")
    return set(modules.split("\n")), paths.split("\n")


def test_a_call_without_a_file_looks_once_and_loads_nothing(cli: Cli) -> None:
    job = cli("run", "--", "true")["job_id"]
    for words in (("run", "--", "true"), ("status", job)):
        modules, paths = loaded(cli, *words)
        assert not modules & {"tomllib", "agent_exec.requests.settings", "agent_exec.model.document"}
        assert sum(path.endswith("agent-exec/config.toml") for path in paths) == (words[0] == "run")


class TestAutomaticCollection:
    """[gc] auto: after the answer, within bounds, and only where it is asked for."""

    def test_it_is_off_unless_asked_for(self, cli: Cli, config: Path) -> None:
        (old,) = make(cli, 1)
        age(cli.folder(old), 99 * 86400)
        make(cli, 1)
        config.write_text('[gc]\nolder_than = "1d"\n')
        make(cli, 1)
        assert old in there(cli)
        assert cli("gc", "--dry-run")["older_than_source"] == "config"
        assert cli("gc")["deleted"] == 1

    def test_old_jobs_go_after_the_next_one(self, cli: Cli, config: Path) -> None:
        old, young = make(cli, 2)
        age(cli.folder(old), 2 * 86400)
        config.write_text(
            '[gc]\nauto = true\nolder_than = "1d"\n'
        )  # not before: their supervisors would collect too
        assert cli("run", "--no-auto-gc", "--", "true")["ok"]
        assert old in there(cli)
        (last,) = make(cli, 1)
        wait_until(lambda: old not in there(cli))
        assert {young, last} <= there(cli)

    def test_its_own_job_stays(self, cli: Cli) -> None:
        (first,) = make(cli, 1)
        told = cli("run", "--auto-gc-max-jobs", 0, "--auto-gc-older-than", 0, "--", "echo", "hello")
        assert told["stdout"] == "hello\n"
        wait_until(lambda: there(cli) == {told["job_id"]})
        assert first != told["job_id"]

    def test_the_oldest_go_beyond_a_number_and_a_size(self, cli: Cli) -> None:
        made = make(cli, 4)
        last = cli("run", "--auto-gc-max-jobs", 3, "--", "true")["job_id"]
        wait_until(lambda: there(cli) == {*made[2:], last})
        large = cli("run", "--", "sh", "-c", "printf %0100000d 0")["job_id"]
        last = cli("run", "--auto-gc-max-bytes", 50_000, "--", "true")["job_id"]
        wait_until(lambda: there(cli) == {last})
        assert large != last

    def test_work_is_bounded(self, cli: Cli, config: Path) -> None:
        made = make(cli, 6)
        config.write_text("[gc]\nauto = true\nmax_jobs = 0\ndelete_limit = 2\n")
        last = cli("run", "--", "true")["job_id"]
        wait_until(lambda: there(cli) == {*made[2:], last})
        config.write_text("[gc]\nauto = true\nmax_jobs = 0\nscan_limit = 1\n")
        new = cli("run", "--", "true")["job_id"]
        wait_until(lambda: there(cli) == {*made[3:], last, new})

    def test_what_runs_stays(self, cli: Cli) -> None:
        running = cli.start("sleep", "60")
        age(cli.folder(running), 99 * 86400)
        (old,) = make(cli, 1)
        last = cli("run", "--auto-gc-older-than", 0, "--", "true")["job_id"]
        wait_until(lambda: there(cli) == {running, last})
        assert old not in there(cli)

    def test_bounds_without_it_are_refused(self, cli: Cli) -> None:
        out = cli.raw("run", "--no-auto-gc", "--auto-gc-max-jobs", 1, "--", "true")
        assert (out.returncode, b"contradict" in out.stderr) == (2, True)


def test_the_rust_program_shares_the_folder(cli: Cli) -> None:
    """Its lock must not exist while no process of it collects, and its jobs are not ours to take away."""
    (ended,) = make(cli, 1)
    theirs = cli.root / ("0" * 26)
    theirs.mkdir()
    (theirs / "meta.json").write_text("{}")
    age(theirs, 99 * 86400)
    assert cli("gc", "--max-jobs", 0)["deleted"] == 1
    assert ended not in there(cli)
    assert theirs.is_dir()
    assert ".gc.lock" not in os.listdir(cli.root)


def test_every_answer_as_yaml(cli: Cli) -> None:
    told = yaml.safe_load(cli.raw("run", "--yaml", "--", "sh", "-c", "echo one; echo two; exit 3").stdout)
    assert (told["stdout"], told["exit_code"]) == ("one\ntwo\n", 3)
    for words in (("status", told["job_id"]), ("tail", told["job_id"]), ("list",), ("schema",)):
        plain = cli(*words)
        plain.pop("updated_at", None)
        found = yaml.safe_load(cli.raw("--yaml", *words).stdout)
        found.pop("updated_at", None)
        assert found == plain
    out = cli.raw("status", "nothing", "--yaml")
    assert (out.returncode, yaml.safe_load(out.stdout)["error"]["code"]) == (1, "job_not_found")
    out = cli.raw("--yaml", "status")
    assert (out.returncode, out.stdout) == (2, b"")
    assert cli("run", "--", "echo", "--yaml")["stdout"] == "--yaml\n"
