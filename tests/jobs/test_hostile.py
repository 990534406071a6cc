"""Damaged stores, strange surroundings and commands that fight back: every verb answers, and says what is true."""

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import agent_exec
from agent_exec.faces import verbs
from agent_exec.jobs.store import Store, broken
from cli import Cli, check
from jobs.seen import popen, supervisor_of
from support import exists, processes_marked, python, wait_until

DAMAGED = {
    "nothing": b"",
    "no JSON": b"hello\n",
    "half a line": b'{"command":["x"]',
    "half an object": b'{"command":["x"] \n',
    "a list": b"[1]\n",
    "few facts": b'{"command":[],"pid":5}\n',
    "wrong kinds": b'{"command":["x"],"cwd":5,"tags":null,"kill_after_ms":"no"}\n',
    "a pid of words": b'{"command":["x"],"cwd":"/","tags":[],"kill_after_ms":1,"pid":"x","start":1,"boot":""}\n',
    "deep": b"[" * 100_000 + b"]" * 100_000 + b"\n",
    "NULs": bytes(5000),
    "no UTF-8": b"\xff\xfe\n",
}


@pytest.mark.parametrize("what", DAMAGED)
def test_a_damaged_record_is_a_failed_job_and_stops_nothing(cli: Cli, what: str) -> None:
    good = cli("run", "--", "true")["job_id"]
    bad = cli("run", "--", "true")["job_id"]
    (cli.folder(bad) / "record.jsonl").write_bytes(DAMAGED[what])
    listed = cli("list", "--all", "--tag", "any.*")
    assert (listed["ok"], listed["jobs"]) == (True, [])
    listed = cli("list", "--all")
    assert ([job["job_id"] for job in listed["jobs"]], listed["skipped"]) == ([bad, good], 0)
    status = cli("status", bad)
    assert (status["state"], status["reason"]) == ("failed", "record_damaged")
    assert cli("gc")["ok"] is True
    assert cli("ps", "--all")["ok"] is True


@pytest.mark.parametrize("name", ["lock", "control", "stdout.log", "arrivals"])
@pytest.mark.parametrize("what", ["folder", "loop", "missing"])
def test_a_job_with_a_damaged_file_is_still_listed(cli: Cli, name: str, what: str) -> None:
    job_id = cli("run", "--", "echo", "hello")["job_id"]
    file = cli.folder(job_id) / name
    file.unlink()
    if what == "folder":
        file.mkdir()
    elif what == "loop":
        file.symlink_to(name)
    for words in (
        ("status", job_id),
        ("tail", job_id),
        ("tail", job_id, "--merged"),
        ("list",),
        ("kill", job_id),
    ):
        assert cli(*words)["ok"] is True, words
    assert cli("delete", job_id)["deleted"] == 1
    assert not cli.folder(job_id).exists()


def test_a_store_that_is_a_link_to_nowhere_is_refused(cli: Cli) -> None:
    cli.root.symlink_to("/nonexistent/place")
    told = cli("run", "--", "true")
    assert (told["error"]["code"], told["error"]["retryable"]) == ("store_failed", False)
    cli.root.unlink()


def test_a_caller_that_ignores_the_end_of_children_gets_its_answer(cli: Cli) -> None:
    code = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    argv = [sys.executable, "-c", code, *cli.argv("run", "--wait", "--", "sh", "-c", "sleep 0.01; exit 3")]
    out = subprocess.run(argv, capture_output=True, env=cli.env, cwd=cli.cwd, check=True)
    assert check(out.stdout.decode())["exit_code"] == 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_variables_from_a_pipe_are_awaited_and_given_up_at_an_interrupt(
    cli: Cli, tmp_path: Path, number: signal.Signals
) -> None:
    pipe = tmp_path / "variables"
    os.mkfifo(pipe)
    writer = os.open(pipe, os.O_RDWR)
    caller = popen(cli, "run", "--env-file", pipe, "--", "true")
    os.write(writer, b"A=1\n")
    wait_until(lambda: str(pipe) in links(caller.pid))
    caller.send_signal(number)
    told = check(caller.communicate()[0].decode())
    os.close(writer)
    assert told["error"]["code"] == "interrupted"
    assert cli("list")["jobs"] == []


