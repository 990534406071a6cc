"""Facts of a job that are changed from outside: while it runs, after its end, without its supervisor."""

import threading
from pathlib import Path
from typing import Any

import pytest

from agent_exec.jobs.amend import amend
from agent_exec.jobs.record import Record
from agent_exec.jobs.store import Store
from agent_exec.model.errors import JobNotFound
from cli import Cli
from jobs.seen import Gate, lose_supervisor


def _add(tag: str) -> Any:
    def change(job: Record) -> dict[str, Any]:
        return {"tags": [*job.facts["tags"], tag]}

    return change


def test_a_running_job_is_changed_and_goes_on(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    job_id = cli("run", "--no-wait", "--tag", "a", "--", *gate.job())["job_id"]
    store = Store(str(cli.root))
    found = amend(store, store.find(job_id), _add("b" * 9000))
    assert found.facts["tags"] == ["a", "b" * 9000]
    assert found.state == "running"
    assert not list(Path(found.folder).glob("amend*"))
    gate.open()
    ended = cli("wait", job_id, "--forever")
    assert (ended["state"], ended["exit_code"], ended["stdout"]) == ("exited", 7, "before\nafter\n")
    assert cli("status", job_id)["tags"] == ["a", "b" * 9000]


def test_an_ended_job_is_changed(cli: Cli) -> None:
    job_id = cli("run", "--", "sh", "-c", "exit 3")["job_id"]
    store = Store(str(cli.root))
    for tag in ("a", "b"):
        assert amend(store, store.find(job_id), _add(tag)).facts["tags"][-1] == tag
    status = cli("status", job_id)
    assert (status["state"], status["exit_code"], status["tags"]) == ("exited", 3, ["a", "b"])


def test_a_lost_job_is_changed(cli: Cli) -> None:
    """Its record ends with the room that was reserved: the new line comes before that."""
    job_id = cli("run", "--no-wait", "--", "sleep", "600")["job_id"]
    lose_supervisor(cli, job_id)
    store = Store(str(cli.root))
    assert amend(store, store.find(job_id), _add("a")).facts["tags"] == ["a"]
    cli("kill", job_id)
    status = cli("status", job_id)
    assert (status["state"], status["reason"], status["tags"]) == ("failed", "supervisor_lost", ["a"])


def test_no_change_is_lost_among_many(cli: Cli, tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    job_id = cli("run", "--no-wait", "--", *gate.job())["job_id"]
    store = Store(str(cli.root))
    threads = [
        threading.Thread(
            target=lambda n=n: [amend(store, store.find(job_id), _add(f"{n}-{k}")) for k in range(5)]
        )
        for n in range(4)
    ]
    for thread in threads:
        thread.start()
    gate.open()  # it may end in the middle of it
    for thread in threads:
        thread.join()
    cli("wait", job_id, "--forever")
    assert sorted(cli("status", job_id)["tags"]) == sorted(f"{n}-{k}" for n in range(4) for k in range(5))


def test_a_job_that_is_gone(cli: Cli) -> None:
    job_id = cli("run", "--", "true")["job_id"]
    store = Store(str(cli.root))
    job = store.find(job_id)
    cli("delete", job_id)
    Path(job.folder).mkdir()
    with pytest.raises(JobNotFound, match="deleted meanwhile"):
        amend(store, job, _add("a"))
