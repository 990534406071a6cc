"""Every request needs a token, and each token allows what its scope says; nothing comes from other origins."""

import json
import os
import socket
import stat
import time

import pytest

pytest.importorskip("uvicorn", reason="the server's libraries are not installed")

from agent_exec.apps.serve import problems
from agent_exec.apps.serve.app import OPERATIONS
from agent_exec.apps.serve.openapi import document
from agent_exec.apps.serve.tokens import Scope, issue, scope_of
from agent_exec.model import errors
from agent_exec.tools.codes import CODES
from apps.serve.serving import served
from cli import Cli
from support import wait_until


def paths(job: str) -> list[tuple[str, str, bool]]:
    """Return method and path of every operation, and whether it only reads."""
    found = [(one.method, one.path, one.reads) for one in OPERATIONS]
    filled = [
        (method, path.replace("{job}", job).replace("{session}", "1").replace("{group}", "g"), reads)
        for method, path, reads in found
    ]
    return [*filled, ("GET", "/openapi.json", True)]


def test_no_operation_answers_without_a_valid_token(cli: Cli) -> None:
    with served(cli) as server:
        job = server.run("true", observe=10)["job_id"]
        expired = issue(server.token, Scope(expires=int(time.time()) - 1))
        forged = issue("another-secret-of-the-right-length-000", Scope())
        widened = issue(server.token, Scope(read_only=True)).replace("aex1.", "aex1.e30", 1)
        for method, path, _ in paths(job):
            for token in ("", "wrong", expired, forged, widened):
                reply = server(method, path, headers={"authorization": f"Bearer {token}" if token else None})
                assert (reply.status, reply.body["code"]) == (401, "unauthorized"), (method, path)
                assert reply.fields["www-authenticate"] == "Bearer"
        basic = server("GET", "/v1/info", headers={"authorization": f"Basic {server.token}"})
        assert basic.status == 401
        assert server("GET", "/v1/jobs").body["jobs"][0]["job_id"] == job


def test_a_read_only_token_changes_nothing(cli: Cli) -> None:
    with served(cli) as server:
        job = server.run("sleep", "600", observe=0)["job_id"]
        told = cli(
            "serve",
            "token",
            "--read-only",
            "--token-file",
            cli.root.with_name("state") / "agent-exec" / "token",
        )
        assert (told["type"], told["read_only"]) == ("serve_token", True)
        for method, path, reads in paths(job):
            if reads and not path.endswith("/wait"):
                assert server(method, path, token=told["token"]).status in (200, 400, 404), path
            elif not reads:
                reply = server(method, path, token=told["token"])
                assert (reply.status, reply.body["code"]) in (
                    (403, "forbidden"),
                    (400, "invalid_argument"),
                ), path
        order = {"argv": ["true"]}
        assert server("POST", "/v1/jobs", order, token=told["token"]).status == 403
        assert server("POST", f"/v1/jobs/{job}/kill", token=told["token"]).status == 403
        assert server("GET", f"/v1/jobs/{job}").body["state"] == "running"


def test_a_token_for_one_job_shows_that_job_alone(cli: Cli) -> None:
    with served(cli) as server:
        mine, other = (server.run("true", observe=10)["job_id"] for _ in range(2))
        token = issue(server.token, Scope(job=mine))
        assert server("GET", f"/v1/jobs/{mine}", token=token).status == 200
        assert server("GET", f"/v1/events?job={mine}", token=token).status == 200
        for path in (
            f"/v1/jobs/{other}",
            "/v1/jobs",
            "/v1/events",
            f"/v1/events?job={other}",
            "/v1/info",
            "/v1/sessions",
        ):
            assert server("GET", path, token=token).status == 403, path
        assert server("POST", "/v1/exec", {"command": ["true"]}, token=token).status == 403


def test_jobs_of_other_folders_are_out_of_reach_unless_all_are_asked_for(cli: Cli) -> None:
    other = cli.root.with_name("other")
    other.mkdir()
    job = cli("run", "--no-wait", "--", "sleep", "600", cwd=other)["job_id"]
    with served(cli) as server:
        for method, path in (
            ("GET", f"/v1/jobs/{job}"),
            ("GET", f"/v1/jobs/{job}/tail"),
            ("GET", f"/v1/events?job={job}"),
            ("POST", f"/v1/jobs/{job}/kill"),
            ("DELETE", f"/v1/jobs/{job}"),
        ):
            reply = server(method, path)
            assert (reply.status, reply.body["code"]) == (404, "job_not_found"), path
        assert server("GET", "/v1/jobs").body["jobs"] == []
        assert server("GET", "/v1/events").body["events"] == []
        assert server("POST", "/v1/gc").status == 400
    with served(cli, "--all-jobs") as server:
        assert [one["job_id"] for one in server("GET", "/v1/jobs").body["jobs"]] == [job]
        assert {one["job_id"] for one in server("GET", "/v1/events").body["events"]} == {job}
        assert server("POST", "/v1/gc", {"dry_run": True}).status == 200


