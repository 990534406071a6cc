"""Jobs over HTTP: the verbs, their answers, streams of output, and keys that start nothing twice."""

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the server's libraries are not installed")

from apps.serve.serving import served
from cli import Cli, validator
from support import exists, wait_until


def test_a_job_from_its_start_to_its_deletion_is_as_the_program_says(cli: Cli) -> None:
    with served(cli) as server:
        begun = server.run("sh", "-c", "echo out; echo err >&2; exit 3", tags=["ci"], observe=10)
        job = begun["job_id"]
        assert (begun["type"], begun["exit_code"], begun["stdout"]) == ("run", 3, "out\n")
        for path, words in (
            (f"/v1/jobs/{job}", ("status", job)),
            (f"/v1/jobs/{job}/tail?merged=true", ("tail", job, "--merged")),
            ("/v1/jobs?limit=5&tags=ci", ("list", "--all", "--limit", "5", "--tag", "ci")),
            ("/v1/plan", ("plan",)),
        ):
            reply = server("GET", path)
            assert reply.status == 200
            assert reply.body == dict(cli(*words)), path
        assert server("GET", f"/v1/jobs/{job[-8:].lower()}/wait?seconds=1").body["state"] == "exited"
        assert server("POST", f"/v1/jobs/{job}/tags", {"add": ["more"]}).body["tags"] == ["ci", "more"]
        assert server("POST", f"/v1/jobs/{job}/restart", {"observe": 10}).body["attempt"] == 2
        assert server("DELETE", f"/v1/jobs/{job}").body["deleted"] == 1
        gone = server("GET", f"/v1/jobs/{job}")
        assert (gone.status, gone.body["code"]) == (404, "job_not_found")


def test_a_job_is_created_started_moved_and_killed(cli: Cli) -> None:
    with served(cli) as server:
        job = server("POST", "/v1/created", {"line": "echo $GIVEN; sleep 600", "env": {"GIVEN": "x"}}).body[
            "job_id"
        ]
        assert server("GET", f"/v1/jobs/{job}").body["state"] == "created"
        assert server("POST", f"/v1/jobs/{job}/start", {"observe": 0}).body["state"] == "running"
        assert server("POST", f"/v1/jobs/{job}/timeout", {"seconds": 500}).status == 200
        ready = server("GET", f"/v1/jobs/{job}/wait?conditions=match%3Dx&seconds=30").body
        assert (ready["state"], ready["ready"]) == ("running", True)
        assert server("POST", f"/v1/jobs/{job}/kill").body["terminated_signal"] == "SIGTERM"


def test_an_error_says_what_is_wrong_with_its_code_and_status(cli: Cli) -> None:
    with served(cli) as server:
        for method, path, body, status, code in (
            ("GET", "/v1/nothing", None, 404, "no_such_path"),
            ("PUT", "/v1/jobs", None, 405, "method_not_allowed"),
            ("POST", "/v1/jobs", b"[1", 400, "invalid_argument"),
            ("POST", "/v1/jobs", [1], 400, "invalid_argument"),
            ("POST", "/v1/jobs", {}, 400, "invalid_argument"),
            ("POST", "/v1/jobs", {"argv": ["x"], "line": "x"}, 400, "invalid_argument"),
            ("POST", "/v1/jobs", {"argv": ["true"], "nope": 1}, 400, "invalid_argument"),
            ("POST", "/v1/jobs", {"argv": ["true"], "timeout": "soon"}, 400, "invalid_argument"),
            ("POST", "/v1/jobs", {"argv": ["true"], "cwd": "/"}, 400, "invalid_argument"),
            ("POST", "/v1/jobs", {"argv": ["no-such-program-anywhere"]}, 422, "command_not_found"),
            ("GET", "/v1/jobs?limit=x", None, 400, "invalid_argument"),
            ("GET", "/v1/jobs?limit=1&limit=2", None, 400, "invalid_argument"),
            ("GET", "/v1/jobs/..%2f..%2fetc", None, 404, "no_such_path"),
            ("GET", "/v1/jobs/%00", None, 400, "invalid_argument"),
            ("GET", "/v1/events?kinds=nope", None, 400, "invalid_argument"),
            ("DELETE", "/v1/groups/none", None, 404, "group_not_found"),
            ("POST", "/v1/exec", {"command": ["true"], "cwd": "/"}, 403, "SANDBOX_VIOLATION"),
            ("GET", "/v1/sessions/7/output", None, 404, "missing"),
        ):
            reply = server(method, path, body)
            found = reply.status, reply.body["code"]
            assert found == (status, code), (path, body, reply.body)
            assert reply.fields["content-type"] == "application/problem+json"
            assert reply.body["detail"]
        assert server("PUT", "/v1/jobs").fields["allow"] == "GET, POST"


