"""The Python client: jobs of a server are used as local ones are, with the same answers and errors."""

import asyncio
import threading
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the server's libraries are not installed")

import agent_exec
from agent_exec import Cancel, InvalidArgument, JobNotFound, connect
from agent_exec.jobs import Jobs, open_jobs
from apps.serve.serving import served
from cli import Cli


def test_verbs_have_the_answers_of_local_jobs(cli: Cli) -> None:
    local = open_jobs(str(cli.root))
    with served(cli) as running:
        server = connect(running.url, running.token)
        jobs = server.jobs
        assert isinstance(jobs, Jobs)
        assert server.info()["workspaces"] == [str(cli.cwd.resolve())]
        begun: list[str] = []
        ran = jobs.run(
            ["sh", "-c", "cat; echo $A >&2; exit 3"],
            stdin=b"in",
            env={"A": "b"},
            tags=["t"],
            cwd=".",
            on_begin=begun.append,
        )
        job = ran["job_id"]
        assert (ran["exit_code"], ran["stdout"], ran["stderr"], begun) == (3, "in", "b\n", [job])
        assert jobs.status(job) == local.status(job)
        assert jobs.tail(job, merged=True) == local.tail(job, merged=True)
        assert jobs.list(tags=["t"], limit=3) == local.list(tags=["t"], limit=3)
        assert jobs.locate(job[-8:]) == local.locate(job)
        assert jobs.root == str(cli.root)
        assert jobs.tag(job, add=["more"])["tags"] == ["t", "more"]
        assert jobs.events(job=job)["events"][-1]["kind"] == "ended"
        assert [one["text"] for one in jobs.follow(job) if one["stream"] == "stderr"] == ["b\n"]
        assert jobs.restart(job, stdin=b"again", env={"A": "c"})["stdout"] == "again"
        made = jobs.create(["sleep", "600"])["job_id"]
        assert jobs.start(made, observe=0)["state"] == "running"
        assert jobs.set_timeout(made, 300)["ok"]
        assert jobs.kill(made, signal="KILL")["terminated_signal"] == "SIGKILL"
        assert asyncio.run(jobs.await_end(made))["state"] == "killed"
        assert jobs.delete(job)["deleted"] == 1
        assert jobs.set_group("build", 2)["groups"][0]["slots"] == 2
        assert jobs.remove_group("build")["groups"] == []
        assert server.exec(["echo", "hi"])["stdout"] == "hi\n"
        assert server.explain("ls")["type"] == "policy_explain"


def test_errors_are_those_of_local_jobs(cli: Cli) -> None:
    local = open_jobs(str(cli.root))
    with served(cli) as running:
        jobs = connect(running.url, running.token).jobs
        raised = []
        for one in (local, jobs):
            with pytest.raises(JobNotFound) as error:
                one.status("NOSUCH")
            raised.append((error.value.message, error.value.code, dict(error.value.details)))
        assert raised[0] == raised[1]
        with pytest.raises(InvalidArgument, match="outside of the workspace"):
            jobs.run(["true"], cwd="/")
        failed = jobs.run(["no-such-program-anywhere"])
        assert (failed["ok"], failed["error"]["code"]) == (False, "command_not_found")
        with pytest.raises(agent_exec.AgentExecError) as refused:
            connect(running.url, "wrong").jobs.list()
        assert refused.value.code == "unauthorized"
    with pytest.raises(agent_exec.Broken, match="does not answer"):
        jobs.list()
    for url in ("ftp://x", "http:", "nonsense"):
        with pytest.raises(InvalidArgument, match="not the URL of a server"):
            connect(url, "x")


def test_output_of_a_job_that_is_deleted_meanwhile_ends_with_the_error(cli: Cli) -> None:
    with served(cli) as running:
        jobs = connect(running.url, running.token).jobs
        job = jobs.run(["sh", "-c", "echo hello; sleep 600"], observe=0)["job_id"]
        found = jobs.follow(job)
        assert next(found)["text"] == "hello\n"
        hidden = cli.folder(job).rename(cli.root / ".hidden")
        with pytest.raises(JobNotFound):
            list(found)
        hidden.rename(cli.folder(job))


def test_a_unix_socket_is_connected_to(cli: Cli, tmp_path: Path) -> None:
    with served(cli, address=("--socket", tmp_path / "s")) as running:
        assert running.url.startswith("http+unix://")
        assert connect(running.url, running.token).jobs.run(["echo", "hi"])["stdout"] == "hi\n"


def test_a_key_starts_one_job(cli: Cli) -> None:
    with served(cli) as running:
        jobs = connect(running.url, running.token).jobs
        assert len({jobs.once("k").run(["sleep", "600"], observe=0)["job_id"] for _ in range(3)}) == 1
        first, second = (jobs.once("c").create(["true"]) for _ in range(2))
        assert first == second
        assert len(jobs.list()["jobs"]) == 2


def test_a_wait_that_is_cancelled_returns_and_leaves_the_job_alone(cli: Cli) -> None:
    with served(cli) as running:
        jobs = connect(running.url, running.token).jobs
        job = jobs.run(["sleep", "600"], observe=0)["job_id"]
        cancel = Cancel()
        threading.Timer(0.2, cancel.set).start()
        with pytest.raises(agent_exec.Interrupted):
            jobs.wait(job, seconds=None, cancel=cancel)
        assert jobs.status(job)["state"] == "running"


def test_events_are_followed(cli: Cli) -> None:
    with served(cli) as running:
        jobs = connect(running.url, running.token).jobs
        before = jobs.events()["cursor"]
        job = jobs.run(["true"])["job_id"]
        kinds = [one["kind"] for one in jobs.follow_events(since=before, job=job, limit=3)]
        assert kinds == ["created", "started", "ended"]
        assert list(jobs.follow_events(job=job, seconds=0.3)) == []