def test_a_confining_server_has_no_way_out_of_its_sandbox(cli: Cli) -> None:
    free = cli("run", "--wait", "--", "sh", "-c", "echo $GIVEN > made")["job_id"]
    (cli.cwd / "made").unlink()
    with served(cli, sandbox="workspace-write") as server:
        for path, body in (
            ("/v1/jobs", {"argv": ["true"], "notify": {"command": "touch made"}}),
            ("/v1/jobs", {"argv": ["true"], "sandbox": "full-access"}),
            (f"/v1/jobs/{free}/restart", {"env": {"GIVEN": "x"}}),
        ):
            assert server("POST", path, body).status in (400, 409), path
        mine = server.run("sleep", "600", observe=0)["job_id"]
        assert server("GET", f"/v1/jobs/{mine}/wait?conditions=exec%3Dtouch%20made&seconds=1").status == 400
        assert server("POST", f"/v1/jobs/{mine}/restart", {"observe": 0}).body["attempt"] == 2
        read_only = issue(server.token, Scope(read_only=True))
        told = server("GET", f"/v1/jobs/{mine}/wait?conditions=http%3Dhttp://127.0.0.1/", token=read_only)
        assert told.status == 403
    assert not (cli.cwd / "made").exists()


def test_scopes_survive_signing_and_no_change_of_them_does() -> None:
    secret = "s" * 40
    scope = Scope(read_only=True, job="01X", expires=int(time.time()) + 60)
    token = issue(secret, scope)
    assert scope_of(secret, token) == scope
    assert scope_of(secret, secret) == Scope()
    for place in range(len(token)):
        changed = token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :]
        assert scope_of(secret, changed) is None, place


def test_requests_of_other_pages_and_names_are_refused(cli: Cli) -> None:
    with served(cli) as server:
        order = {"argv": ["touch", "made"]}
        for headers in (
            {"host": "evil.example"},
            {"host": f"evil.example:{server.port}"},
            {"origin": "http://evil.example"},
            {"origin": "null"},
        ):
            assert server("POST", "/v1/jobs", order, headers=headers).status == 403
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None):
            reply = server("POST", "/v1/jobs", order, headers={"content-type": kind})
            assert (reply.status, reply.body["code"]) == (415, "not_json")
        assert not (cli.cwd / "made").exists()
        assert server("GET", "/v1/jobs").body["jobs"] == []


def test_bodies_that_are_too_large_are_refused(cli: Cli) -> None:
    with served(cli) as server:
        reply = server("POST", "/v1/jobs", b'{"argv": ["' + b"a" * (5 << 20) + b'"]}')
        assert (reply.status, reply.body["code"]) == (413, "too_large")
        assert server("GET", "/v1/jobs").body["jobs"] == []


def test_commands_are_confined_and_a_request_cannot_widen_that(cli: Cli) -> None:
    with served(cli, sandbox="read-only") as server:
        weaker = server("POST", "/v1/jobs", {"argv": ["true"], "sandbox": "workspace-write"})
        assert (weaker.status, weaker.body["code"]) == (400, "invalid_argument")
        told = server.run("sh", "-c", "touch made", observe=20)
        assert told["exit_code"] != 0
        ran = server("POST", "/v1/exec", {"command": ["sh", "-c", 'cat "$HOME"/nothing; touch made; true']})
        assert ran.body["sandbox"]["profile"] == "read-only"
        assert not (cli.cwd / "made").exists()