def test_output_goes_on_right_behind_the_cursor_of_a_stream_that_was_cut(cli: Cli, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    line = f"for n in 1 2 3; do echo out$n; echo err$n >&2; done; while [ ! -e {gate} ]; do sleep .02; done; echo last"
    with served(cli) as server:
        job = server.run("sh", "-c", line, observe=0)["job_id"]
        seen: list[tuple[str, str]] = []
        cursor = None
        for _ in range(2):  # one event from each of two connections, which are then cut
            with server.stream(f"/v1/jobs/{job}/tail", cursor) as found:
                event = next(found)
                seen.append((event.data["stream"], event.data["text"]))
                cursor = event.cursor
        with server.stream(f"/v1/jobs/{job}/tail", cursor) as found:
            gate.touch()
            for event in found:
                if event.name == "end":
                    break
                seen.append((event.data["stream"], event.data["text"]))
        assert event.data["exit_code"] == 0
        assert "".join(text for stream, text in seen if stream == "stdout") == "out1\nout2\nout3\nlast\n"
        assert "".join(text for stream, text in seen if stream == "stderr") == "err1\nerr2\nerr3\n"
        bad = server("GET", f"/v1/jobs/{job}/tail?cursor=nope", headers={"accept": "text/event-stream"})
        assert bad.status == 400


def test_a_stream_of_output_goes_on_with_the_next_attempt(cli: Cli) -> None:
    with served(cli) as server:
        job = server.run("sh", "-c", "echo hello; exit 3", observe=0, retry="1,backoff=0.5s")["job_id"]
        with server.stream(f"/v1/jobs/{job}/tail") as found:
            names = [event.name for event in found]
        assert names in (
            ["output", "attempt", "output", "end"],
            ["attempt", "output", "end"],
            ["output", "end"],
        )
        assert server("GET", f"/v1/jobs/{job}/tail?attempt=1").body["stdout"] == "hello\n"


def test_a_stream_of_a_job_that_is_deleted_ends_with_the_error(cli: Cli) -> None:
    with served(cli) as server:
        job = server.run("sh", "-c", "echo hello; sleep 600", observe=0)["job_id"]
        with server.stream(f"/v1/jobs/{job}/tail") as found:
            assert next(found).name == "output"
            hidden = cli.folder(job).rename(cli.root / ".hidden")
            last = list(found)[-1]
            hidden.rename(cli.folder(job))
        assert (last.name, last.data["code"]) == ("error", "job_not_found")


def test_events_are_read_and_followed_from_a_cursor(cli: Cli) -> None:
    with served(cli) as server:
        before = server("GET", "/v1/events").body["cursor"]
        job = server.run("true", observe=10)["job_id"]
        with server.stream(f"/v1/events?job={job}&since={before}") as found:
            first, second = next(found), next(found)
        assert (first.name, second.name) == ("created", "started")
        with server.stream(f"/v1/events?job={job}", first.cursor) as found:
            assert next(found).data == second.data


def test_a_key_starts_one_job_however_often_and_from_wherever_it_is_sent(cli: Cli) -> None:
    order = {"argv": ["sh", "-c", "echo started >> marks; sleep 600"], "observe": 0}
    with served(cli) as server:
        with ThreadPoolExecutor(8) as pool:
            replies = list(
                pool.map(
                    lambda _: server("POST", "/v1/jobs", order, headers={"idempotency-key": "one"}), range(8)
                )
            )
        jobs = {reply.body["job_id"] for reply in replies}
        assert [reply.status for reply in replies] == [200] * 8
        assert len(jobs) == 1
        assert sum("idempotent-replayed" not in reply.fields for reply in replies) == 1
        other = server("POST", "/v1/jobs", {**order, "timeout": 9}, headers={"idempotency-key": "one"})
        assert (other.status, other.body["code"]) == (409, "key_reused")
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    [record] = (cli.root.with_name("state") / "agent-exec" / "keys").glob("*.json")
    noted = json.loads(record.read_text())
    for kept in (noted, {name: value for name, value in noted.items() if name != "job"}):
        record.write_text(json.dumps(kept))  # the second: the server was killed before it noted the job
        with served(cli) as server:
            again = server("POST", "/v1/jobs", order, headers={"idempotency-key": "one"})
            assert {again.body["job_id"]} == jobs
    wait_until((cli.cwd / "marks").exists)
    assert (cli.cwd / "marks").read_text() == "started\n"


def test_a_key_whose_request_failed_before_anything_was_started_can_be_used_again(cli: Cli) -> None:
    with served(cli) as server:
        key = {"idempotency-key": "two"}
        order = {"argv": ["true"], "cwd": "folder", "observe": 10}
        (cli.cwd / "folder").symlink_to("/")
        assert server("POST", "/v1/jobs", order, headers=key).status == 400
        (cli.cwd / "folder").unlink()
        (cli.cwd / "folder").mkdir()
        assert server("POST", "/v1/jobs", order, headers=key).body["state"] == "exited"


def test_the_answer_of_a_command_is_repeated_for_its_key_and_a_lost_one_is_not_run_again(cli: Cli) -> None:
    order = {"command": ["sh", "-c", "echo run >> marks; echo out"]}
    with served(cli) as server:
        replies = [server("POST", "/v1/exec", order, headers={"idempotency-key": "k"}) for _ in range(2)]
        assert replies[0].body == replies[1].body
        session = {"cmd": "sleep 600", "login": False, "yield_time_ms": 250}
        begun = server("POST", "/v1/sessions", session, headers={"idempotency-key": "s"})
        assert begun.status == 200, begun.body
    assert (cli.cwd / "marks").read_text() == "run\n"
    with served(cli) as server:
        assert server("POST", "/v1/exec", order, headers={"idempotency-key": "k"}).body == replies[0].body
        lost = server("POST", "/v1/sessions", session, headers={"idempotency-key": "s"})
        assert (lost.status, lost.body["code"]) == (409, "uncertain")


def test_jobs_outlive_a_server_that_is_killed_and_sessions_do_not(cli: Cli) -> None:
    with served(cli) as server:
        job = server.run("sleep", "600", observe=0)["job_id"]
        session = server(
            "POST", "/v1/sessions", {"cmd": "echo $$; exec sleep 600", "login": False, "yield_time_ms": 250}
        ).body
        output = f"/v1/sessions/{session['session_id']}/output"
        wait_until(lambda: server("GET", output).body["output"].endswith("\n"))
        pid = int(server("GET", output).body["output"])
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    wait_until(lambda: not exists(pid))
    assert cli("status", job)["state"] == "running"
    with served(cli) as server:
        assert server("GET", f"/v1/jobs/{job}").body["state"] == "running"
        assert server("GET", "/v1/sessions").body["sessions"] == []


def test_a_client_that_hangs_up_ends_its_waiting_and_leaves_the_job_alone(cli: Cli) -> None:
    with served(cli) as server:
        job = server.run("sleep", "600", observe=0)["job_id"]

        def waits() -> bool:  # by a pipe of the job that it holds open
            for fd in Path(f"/proc/{server.process.pid}/fd").iterdir():
                try:
                    if job in os.readlink(fd):
                        return True
                except FileNotFoundError:
                    continue  # closed meanwhile
            return False

        assert not waits()
        connection = server.connection()
        connection.request(
            "GET", f"/v1/jobs/{job}/wait?forever=true", headers={"authorization": f"Bearer {server.token}"}
        )
        wait_until(waits)
        connection.close()
        wait_until(lambda: not waits())
        assert server("GET", f"/v1/jobs/{job}").body["state"] == "running"


def test_answers_of_verbs_match_the_schema_of_the_program(cli: Cli) -> None:
    with served(cli) as server:
        job = server.run("true", observe=10)["job_id"]
        for path in (
            f"/v1/jobs/{job}",
            f"/v1/jobs/{job}/tail",
            "/v1/jobs",
            "/v1/events",
            "/v1/groups",
            "/v1/plan",
        ):
            validator()(server("GET", path).body)