def links(pid: int) -> set[str]:
    found = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.add(os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            continue
    return found


def test_variables_from_a_pipe_are_read_to_its_end(cli: Cli) -> None:
    line = "\"$0\" run --env-file <(echo A=1; sleep 0.05; echo B=2) -- sh -c 'echo $A$B'"
    out = subprocess.run(
        ["bash", "-c", line, cli.argv()[0]], capture_output=True, env=cli.env, cwd=cli.cwd, check=True
    )
    assert check(out.stdout.decode())["stdout"] == "12\n"


def test_secrets_are_hidden_while_input_is_awaited(cli: Cli) -> None:
    reader, writer = os.pipe()
    caller = popen(cli, "run", "--env", "TOKEN=hunter2", "--stdin", "-", "--", "cat", stdin=reader)
    os.close(reader)
    os.write(writer, b"x")
    wait_until(lambda: b"hunter2" not in Path(f"/proc/{caller.pid}/cmdline").read_bytes())
    os.close(writer)
    assert check(caller.communicate()[0].decode())["stdout"] == "x"


@pytest.mark.parametrize(
    "words",
    [
        ("kill", "JOB", "--signal", "9" * 5000),
        ("kill", "JOB", "--signal", "SIGRTMIN+" + "9" * 5000),
        ("tail", "JOB", "--cursor", "x" * 5000),
        ("tail", "JOB", "--cursor", "CURSOR" + "f" * 5000 + "-0"),
    ],
)
def test_numbers_beyond_all_bounds_are_refused(cli: Cli, words: tuple[str, ...]) -> None:
    job_id = cli("run", "--", "true")["job_id"]
    told = cli(*(word.replace("JOB", job_id).replace("CURSOR", f"{job_id[-10:]}-") for word in words))
    assert told["error"]["code"] == "invalid_argument"


def test_a_value_of_the_environment_is_in_no_message(cli: Cli) -> None:
    told = cli("run", "--env", "PATH=/s3cr3t", "--", "nosuch")
    assert told["error"]["code"] == "command_not_found"
    assert "s3cr3t" not in json.dumps({**told, "env_vars": []})
    assert "s3cr3t" not in (cli.folder(told["job_id"]) / "record.jsonl").read_text()


def test_a_job_that_stops_its_supervisor_again_and_again_is_ended(cli: Cli) -> None:
    line = "while [ ! -e go ]; do sleep 0.01; done; p=$PPID; grep -q ^agent-exec /proc/$p/comm || exit; echo up; while :; do kill -STOP $p; done"
    told = cli("run", "--no-wait", "--kill-after", 0, "--", "sh", "-c", line)
    supervisor = supervisor_of(cli, told["job_id"])
    (cli.cwd / "go").touch()
    wait_until(lambda: Path(f"/proc/{supervisor}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    assert cli("kill", told["job_id"], "--signal", "KILL")["state"] == "killed"
    wait_until(lambda: not exists(supervisor))


@pytest.mark.skipif(sys.platform == "win32", reason="owners and modes of POSIX")
@pytest.mark.parametrize("how", ["others", "group", "owner"])
def test_a_store_that_others_can_change_is_refused(cli: Cli, how: str) -> None:
    cli.root.mkdir(mode=0o700)
    if how == "owner":
        if os.geteuid() != 0:
            pytest.skip("only root gives a folder away")
        os.chown(cli.root, 54321, 54321)
    else:
        if how == "group" and os.geteuid() == 0:
            os.chown(cli.root, 0, 54321)
        elif how == "group":
            pytest.skip("a user's own group may be the user's alone")
        cli.root.chmod(0o777 if how == "others" else 0o770)
    for words in (["run", "--", "true"], ["list"], ["kill", "01"], ["gc"]):
        told = cli(*words)
        assert (told["ok"], told["error"]["code"]) == (False, "store_failed"), words
        assert "another user" in told["error"]["message"] or "chmod go-w" in told["error"]["message"]
    assert not list(cli.root.iterdir())
    cli.root.chmod(0o700)
    if how == "owner":
        os.chown(cli.root, 0, 0)


@pytest.mark.parametrize("name", [".live", ".cwd", ".gc.held"])
def test_a_link_in_the_store_is_not_followed(cli: Cli, tmp_path: Path, name: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    cli.root.mkdir(mode=0o700)
    if name != ".gc.held":
        elsewhere.mkdir()
    (cli.root / name).symlink_to(elsewhere)
    told = cli("gc") if name == ".gc.held" else cli("run", "--", "true")
    assert (told["ok"], told["error"]["code"]) == (False, "store_failed")
    assert not elsewhere.exists() or not list(elsewhere.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="the system must tell of it")
def test_a_job_whose_folder_is_deleted_is_ended(cli: Cli, nothing_left: str) -> None:
    job = cli.start("sh", "-c", "setsid sleep 600.25 & exec sleep 600.25")
    wait_until(lambda: sum("600.25" in line for line in processes_marked(nothing_left).values()) == 2)
    shutil.rmtree(cli.root)
    wait_until(lambda: not processes_marked(nothing_left))
    assert not cli.folder(job).exists()


def test_a_job_that_cannot_be_deleted_is_not_said_to_be(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a disk that can only be read."""
    job = cli("run", "--wait", "--", "true")["job_id"]
    store = Store(str(cli.root))

    def refuse(_source: str, target: str) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), target)

    with monkeypatch.context() as readonly:
        readonly.setattr(os, "rename", refuse)
        with pytest.raises(agent_exec.AgentExecError, match="cannot be used"):
            verbs.Jobs(store).delete(job)
        with pytest.raises(agent_exec.AgentExecError, match="cannot be used"):
            verbs.Jobs(store).delete_all(str(cli.cwd))
    assert cli("delete", job)["deleted"] == 1


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be deleted there")
def test_a_deleted_working_directory_is_a_typed_error(tmp_path: Path) -> None:
    code = """
import os, sys
sys.path.append(sys.argv[1])
import agent_exec
os.chdir(sys.argv[2])
os.rmdir(sys.argv[2])
calls = (
    lambda: agent_exec.run(["true"]),
    lambda: agent_exec.open_jobs(sys.argv[3]).run(["true"]),
    lambda: agent_exec.open_jobs("jobs"),
    lambda: agent_exec.open_tools(),
)
for call in calls:
    try:
        call()
    except agent_exec.AgentExecError as error:
        print(error.code)
"""
    gone = tmp_path / "gone"
    gone.mkdir()
    source = Path(agent_exec.__file__).parent.parent
    out = agent_exec.run(python(code, source, gone, tmp_path / "jobs"))
    assert (out.stdout_text.split(), out.stderr) == (["workdir_not_found"] * 4, b"")


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "Free some room, or name another"),
        (errno.EROFS, "Make it writable, or name another"),
        (errno.EACCES, "Make it writable, or name another"),
        (errno.EMFILE, "try again, or name another"),
        (errno.ENOENT, ". Name another"),
    ],
)
def test_a_store_that_cannot_be_used_is_reported_with_what_helps(number: int, advice: str) -> None:
    for error in (OSError(number, os.strerror(number), "/jobs/x"), OSError(number, os.strerror(number))):
        message = broken(error, "/jobs").message
        assert f"{advice} with --root or AGENT_EXEC_ROOT" in message
        assert "/jobs" in message
        assert "None" not in message