def test_rules_judge_what_is_asked_over_http(cli: Cli) -> None:
    rules = cli.root.with_name("rules.toml")
    rules.write_text('[[rule]]\nprefix = ["touch"]\nverdict = "deny"\nreason = "not here"\n')
    with served(cli, "--rules", rules) as server:
        for path, body in (
            ("/v1/jobs", {"argv": ["touch", "made"]}),
            ("/v1/exec", {"command": ["touch", "made"]}),
        ):
            reply = server("POST", path, body)
            assert reply.status == 403, reply.body
            assert "not here" in reply.body["detail"]
        assert server("POST", "/v1/sessions", {"cmd": "touch made"}).status == 422
        told = server("POST", "/v1/policy/explain", {"line": "touch made"}).body
        assert (told["type"], told["verdict"]) == ("policy_explain", "deny")
        assert not (cli.cwd / "made").exists()


def test_a_unix_socket_is_for_its_user_alone_and_a_dead_one_is_replaced(cli: Cli) -> None:
    path = cli.cwd / "socket"
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(os.fspath(path))
    dead.close()
    with served(cli, address=("--socket", path)) as server:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert server("GET", "/v1/info").body["workspaces"] == [os.path.realpath(cli.cwd)]
        second = cli.raw("serve", "--socket", path)
        assert second.returncode == 2
        assert b"a server listens at" in second.stderr
    wait_until(lambda: not path.exists())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--host", "0.0.0.0"), "--allow-remote"),
        (("--port", "70000"), "from 0 to 65535"),
        (("--socket", "s", "--port", "1"), "contradict"),
        (("--workspace", "nowhere"), "a folder that exists"),
        (("--expires", "2h"), "serve token"),
        (("nonsense",), "serve token"),
    ],
)
def test_options_that_make_no_sense_are_refused(cli: Cli, words: tuple[str, ...], said: str) -> None:
    out = cli.raw("serve", *words)
    assert (out.returncode, out.stdout) == (2, b"")
    assert said in out.stderr.decode()


def test_every_error_has_a_status() -> None:
    def codes(kind: type[errors.AgentExecError]) -> set[str]:
        return {kind.code}.union(*(codes(one) for one in kind.__subclasses__()))

    ours = codes(errors.AgentExecError) - {"internal_error"} | set(CODES)
    oneshot = {column for column, _ in CODES.values()}
    assert ours | oneshot <= problems.STATUS.keys()


def test_the_document_describes_every_operation_and_all_references_resolve(cli: Cli) -> None:
    with served(cli) as server:
        told = server("GET", "/openapi.json").body
    assert told == json.loads(json.dumps(document(OPERATIONS)))
    assert told["openapi"] == "3.1.0"
    named = {(method.upper(), path) for path, one in told["paths"].items() for method in one}
    assert named == {(one.method, one.path) for one in OPERATIONS}
    names = [one["operationId"] for path in told["paths"].values() for one in path.values()]
    assert len(set(names)) == len(names)

    def references(value: object) -> list[str]:
        if isinstance(value, list):
            return [one for part in value for one in references(part)]
        if not isinstance(value, dict):
            return []
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [one for part in value.values() for one in references(part)]

    for reference in set(references(told)):
        found = told
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
        assert isinstance(found, dict)


def test_sessions_are_typed_into_read_resized_made_jobs_and_ended(cli: Cli) -> None:
    with served(cli) as server:
        begun = server(
            "POST", "/v1/sessions", {"cmd": "cat", "tty": True, "login": False, "yield_time_ms": 1000}
        ).body
        path = f"/v1/sessions/{begun['session_id']}"
        assert (
            "hello"
            in server("POST", f"{path}/write", {"chars": "hello\n", "yield_time_ms": 1000}).body["output"]
        )
        assert server("GET", f"{path}/output?from=0").body["output"].startswith("hello")
        assert server("POST", f"{path}/resize", {"rows": 10, "columns": 40}).status == 200
        assert [one["session_id"] for one in server("GET", "/v1/sessions").body["sessions"]] == [
            begun["session_id"]
        ]
        job = server("POST", f"{path}/detach").body["job_id"]
        assert server("GET", f"/v1/jobs/{job}").body["state"] == "running"
        other = server(
            "POST", "/v1/sessions", {"cmd": "sleep 600", "login": False, "yield_time_ms": 250}
        ).body["session_id"]
        assert server("DELETE", f"/v1/sessions/{other}").body["signal"] == "SIGTERM"
        server("POST", f"/v1/jobs/{job}/kill", {"signal": "KILL"})


def test_five_hundred_requests_at_once_are_all_answered(cli: Cli) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with served(cli) as server, ThreadPoolExecutor(100) as pool:
        statuses = list(pool.map(lambda _: server("GET", "/v1/jobs").status, range(500)))
    assert statuses == [200] * 500
