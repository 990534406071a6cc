"""The command line with --server: the same answers and exit codes as without, and no job twice."""

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the server's libraries are not installed")

from apps.serve.serving import Served, served
from cli import Answer, Cli
from support import wait_until

VARYING = {
    *"job_id short_job_id created_at started_at finished_at updated_at duration_ms elapsed_ms waited_ms".split(),
    *"cursor stdout_log_path stderr_log_path combined_log_path stdout_log stderr_log".split(),
    *"observed_within_ms pid process_group log_path after_ms ready_at".split(),
}


class Both:
    """The program without a server, and with one for the same jobs."""

    def __init__(self, cli: Cli, server: Served) -> None:
        self.server = server
        self.here = cli
        self.there = Cli(cli.root, cli.cwd)
        self.there.warm = ""
        state = str(cli.root.with_name("state"))
        self.there.env |= {"AGENT_EXEC_SERVER": server.url, "XDG_STATE_HOME": state}

    def same(self, *words: object, **settings: Any) -> tuple[Answer, Answer]:
        """Carry a verb out twice, by each; all but ids and times must be equal."""
        local, remote = self.here(*words, **settings), self.there(*words, **settings)
        assert local.code == remote.code, (local, remote)
        assert plain(remote) == plain(local)
        return local, remote


