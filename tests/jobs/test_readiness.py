"""Readiness by evidence: `run --for` and `wait --for`, with servers that really listen."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_exec.jobs import open_jobs
from agent_exec.model.errors import InvalidArgument
from agent_exec.sandbox.profile import Profile
from cli import Answer, Cli
from jobs.seen import ENDED, Gate, lose_supervisor
from support import child, python, wait_until

SERVER = [sys.executable, "-m", "http.server", "--bind"]
GRANDCHILD = """
import os, socket, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        server = socket.socket()
        server.bind(("127.0.0.1", 0))
        server.listen()
        time.sleep(600)
    os._exit(0)
time.sleep(600)
"""
SILENT = "import socket, time; s = socket.socket(); s.listen(); time.sleep(600)"


def listening(told: Any) -> list[dict[str, Any]]:
    """Return the sockets that the first condition of an answer was met by."""
    found: list[dict[str, Any]] = told["met"][0]["listening"]
    return found


def for_all(conditions: tuple[str, ...]) -> Iterator[str]:
    for condition in conditions:
        yield from ("--for", condition)


def wait_for(
    cli: Cli, job_id: str, *conditions: str, until: str = "20s", more: tuple[str, ...] = ()
) -> Answer:
    return cli("wait", job_id, *for_all(conditions), "--until", until, *more)


@pytest.fixture
def stranger() -> Iterator[int]:
    """A port on which no job listens, but this process does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def test_a_server_is_ready_once_it_listens(cli: Cli) -> None:
    told = cli("run", "--for", "listen", "--", *SERVER, "127.0.0.1", "0")
    assert (told["ready"], told["state"], told.code) == (True, "running", 0)
    [one] = listening(told)
    status = cli("status", told["job_id"])
    assert (one["address"], one["family"], one["pid"]) == ("127.0.0.1", "ipv4", status["pid"])
    with socket.create_connection(("127.0.0.1", one["port"])):
        pass
    assert status["ready_when"] == ["listen"]
    assert (status["ready"], status["ready_at"], status["met"]) == (True, told["ready_at"], told["met"])
    assert listening(wait_for(cli, told["job_id"], f"listen:{one['port']}")) == [one]
    [event] = [one for one in cli("events", "--job", told["job_id"])["events"] if one["kind"] == "ready"]
    assert event["details"] == {"met": told["met"]}


