"""`agent-exec run --sandbox`, from outside: what a confined job may do, and what is told of it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agent_exec.sandbox.profile import Profile
from apps.test_startup import loaded_by
from cli import Cli
from jobs.seen import Gate, printed, status_line, supervisor_of
from support import wait_until

WRITE = ["--sandbox", "workspace-write"]
BEGUN = {"profile", "policy"}


def run(cli: Cli, *words: object, line: str, **settings: Any) -> Any:
    return cli("run", "--wait", *words, "--", "sh", "-c", line, **settings)


def nothing_was_made(cli: Cli) -> bool:
    return not cli.root.exists() or cli("list", "--all")["jobs"] == []


def test_it_writes_where_it_was_started_and_nowhere_else(cli: Cli, tmp_path: Path) -> None:
    (cli.cwd / ".git").mkdir()
    line = f"echo in > file; echo out > {tmp_path}/out; echo x > .git/config; echo temp > /tmp/x; exit 3"
    told = run(cli, *WRITE, line=line)
    assert (told.code, told["state"], told["exit_code"]) == (0, "exited", 3)
    assert (cli.cwd / "file").read_text() == "in\n"
    assert not (tmp_path / "out").exists()
    assert not (cli.cwd / ".git" / "config").exists()
    box = told["sandbox"]
    assert (box["strength"], box["profile"]) == ("full", "workspace-write")
    assert box["policy"] == Profile("workspace-write", [cli.cwd]).digest
    assert [one["path"] for one in box["denials"]] == [f"{cli.cwd}/.git/config"]
    assert "blocked" in box["message"]


def test_every_verb_reports_the_same_box(cli: Cli) -> None:
    gate = Gate(cli.cwd / "gate")
    job_id = cli("run", "--no-wait", *WRITE, "--", *gate.job())["job_id"]
    status = cli("status", job_id)
    assert status["state"] == "running"
    assert set(status["sandbox"]) == BEGUN
    assert "started_at" in status
    assert "pid" not in status, "its number means nothing out here"
    gate.open()
    waited = cli("wait", job_id)
    assert (waited["exit_code"], waited["stdout"]) == (7, "before\nafter\n")
    assert cli("status", job_id)["sandbox"] == waited["sandbox"]
    assert waited["sandbox"] | status["sandbox"] == waited["sandbox"]


def test_a_job_in_no_box_says_nothing_of_one(cli: Cli) -> None:
    told = cli("run", "--", "true")
    assert "sandbox" not in told
    assert "sandbox" not in cli("status", told["job_id"])
    assert "sandbox" not in cli("wait", told["job_id"])


def test_roots_are_those_that_are_named(cli: Cli, tmp_path: Path) -> None:
    roots = [tmp_path / "one", tmp_path / "two"]
    for root in roots:
        root.mkdir()
    named = [word for root in roots for word in ("--sandbox-root", root)]
    line = f"echo a > {roots[0]}/a; echo b > {roots[1]}/b; echo c > {cli.cwd}/c"
    told = run(cli, *WRITE, *named, "--cwd", roots[0], line=line)
    assert told["exit_code"] != 0
    assert (roots[0] / "a").exists()
    assert (roots[1] / "b").exists()
    assert not (cli.cwd / "c").exists()


def test_read_only_and_full_access(cli: Cli) -> None:
    told = run(cli, "--sandbox", "read-only", line="echo x > x")
    assert (told["exit_code"], told["sandbox"]["profile"]) == (2, "read-only")
    assert not (cli.cwd / "x").exists()
    told = run(cli, "--sandbox", "full-access", line="echo $AGENT_EXEC_JOB_ID > x")
    assert (told["exit_code"], told["sandbox"]["backend"]) == (0, "none")
    assert (cli.cwd / "x").read_text().strip() == told["job_id"]


def test_what_appears_under_a_protected_name_is_reported(cli: Cli) -> None:
    told = cli("run", *WRITE, "--", "git", "init", "-q", ".")
    assert told["sandbox"]["protected_changes"] == [{"path": f"{cli.cwd}/.git", "what": "appeared"}]


def test_variables_that_look_like_secrets_stay_outside(cli: Cli) -> None:
    ours = {"SOME_TOKEN": "s3cret", "UNKNOWN": "s3cret", "LC_TIME": "C", "NAMED": "here"}
    given = ("--env", "MY_PASSWORD=s3cret", "--env", "NAMED", "--env", "GIVEN=there")
    told = run(cli, *WRITE, *given, line="env", env=ours)
    inside = dict(line.split("=", 1) for line in told["stdout"].splitlines())
    assert (inside["LC_TIME"], inside["NAMED"], inside["GIVEN"]) == ("C", "here", "there")
    assert inside["AGENT_EXEC_JOB_ID"] == told["job_id"]
    assert inside["AGENT_EXEC_NET"] == "off"
    assert "s3cret" not in told["stdout"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--net", "off"], "off"),
        (["--net", "on"], "on"),
        (["--net", "example.com", "--net", "example.org:443"], "allow-list"),
    ],
    ids=str,
)
def test_the_network_is_as_asked_for(cli: Cli, words: list[str], said: str) -> None:
    assert run(cli, *WRITE, *words, line="echo $AGENT_EXEC_NET")["stdout"] == f"{said}\n"


def test_time_runs_out(cli: Cli) -> None:
    told = cli("run", "--wait", "--timeout", "200ms", *WRITE, "--", "sleep", "600")
    assert (told["state"], told["reason"], told["timed_out"]) == ("killed", "timeout", True)
    assert told["sandbox"]["limits_hit"] == ["wall"]


def test_a_profile_from_a_file(cli: Cli) -> None:
    file = cli.cwd.with_name("box.json")
    file.write_text(json.dumps({"roots": [str(cli.cwd)], "limits": {"wall": 0.2}, "env": ["MY_TOKEN"]}))
    line = "echo $MY_TOKEN > seen; echo {} > ../box.json; sleep 600"
    told = run(cli, "--sandbox", "../box.json", "--env", "MY_TOKEN=passed", line=line)
    assert (told["timed_out"], told["timeout_ms"]) == (True, 200)
    assert (cli.cwd / "seen").read_text() == "passed\n"
    assert "wall" in file.read_text(), "a command cannot change what confines the next one"
    assert told["sandbox"]["policy"] == Profile.from_json(file.read_text()).digest


def test_options_take_the_place_of_what_a_file_says(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "box.json"
    file.write_text(json.dumps({"name": "workspace-write", "net": "on", "roots": ["/nowhere"]}))
    told = run(cli, "--sandbox", file, "--sandbox-root", ".", "--net", "off", line="echo $AGENT_EXEC_NET > x")
    assert told["exit_code"] == 0
    assert (cli.cwd / "x").read_text() == "off\n"


@pytest.mark.parametrize(
    "text", [None, "", "{", "[]", '{"nmae": "read-only"}', '{"limits": {"wall": -1}}', '{"roots": ["here"]}']
)
def test_a_profile_that_is_wrong_is_refused_before_anything_is_made(cli: Cli, text: str | None) -> None:
    if text is not None:
        (cli.cwd / "box.json").write_text(text)
    told = run(cli, "--sandbox", "./box.json", line="echo > ran")
    assert (told.code, told["error"]["code"]) == (1, "invalid_argument")
    assert told["error"]["details"]["path"] == "./box.json"
    assert not (cli.cwd / "ran").exists()
    assert nothing_was_made(cli)


def test_a_profile_that_is_no_file_is_refused(cli: Cli) -> None:
    os.mkfifo(cli.cwd / "pipe.json")
    (cli.cwd / "folder.json").mkdir()
    for name in ("pipe.json", "folder.json"):
        assert cli("run", "--sandbox", name, "--", "true")["error"]["code"] == "invalid_argument"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--sandbox", "none"], "workspace-write"),
        (["--sandbox", ""], "workspace-write"),
        (["--sandbox-root", "."], "--sandbox"),
        (["--net", "on"], "--sandbox"),
        (["--sandbox", "read-only", "--leave"], "contradict"),
        (["--sandbox", "read-only", "--net", "on", "--net", "example.com"], "--net"),
        (["--sandbox", "read-only", "--sandbox-root", ""], "--sandbox-root"),
    ],
    ids=str,
)
def test_words_that_make_no_sense(cli: Cli, words: list[str], says: str) -> None:
    out = cli.raw("run", *words, "--", "touch", "ran")
    assert (out.returncode, out.stdout) == (2, b"")
    assert says in out.stderr.decode()
    assert not (cli.cwd / "ran").exists()
    assert nothing_was_made(cli)


def test_no_root_may_lie_in_the_jobs_and_they_are_hidden_in_one(cli: Cli, tmp_path: Path) -> None:
    inner = cli.root / "inner"
    inner.mkdir(parents=True)
    told = run(cli, *WRITE, "--sandbox-root", inner, line=f"echo > {inner}/ran")
    assert (told.code, told["error"]["code"]) == (1, "invalid_argument")
    assert (told["state"], told["reason"]) == ("failed", "spawn_failed")
    assert str(cli.root) in told["error"]["message"]
    assert set(told["sandbox"]) == BEGUN
    assert not (inner / "ran").exists()
    told = run(cli, *WRITE, "--sandbox-root", tmp_path, line=f"ls {cli.root}; echo > {cli.root}/ran")
    assert (told["state"], told["stdout"], told["exit_code"] != 0) == ("exited", "", True)
    assert not (cli.root / "ran").exists()


def test_rules_are_obeyed_and_cannot_be_changed(cli: Cli) -> None:
    rules = cli.cwd.with_name("rules.toml")
    rules.write_text('[[rule]]\nverdict = "deny"\nprefix = ["touch"]\n')
    words = ["--rules", "../rules.toml", *WRITE]
    told = cli("run", *words, "--", "touch", "x")
    assert told["error"]["code"] == "command_denied", told
    assert nothing_was_made(cli)
    run(cli, *words, line=f"echo > {rules}; mv {rules} other; rm -f {rules}")
    assert "touch" in rules.read_text()


def test_what_cannot_be_run_is_an_error(cli: Cli) -> None:
    told = cli("run", *WRITE, "--", "no-such-program")
    assert (told["error"]["code"], told["reason"]) == ("command_not_found", "spawn_failed")
    assert set(told["sandbox"]) == BEGUN
    assert cli("status", told["job_id"])["state"] == "failed"


def test_input_as_text_and_from_a_pipe(cli: Cli) -> None:
    assert cli("run", *WRITE, "--stdin", "hello", "--", "cat")["stdout"] == "hello"
    assert cli("run", *WRITE, "--stdin", "", "--", "cat")["stdout"] == ""
    assert cli("run", *WRITE, "--stdin", "-", "--", "cat", input=b"piped")["stdout"] == "piped"
    assert cli("run", *WRITE, "--", "cat")["stdout"] == "", "no input is the end of input"


def test_input_longer_than_any_pipe_comes_whole(cli: Cli) -> None:
    data = os.urandom(3 << 20)
    (cli.cwd / "data").write_bytes(data)
    told = run(cli, *WRITE, "--stdin-file", "data", line="cat > copy")
    assert told["exit_code"] == 0
    assert (cli.cwd / "copy").read_bytes() == data


def test_input_that_is_not_taken_does_no_harm(cli: Cli) -> None:
    (cli.cwd / "data").write_bytes(bytes(1 << 20))
    assert run(cli, *WRITE, "--stdin-file", "data", line="exec < /dev/null; echo done")["stdout"] == "done\n"
    assert run(cli, *WRITE, "--stdin-file", "data", line="head -c 3 | wc -c")["stdout"].strip() == "3"


def test_input_without_end(cli: Cli) -> None:
    told = run(cli, *WRITE, "--stdin-file", "/dev/zero", line="head -c 5000000 | wc -c")
    assert told["stdout"].strip() == "5000000"


def test_input_is_not_taken_into_memory(cli: Cli) -> None:
    gate = Gate(cli.cwd / "gate")
    with (cli.cwd / "data").open("wb") as file:
        file.truncate(512 << 20)
    job = gate.job(before="head -c 9 | wc -c", after="exit 7")
    job_id = cli("run", "--no-wait", *WRITE, "--stdin-file", "data", "--", *job)["job_id"]
    wait_until(lambda: printed(cli, job_id).strip() == "9")
    assert int(status_line(supervisor_of(cli, job_id), "VmHWM").split()[0]) < 128 << 10
    gate.open()
    assert cli("wait", job_id)["exit_code"] == 7


def test_what_is_handed_in_as_input_cannot_be_opened_for_writing(cli: Cli, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("as it was\n")
    told = run(cli, *WRITE, "--stdin-file", outside, line="cat; echo changed > /proc/self/fd/0; true")
    assert told["stdout"].startswith("as it was\n")
    assert outside.read_text() == "as it was\n"


def test_denials_are_found_at_the_end_of_much_output(cli: Cli) -> None:
    (cli.cwd / ".git").mkdir()
    line = "yes | head -c 3000000; echo x > .git/config"
    told = run(cli, *WRITE, "--max-log-bytes", 4096, line=line)
    assert [one["path"] for one in told["sandbox"]["denials"]] == [f"{cli.cwd}/.git/config"]
    assert (told["stdout_total_bytes"], told["stdout_dropped_bytes"] > 0) == (3000000, True)


def test_without_a_box_no_sandbox_module_is_loaded(cli: Cli) -> None:
    loaded = loaded_by(cli, "run", "--", "true")
    assert not {name for name in loaded if name.startswith(("agent_exec.sandbox", "agent_exec.apps.profile"))}


def test_no_file_that_a_command_may_not_read_is_read_for_it(cli: Cli, tmp_path: Path) -> None:
    (cli.cwd / "hidden").write_text("NAME=secret\n")
    (cli.cwd / "link").symlink_to("hidden")
    (cli.cwd / "shown").write_text("NAME=known\n")
    profile = tmp_path / "profile.json"
    profile.write_text('{"name": "workspace-write", "deny_read": ["hidden"]}')
    words = ("--sandbox", profile, "--sandbox-root", cli.cwd)
    for name in ("hidden", "link"):
        for option in ("--stdin-file", "--env-file"):
            told = cli("run", *words, option, name, "--", "sh", "-c", "cat; env")
            assert told["error"]["code"] == "invalid_argument"
            assert f"{option} '{name}' is hidden by the sandbox" in told["error"]["message"]
    told = cli(
        "run", *words, "--stdin-file", "shown", "--env-file", "shown", "--", "sh", "-c", "cat; echo $NAME"
    )
    assert told["stdout"] == "NAME=known\nknown\n"


def test_no_output_of_a_job_is_read_for_a_confined_command(cli: Cli, tmp_path: Path) -> None:
    """A box hides the folder of jobs, also one that an option names."""
    root = ("--root", tmp_path / "elsewhere")
    log = cli("run", *root, "--", "echo", "NAME=secret")["stdout_log_path"]
    for option in ("--stdin-file", "--env-file"):
        told = cli("run", *root, *WRITE, option, log, "--", "sh", "-c", "cat; env")
        assert "is hidden by the sandbox" in told["error"]["message"]