def plain(value: Any) -> Any:
    """Return an answer without what differs between two jobs."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items() if name not in VARYING}
    return [plain(one) for one in value] if isinstance(value, list) else value


@pytest.fixture
def both(cli: Cli) -> Iterator[Both]:
    with served(cli, "--all-jobs") as server:
        yield Both(cli, server)


def test_jobs_are_started_with_the_same_answers(both: Both, tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_bytes(b"in \xff\n")
    line = "cat; echo err >&2; exit 3"
    both.same("run", "--stdin-file", text, "--", "sh", "-c", line)
    both.same("run", "--exit-code", "--shell", "exit 7")
    both.same(
        "run",
        "--stdin",
        "a",
        "--env",
        "A=b",
        "--tag",
        "t",
        "--timeout",
        "9s",
        "--",
        "sh",
        "-c",
        "cat; echo $A",
    )
    both.same("run", "--tail-lines", "1", "--wait", "--", "printf", "1\\n2\\n")
    both.same("run", "--", "no-such-program-anywhere")
    both.same("run", "--for", "match=up", "--exit-code", "--no-auto-gc", "--", "echo", "up")
    for one, job in zip((both.here, both.there), both.same("create", "--", "echo", "hi"), strict=True):
        assert one("start", job["job_id"])["stdout"] == "hi\n"
        again = one("restart", job["job_id"], "--exit-code")
        assert (again["attempt"], again["stdout"], again.code) == (2, "hi\n", 0)


def test_verbs_about_a_job_have_the_same_answers(both: Both) -> None:
    job = both.there("run", "--tag", "t", "--", "sh", "-c", "echo one; echo two >&2")["job_id"]
    runs = both.there("run", "--no-wait", "--", "sleep", "600")["job_id"]
    for words in (
        ["status", job],
        ["status", "last"],
        ["tail", job, "--merged"],
        ["tail", "@t", "--grep", "o"],
        ["tail", job, "--view", "errors"],
        ["wait", job, "--exit-code"],
        ["wait", runs, "--until", "10ms", "--exit-code"],
        ["list", "--limit", "1"],
        ["ps"],
        ["plan"],
        ["events", "--job", job],
        ["gc", "--older-than", "7d"],
        ["delete", job, "--dry-run"],
        ["status", "NOSUCH"],
        ["tail", job, "--cursor", "nonsense"],
        ["kill", job, "--signal", "NONE"],
        ["tag", "add", job, "--tag", "not a tag"],
    ):
        both.same(*words)
    assert both.there("tag", "set", job, "--tag", "u")["tags"] == ["u"]
    assert both.there("timeout", "set", runs, "--in", "10m")["type"] == "timeout_set"
    assert both.there("kill", runs)["terminated_signal"] == "SIGTERM"
    assert both.there("delete", job)["deleted"] == 1
    out = both.there.raw("events", "--follow", "--since", "start", "--limit", "3", "--job", runs)
    assert [json.loads(line)["kind"] for line in out.stdout.splitlines()] == ["created", "started", "ended"]


def test_what_no_server_does_is_refused(both: Both) -> None:
    for words in (
        ["notify", "show", "X"],
        ["logs", "X"],
        ["watch", "--", "true"],
        ["delete", "--all"],
        ["list", "--root", "/tmp"],
        ["run", "--leave", "--", "true"],
    ):
        out = both.there.raw(*words)
        assert (out.returncode, out.stdout) == (2, b""), words
        assert b"server" in out.stderr, words
    named = ("--server", both.server.url)
    for words in (["mcp"], ["shell"]):
        out = both.here.raw(*words, *named)
        assert (out.returncode, b"leave out --server" in out.stderr) == (2, True), words
    assert both.there("schema").code == 0
    assert both.there("status", "NOSUCH", "--server", "")["error"]["code"] == "job_not_found"
    assert not both.here("list", "--all")["jobs"]


def test_the_token_is_ours_only_on_this_machine(both: Both, tmp_path: Path) -> None:
    far = {"AGENT_EXEC_SERVER": "http://192.0.2.1:1"}
    out = both.there.raw("list", env=far)
    assert (out.returncode, b"AGENT_EXEC_TOKEN" in out.stderr) == (2, True)
    missing = both.there.raw("list", "--token-file", tmp_path / "none")
    assert (missing.returncode, b"is missing" in missing.stderr) == (2, True)
    assert not (tmp_path / "none").exists()
    wrong = both.there("list", env={"AGENT_EXEC_TOKEN": "wrong"})
    assert (wrong.code, wrong["error"]["code"]) == (1, "unauthorized")
    url = both.there.raw("list", env={"AGENT_EXEC_SERVER": "nonsense", "AGENT_EXEC_TOKEN": "x"})
    assert (url.returncode, b"not the URL of a server" in url.stderr) == (2, True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    gone = both.there("list", env={"AGENT_EXEC_SERVER": f"http://127.0.0.1:{port}"})
    assert (gone.code, gone["error"]["code"]) == (1, "broken")
    assert "see that it runs" in gone["error"]["message"]


def message(wire: socket.socket) -> bytes:
    """Read one message of HTTP, which has a length."""
    read = b""
    while b"\r\n\r\n" not in read:
        read += wire.recv(65536)
    size = int(read.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(read.partition(b"\r\n\r\n")[2]) < size:
        read += wire.recv(65536)
    return read


def test_an_answer_that_is_lost_starts_nothing_twice(both: Both, cli: Cli) -> None:
    """The first answer never arrives: the same request comes again, and finds its job."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def relay() -> None:
            for lost in (True, False):
                wire, _ = listener.accept()
                with wire, socket.create_connection(("127.0.0.1", both.server.port)) as server:
                    server.sendall(message(wire))
                    answer = message(server)
                    if not lost:
                        wire.sendall(answer)

        thread = threading.Thread(target=relay)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        told = both.there("run", "--", "sh", "-c", "echo once >> marks", env={"AGENT_EXEC_SERVER": url})
        thread.join(20)
    assert (told.code, told["exit_code"], told["type"]) == (0, 0, "run")
    assert (cli.cwd / "marks").read_text() == "once\n"
    assert [one["job_id"] for one in cli("list")["jobs"]] == [told["job_id"]]


def is_connected(pid: int) -> bool:
    """True if a process has a socket."""
    with os.scandir(f"/proc/{pid}/fd") as found:
        return any(os.readlink(entry.path).startswith("socket:") for entry in found)


def test_an_interrupted_call_shows_the_job_and_leaves_it_alone(both: Both) -> None:
    told: dict[str, Any] = {}
    for words in (
        ["run", "--wait", "--", "sh", "-c", "echo begun > mark; sleep 600"],
        ["wait", "last", "--forever"],
    ):
        with subprocess.Popen(
            both.there.argv(*words), cwd=both.there.cwd, env=both.there.env, stdout=subprocess.PIPE
        ) as process:
            wait_until((both.there.cwd / "mark").exists)
            wait_until(lambda: is_connected(process.pid))
            process.send_signal(signal.SIGINT)
            assert process.stdout is not None
            told = json.loads(process.stdout.read())
        assert (told["interrupted"], told["state"], told["type"]) == (True, "running", words[0])
    assert both.here("kill", told["job_id"])["state"] == "killed"