def test_a_server_that_says_ready_before_it_listens_is_not_ready(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    job_id = cli.start(*child("listener", 4, gate.path))
    assert wait_for(cli, job_id, "match=^ready$")["ready"]
    early = wait_for(cli, job_id, "listen", until="50ms")
    assert (early["ready"], early["state"], early["met"]) == (False, "running", [])
    assert early["unmet"] == [{"for": "listen", "message": "no process of the job listens"}]
    assert early["stdout_tail"] == "ready"
    gate.open()
    assert listening(wait_for(cli, job_id, "listen"))[0]["family"] == "ipv4"


def test_a_server_that_prints_nothing_is_ready(cli: Cli) -> None:
    told = cli("run", "--for", "listen", "--", *python(SILENT))
    assert (told["ready"], told["stdout"], listening(told)[0]["address"]) == (True, "", "0.0.0.0")


def test_a_grandchild_that_has_left_its_session_counts(cli: Cli) -> None:
    told = cli("run", "--for", "listen", "--", *python(GRANDCHILD))
    assert told["ready"]
    assert listening(told)[0]["pid"] != cli("status", told["job_id"])["pid"]


def test_a_server_of_a_job_whose_supervisor_was_killed_is_found(cli: Cli) -> None:
    job_id = cli("run", "--for", "listen", "--", *python(SILENT))["job_id"]
    lose_supervisor(cli, job_id)
    told = wait_for(cli, job_id, "listen")
    assert (told["ready"], told["supervisor"], len(listening(told))) == (True, "lost", 1)


def test_what_a_job_of_the_job_listens_on_is_not_its_own(cli: Cli) -> None:
    inner = [*cli.argv("run", "--for", "listen", "--"), *python(SILENT)]
    outer = cli.start("sh", "-c", '"$@"; sleep 600', "sh", *inner)
    wait_until(lambda: len(cli("ps")["jobs"]) == 2)
    [other] = [job["job_id"] for job in cli("ps")["jobs"] if job["job_id"] != outer]
    port = listening(wait_for(cli, other, "listen"))[0]["port"]
    told = wait_for(cli, outer, f"listen:{port}", until="50ms")
    assert told["unmet"][0]["held_by"]["job_id"] == other


def test_the_family_of_addresses_is_told(cli: Cli) -> None:
    told = cli("run", "--for", "listen", "--", *child("listener", 6))
    [one] = listening(told)
    assert (one["address"], one["family"]) == ("::1", "ipv6")
    late = wait_for(cli, told["job_id"], f"http=http://127.0.0.1:{one['port']}/", until="100ms")
    assert late["unmet"][0]["listening"] == [one]
    assert "the job listens there on ::1 (ipv6)" in late["unmet"][0]["message"]


@pytest.mark.parametrize("where", ["server", "absolute"])
def test_a_unix_socket_is_waited_for_by_its_path(cli: Cli, where: str) -> None:
    path = str(cli.cwd / where)
    bound = where if where == "server" else path
    told = cli("run", "--for", f"listen:./{where}", "--", *child("listener", bound))
    [one] = listening(told)
    assert (one["port"], one["address"], one["family"]) == (0, path, "unix")
    assert not wait_for(cli, told["job_id"], "listen", until="50ms")["ready"]
    late = wait_for(cli, told["job_id"], "listen:/none", until="50ms")
    assert late["unmet"][0]["message"] == "no process of the job listens on /none"


def test_a_port_that_another_job_holds_names_that_job(cli: Cli) -> None:
    other = cli("run", "--for", "listen", "--", *SERVER, "127.0.0.1", "0")
    [one] = listening(other)
    job_id = cli.start("sleep", "600")
    for condition in (f"listen:{one['port']}", f"http=localhost:{one['port']}"):
        told = wait_for(cli, job_id, condition, until="300ms")
        assert not told["ready"]
        held = told["unmet"][0]["held_by"]
        assert (held["job_id"], held["pid"]) == (other["job_id"], one["pid"])
        assert held["command"][1:3] == ["-m", "http.server"]


def test_a_port_that_a_stranger_holds_is_said(cli: Cli, stranger: int) -> None:
    job_id = cli.start("sleep", "600")
    told = wait_for(cli, job_id, f"listen:{stranger}", until="50ms")
    held = told["unmet"][0]["held_by"]
    assert (held["pid"], held["uid"], "job_id" in held) == (os.getpid(), os.geteuid(), False)
    assert f"held by process {os.getpid()}" in told["unmet"][0]["message"]


def test_a_request_is_answered(cli: Cli) -> None:
    port = free_port()
    url = f"localhost:{port}"
    told = cli("run", "--for", f"http=http://{url}/", "--", *SERVER, "127.0.0.1", port)
    [met] = told["met"]
    assert (met["status"], met["address"]) == (200, f"127.0.0.1:{port}")
    assert met["pid"] == cli("status", told["job_id"])["pid"]
    (own,) = wait_for(cli, told["job_id"], "http=/")["met"]  # of the job's own port, whatever that is
    assert (own["status"], own["address"]) == (200, met["address"])
    late = wait_for(cli, told["job_id"], f"http={url}/none", until="300ms")
    assert "answered 404" in late["unmet"][0]["message"]
    assert wait_for(cli, told["job_id"], f"http={url}/none,404")["met"][0]["status"] == 404


def test_a_server_that_answers_nothing_freezes_nothing(cli: Cli) -> None:
    told = cli("run", "--for", "listen", "--", *python(SILENT))
    port = listening(told)[0]["port"]
    late = wait_for(cli, told["job_id"], f"http=localhost:{port}", until="200ms")
    assert (late["ready"], late["state"]) == (False, "running")


def test_the_end_of_a_job_ends_the_wait(cli: Cli) -> None:
    told = cli("run", "--for", "listen", "--until", "1h", "--", "sh", "-c", "echo address in use >&2; exit 3")
    assert (told["state"], told["exit_code"], told["ready"], told["stderr"]) == (
        "exited",
        3,
        False,
        "address in use\n",
    )
    assert [one["for"] for one in told["unmet"]] == ["listen"]
    again = cli("wait", told["job_id"], "--for", "listen", "--forever")
    assert (again["state"], again["ready"]) == ("exited", False)


def test_what_a_job_printed_last_is_looked_at_after_its_end(cli: Cli) -> None:
    told = cli("run", "--for", "match=(?i)all \\d+ done", "--", "sh", "-c", "echo ALL 3 done; exit 2")
    assert told["ready"]
    [met] = told["met"]
    assert (met["stream"], met["line"]) == ("stdout", "ALL 3 done")
    if told["state"] in ENDED:
        assert told["exit_code"] == 2
    over = wait_for(cli, told["job_id"], "exit")
    assert (over["met"][0]["for"], over["exit_code"]) == ("exit", 2)


def test_a_catastrophic_expression_freezes_neither_the_wait_nor_the_job(cli: Cli) -> None:
    line = "print('a' * 5000 + 'b', flush=True); import time; time.sleep(600)"
    told = cli("run", "--for", "match=^(a|a)*$", "--until", "1s", "--", *python(line))
    assert (told["state"], told["ready"]) == ("running", False)
    assert "took too long" in told["unmet"][0]["message"]
    late = wait_for(cli, told["job_id"], "match=^(a|a)*$", until="1s")
    assert "took too long" in late["unmet"][0]["message"]
    assert cli("kill", told["job_id"])["state"] == "killed"


def test_a_file_is_waited_for(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    job_id = cli.start(*gate.job(after="echo x > made; sleep 600"))
    early = wait_for(cli, job_id, "file=made", until="30ms")
    assert early["unmet"] == [{"for": "file=made", "message": f"{cli.cwd}/made does not exist"}]
    gate.open()
    [met] = wait_for(cli, job_id, "file=made")["met"]
    assert met["path"] == str(cli.cwd / "made")


def test_silence_is_waited_for(cli: Cli) -> None:
    told = cli("run", "--for", "idle=300ms", "--", "sh", "-c", "echo a; sleep 600")
    assert told["ready"]
    assert told["met"][0]["seconds"] >= 0.3
    assert told["stdout"] == "a\n"


def test_a_command_is_run_until_it_succeeds(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    line = "exec=test -e made && echo found it"
    told = cli("run", "--for", line, "--until", "300ms", "--", *gate.job(after="echo > made; sleep 600"))
    assert [one["for"] for one in told["unmet"]] == [line]
    assert cli("status", told["job_id"])["ready"] is False
    gate.open()
    [met] = wait_for(cli, told["job_id"], line)["met"]
    assert (met["exit_code"], met["output"]) == (0, "found it")
    assert wait_for(cli, told["job_id"], "ready")["met"][0]["at"] == cli("status", told["job_id"])["ready_at"]


def test_a_command_that_is_looked_with_is_no_process_of_the_job(cli: Cli, tmp_path: Path) -> None:
    """Neither does it hold up the job's end, nor does the job's end leave it behind."""
    pid = tmp_path / "pid"
    line = f"echo $$ > {pid}; sleep 600"
    gate = Gate(tmp_path / "gate")
    job_id = cli("run", "--no-wait", "--ready-when", f"exec={line}", "--", *gate.job())["job_id"]
    wait_until(lambda: pid.exists() and pid.read_text().strip())
    gate.open()
    told = cli("wait", job_id, "--forever")
    assert (told["state"], told["exit_code"], told["leaked"], told["ready"]) == ("exited", 7, False, False)
    wait_until(lambda: not Path(f"/proc/{pid.read_text().strip()}").exists())


def test_the_rules_judge_the_command_of_a_condition(cli: Cli, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nprefix = ["touch"]\nverdict = "deny"\n')
    condition = "exec=touch made"
    refused = cli("run", "--rules", rules, "--for", condition, "--", "sleep", "600")
    assert refused["error"]["code"] == "command_denied"
    assert not cli.root.exists() or cli("list", "--all")["jobs"] == []
    job_id = cli.start("sleep", "600")
    assert cli("wait", job_id, "--rules", rules, "--for", condition)["error"]["code"] == "command_denied"
    assert not (cli.cwd / "made").exists()


def test_one_condition_is_enough_unless_all_are_asked_for(cli: Cli) -> None:
    job_id = cli.start("sh", "-c", "echo up; exec sleep 600")
    both = ("match=up", "file=never")
    assert [met["for"] for met in wait_for(cli, job_id, *both)["met"]] == ["match=up"]
    told = wait_for(cli, job_id, *both, until="100ms", more=("--all",))
    assert (told["ready"], [met["for"] for met in told["met"]]) == (False, ["match=up"])
    assert [one["for"] for one in told["unmet"]] == ["file=never"]
    (cli.cwd / "never").touch()
    assert len(wait_for(cli, job_id, *both, more=("--all",))["met"]) == 2


def test_readiness_is_recorded_without_waiting(cli: Cli) -> None:
    job_id = cli("run", "--no-wait", "--ready-when", "match=up", "--", "sh", "-c", "echo up; sleep 600")[
        "job_id"
    ]
    told = wait_for(cli, job_id, "ready")
    assert told["met"][0]["at"] == cli("status", job_id)["ready_at"]


@pytest.mark.parametrize(
    ("line", "code"), [("echo up; sleep 600", 0), ("sleep 600", 124), ("exit 3", 3), ("exit 0", 1)]
)
def test_the_exit_status_says_whether_it_is_ready(cli: Cli, line: str, code: int) -> None:
    words = ("--exit-code", "--for", "match=up", "--until", "20s" if code != 124 else "100ms")
    assert cli("run", *words, "--", "sh", "-c", line).code == code


@pytest.mark.parametrize(
    "condition",
    [
        "",
        "listening",
        "listen:",
        "listen:0",
        "listen:65536",
        "listen:x",
        "http=",
        "http=https://localhost",
        "http=ftp://localhost",
        "http=localhost:99999",
        "http=example.org",
        "http=[::1:80",
        "http=localhost/a b",
        "http=user@localhost",
        "match=",
        "match=(",
        "file=",
        "exec=",
        "idle=soon",
        "healthy",
        "ready",
    ],
)
def test_an_invalid_condition_is_refused_before_anything_is_started(cli: Cli, condition: str) -> None:
    told = cli("run", "--for", condition, "--", "touch", "made")
    assert (told["ok"], told["error"]["code"]) == (False, "invalid_argument")
    assert not (cli.cwd / "made").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--for", "listen", "--ready-when", "listen", "--", "true"],
        ["run", "--all", "--", "true"],
        ["run", "--health-every", "1", "--", "true"],
        ["run", "--stop-after", "5s", "--", "true"],
        ["run", "--stop-after", "idle=x", "--", "true"],
        ["wait", "X", "--all"],
    ],
)
def test_options_that_make_no_sense_are_usage_errors(cli: Cli, words: list[str]) -> None:
    assert cli.raw(*words).returncode == 2


def test_a_wait_for_what_never_comes_is_refused(cli: Cli) -> None:
    job_id = cli.start("sleep", "600")
    for condition, option in (("healthy", "--health"), ("ready", "--ready-when")):
        assert option in cli("wait", job_id, "--for", condition)["error"]["message"]


def test_services_in_boxes_may_all_bind_the_same_port(cli: Cli) -> None:
    words = (
        "run",
        "--sandbox",
        "workspace-write",
        "--for",
        "http=localhost:3000",
        "--for",
        "listen",
        "--all",
        "--",
    )
    told = [cli(*words, *SERVER, address, "3000") for address in ("127.0.0.1", "::1")]
    for one, address in zip(told, ("127.0.0.1", "[::1]"), strict=True):
        assert one["ready"], one
        met = {entry["for"]: entry for entry in one["met"]}
        assert met["http=localhost:3000"]["address"] == f"{address}:3000"
        assert [entry["port"] for entry in met["listen"]["listening"]] == [3000]
        assert wait_for(cli, one["job_id"], "http=localhost:3000")["ready"]
    late = wait_for(cli, told[0]["job_id"], "http=http://[::1]:3000", until="200ms")
    assert "the job listens there on 127.0.0.1 (ipv4)" in late["unmet"][0]["message"]


def test_a_file_in_a_box_is_seen(cli: Cli) -> None:
    line = "echo > /tmp/only-in-the-box; sleep 600"
    told = cli(
        "run", "--sandbox", "workspace-write", "--for", "file=/tmp/only-in-the-box", "--", "sh", "-c", line
    )
    assert told["ready"], told
    assert not os.path.exists("/tmp/only-in-the-box")


CONNECT = (
    f'{sys.executable} -c \'import socket; socket.create_connection(("127.0.0.1", 3000)); print("seen")\''
)


def test_a_check_of_a_confined_job_runs_in_its_network(cli: Cli) -> None:
    """Both servers bind 3000, and each is seen by its own checks alone: at the start, later, and from outside."""
    box = ("--sandbox", "workspace-write")
    first = cli("run", *box, "--for", f"exec={CONNECT}", "--", *SERVER, "127.0.0.1", "3000")
    assert first["met"][0]["output"] == "seen", first
    words = ("--health", CONNECT, "--health-every", "100ms", "--for", "healthy")
    second = cli("run", *box, *words, "--", *SERVER, "127.0.0.1", "3000")
    assert second["ready"], second
    for job_id in (first["job_id"], second["job_id"]):
        assert wait_for(cli, job_id, f"exec={CONNECT}")["met"][0]["output"] == "seen"
    silent = cli("run", *box, "--no-wait", "--health", "true", "--", "sleep", "600")["job_id"]
    late = wait_for(cli, silent, f"exec={CONNECT}", until="2s")
    assert not late["ready"], late
    again = cli("restart", first["job_id"], "--no-wait")
    assert cli("wait", again["job_id"], "--for", "ready")["ready"]


def test_no_check_leaves_a_sandbox(cli: Cli, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    line = f"touch inside; touch {outside}; ls {cli.root} 2>/dev/null | grep . && exit 0; echo hidden; exit 1"
    box = ("run", "--sandbox", "workspace-write")
    told = cli(*box, "--for", f"exec={line}", "--until", "5s", "--health", line, "--", "sleep", "600")
    assert not told["ready"], told
    wait_until((cli.cwd / "inside").exists)
    late = wait_for(cli, told["job_id"], f"exec={line}", until="3s")
    assert "exited with 1: hidden" in late["unmet"][0]["message"]
    assert not outside.exists()
    alone = cli(*box, "--no-wait", "--", "sleep", "600")["job_id"]
    refused = cli("wait", alone, "--for", "exec=true")
    assert refused["error"]["code"] == "invalid_argument"
    assert "--health COMMAND" in refused["error"]["message"]


def test_the_rules_judge_the_checks_of_a_confined_job(cli: Cli, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\nprefix = ["touch"]\nverdict = "deny"\nreason = "no"\n')
    for words in (("--for", "exec=touch made"), ("--health", "touch made")):
        told = cli("run", "--sandbox", "workspace-write", "--rules", rules, *words, "--", "sleep", "600")
        assert told["error"]["code"] == "command_denied"


def test_python_callers_wait_for_conditions_too(tmp_path: Path, stranger: int) -> None:
    jobs = open_jobs(str(tmp_path / "jobs"))
    told = jobs.run([*SERVER, "127.0.0.1", "0"], cwd=str(tmp_path), conditions=["listen"])
    job_id = told["job_id"]
    try:
        port = listening(told)[0]["port"]
        both = jobs.wait(job_id, conditions=[f"http=localhost:{port}", "exec=true"], every=True)
        assert both["ready"]
        late = jobs.wait(job_id, conditions=[f"listen:{stranger}"], seconds=0)
        assert late["unmet"][0]["held_by"]["pid"] == os.getpid()
        with pytest.raises(InvalidArgument, match="invalid condition"):
            jobs.wait(job_id, conditions=["bogus"])
    finally:
        jobs.kill(job_id)


def test_a_job_in_a_shared_loopback_is_reached(tmp_path: Path) -> None:
    """As jobs of an MCP server are: in the network of all its boxes."""
    jobs = open_jobs(str(tmp_path / "jobs"))
    work = tmp_path / "work"
    work.mkdir()
    profile = Profile("workspace-write", [work]).replace(loopback="shared")
    ids: list[str] = []
    try:
        for conditions in (["listen"], ["http=localhost:3000", "listen"]):
            port = "3000" if len(conditions) > 1 else "0"
            told = jobs.run(
                [*SERVER, "127.0.0.1", port],
                cwd=str(work),
                sandbox=profile,
                conditions=conditions,
                every=True,
            )
            ids.append(told["job_id"])
            assert told["ready"], told
        assert jobs.wait(ids[1], conditions=["http=localhost:3000"])["met"][0]["status"] == 200
        late = jobs.wait(ids[0], conditions=["listen:3000"], seconds=0.1)
        assert late["unmet"][0]["held_by"]["job_id"] == ids[1]
    finally:
        for job_id in ids:
            jobs.kill(job_id)
        from agent_exec.host import close_loopback

        close_loopback(profile.network or "")


def test_waiting_loads_little(cli: Cli) -> None:
    """A wait without conditions loads nothing of this."""
    job_id = cli("run", "--", "true")["job_id"]
    code = "import sys; from agent_exec.apps.main import main; main(); print(*sorted(sys.modules), file=sys.stderr)"
    out = subprocess.run(
        [sys.executable, "-c", code, "wait", job_id],
        env=cli.env,
        cwd=cli.cwd,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(out.stdout)["state"] == "exited"
    assert not [
        name for name in out.stderr.split() if "readiness" in name or "listening" in name or name == "regex"
    ]
