"""Jobs that start after others: by their success, any end or readiness; what becomes of them if that never comes."""

import os
import random
import shutil
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent_exec.apps.options import VERBS
from agent_exec.jobs import open_jobs
from agent_exec.jobs.amend import amend, editing
from agent_exec.jobs.store import Store
from cli import Answer, Cli
from jobs.seen import ENDED, Gate, at_once, kill_and_wait, lose_supervisor, printed, supervisor_of
from support import exists, wait_until


def held(cli: Cli, *words: object) -> str:
    """Start a job that must wait; return its id."""
    answer = cli("run", "--no-wait", *words)
    assert (answer["state"], answer["supervisor"]) == ("created", "alive"), answer
    return str(answer["job_id"])


def ended(cli: Cli, job_id: str) -> Answer:
    return cli("wait", job_id, "--until", "60s")


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    return Gate(tmp_path / "gate")


def test_a_job_starts_when_the_one_before_it_succeeds(cli: Cli, gate: Gate) -> None:
    first = cli.start(*gate.job(after="echo first; exit 0"))
    second = held(cli, "--after", first[-6:], "--", "echo", "second")
    waiting = [{"kind": "after", "job_id": first, "until": "ok", "state": "running"}]
    for answer in (cli("status", second), cli("wait", second, "--until", "1ms"), cli("list")["jobs"][0]):
        assert (answer["state"], answer["waiting_for"]) == ("created", waiting)
    assert cli("status", second)["after"] == [{"job_id": first, "until": "ok"}]
    gate.open()
    answer = ended(cli, second)
    assert (answer["state"], answer["exit_code"], answer["stdout"]) == ("exited", 0, "second\n")
    assert cli("status", second)["started_at"] >= cli("status", first)["finished_at"]
    assert "waiting_for" not in cli("status", second)


@pytest.mark.parametrize("early", [False, True])
def test_a_job_fails_with_the_one_before_it_and_is_never_started(cli: Cli, gate: Gate, early: bool) -> None:
    first = cli.start(*gate.job(after="exit 3"))
    if early:
        gate.open()
        ended(cli, first)
    job_id = cli("run", "--no-wait", "--after", first, "--", "echo", "never")["job_id"]
    if not early:
        gate.open()
    answer = ended(cli, job_id)
    assert (answer["state"], answer["reason"], answer["stdout"]) == ("failed", "dependency_failed", "")
    assert answer["dependency"] == {"job_id": first, "until": "ok", "state": "exited"}
    assert first in answer["message"]
    assert "exit code 3" in answer["message"]
    assert "started_at" not in cli("status", job_id)
    assert cli("wait", job_id, "--exit-code").code == 127


def test_any_end_is_enough_if_asked_for(cli: Cli, gate: Gate) -> None:
    first = cli.start(*gate.job())
    second = held(cli, "--after", f"{first}:any", "--", "echo", "cleanup")
    gate.open()
    assert ended(cli, second)["stdout"] == "cleanup\n"


def test_a_job_may_wait_for_several(cli: Cli, tmp_path: Path) -> None:
    gates = [Gate(tmp_path / f"gate{n}") for n in range(3)]
    before = [cli.start(*gate.job(after="exit 0")) for gate in gates]
    job_id = held(cli, *(word for one in before for word in ("--after", one)), "--", "echo", "last")
    for gate, one in zip(gates, before, strict=True):
        assert one in [wait["job_id"] for wait in cli("status", job_id)["waiting_for"]]
        gate.open()
        ended(cli, one)
    assert ended(cli, job_id)["stdout"] == "last\n"


def test_a_lost_supervisor_is_no_success(cli: Cli, gate: Gate) -> None:
    """It is noticed at once, while the command that it has left behind still runs."""
    first = cli.start(*gate.job())
    second = held(cli, "--after", first, "--", "true")
    third = held(cli, "--after", f"{first}:any", "--", "echo", "third")
    wait_until(lambda: printed(cli, first))
    lose_supervisor(cli, first)
    answer = ended(cli, second)
    assert (answer["state"], answer["reason"]) == ("failed", "dependency_failed")
    assert answer["dependency"]["state"] == "running"
    assert cli("status", third)["state"] == "created", "the command of the first still runs"
    gate.open()
    assert ended(cli, third)["stdout"] == "third\n"


def test_a_chain_fails_to_its_end(cli: Cli, gate: Gate) -> None:
    last = first = cli.start(*gate.job(after="exit 1"))
    for _ in range(3):
        last = held(cli, "--after", last, "--", "true")
    gate.open()
    answer = ended(cli, last)
    assert answer["reason"] == "dependency_failed"
    assert answer["dependency"]["job_id"] != first
    assert answer["dependency"]["state"] == "failed"


@pytest.mark.parametrize("until", ["ok", "any"])
def test_a_job_that_is_deleted_by_hand_has_not_succeeded(cli: Cli, gate: Gate, until: str) -> None:
    first = cli.start(*gate.job())
    second = held(cli, "--after", f"{first}:{until}", "--", "echo", "second")
    shutil.rmtree(cli.folder(first))
    answer = ended(cli, second)
    if until == "any":
        assert answer["stdout"] == "second\n"
    else:
        assert answer["dependency"]["state"] == "deleted"
        assert "was deleted" in answer["message"]


def test_a_job_whose_processes_are_left_alive_has_ended(cli: Cli, tmp_path: Path) -> None:
    """Its supervisor stays, and does not hang up: those who wait are told."""
    gate, left = Gate(tmp_path / "gate"), Gate(tmp_path / "left")
    line = f'(read _ < "{left.path}") & read _ < "$0"; exit 0'
    first = cli("run", "--no-wait", "--leave", "--", "sh", "-c", line, gate.path)["job_id"]
    second = held(cli, "--after", first, "--", "echo", "second")
    gate.open()
    assert ended(cli, second)["stdout"] == "second\n"
    left.open()


def test_readiness_is_waited_for(cli: Cli, gate: Gate) -> None:
    first = cli.start(*gate.job())
    second = held(cli, "--after", f"{first}:ready", "--", "echo", "second")
    third = held(cli, "--after", first, "--", "true")
    store = Store(str(cli.root))
    amend(store, store.find(first), lambda _job: {"ready_at": "2026-11-16T12:00:00.000Z"})
    assert ended(cli, second)["stdout"] == "second\n"
    assert cli("status", third)["state"] == "created", "it waits for the end"
    gate.open()
    assert ended(cli, third)["reason"] == "dependency_failed"


def test_a_job_that_ends_before_it_is_ready_fails_those_that_wait(cli: Cli, gate: Gate) -> None:
    first = cli.start(*gate.job(after="exit 0"))
    second = held(cli, "--after", f"{first}:ready", "--", "true")
    gate.open()
    assert "before it was ready" in ended(cli, second)["message"]


@pytest.mark.parametrize("until", ["ok", "any", "ready"])
def test_a_job_waits_for_the_next_attempt_of_one_that_is_restarted(
    cli: Cli, tmp_path: Path, until: str
) -> None:
    """The restart ends an attempt, which is not the end of the job."""
    gates = [Gate(tmp_path / f"gate{n}") for n in range(2)]
    line = (
        f'test -e again && {{ read _ < "{gates[1].path}"; exit 0; }}; touch again; read _ < "{gates[0].path}"'
    )
    first = cli("run", "--no-wait", "--ready-when", "file=ready", "--", "sh", "-c", line)["job_id"]
    second = held(cli, "--after", f"{first}:{until}", "--", "echo", "second")
    wait_until((cli.cwd / "again").exists)
    assert cli("restart", first, "--no-wait")["attempt"] == 2
    assert cli("tail", first, "--attempt", "1")["state"] == "killed"
    assert cli("status", second)["state"] == "created"
    (cli.cwd / "ready").touch()
    if until != "ready":
        gates[1].open()
    assert ended(cli, second)["stdout"] == "second\n"


def test_a_restart_that_is_killed_leaves_nothing_waiting(cli: Cli, gate: Gate) -> None:
    """Another process holds the lock of a restart, and goes without having made an attempt."""
    first = cli.start(*gate.job())
    second = held(cli, "--after", first, "--", "true")
    store = Store(str(cli.root))
    with editing(store, store.find(first)):
        cli("kill", first)
        assert cli("status", second)["state"] == "created"
    assert ended(cli, second)["reason"] == "dependency_failed"


def test_a_waiting_job_can_be_killed_and_not_deleted(cli: Cli, gate: Gate) -> None:
    first = cli.start(*gate.job())
    second = held(cli, "--after", first, "--", "true")
    third = held(cli, "--after", second, "--", "true")
    refused = cli("delete", second)
    assert (refused["error"]["code"], refused["error"]["details"]["state"]) == ("invalid_state", "created")
    assert cli("kill", second, "--signal", "HUP")["state"] == "killed"
    status = cli("status", second)
    assert (status["state"], status["reason"], "started_at" in status) == ("killed", "killed", False)
    assert ended(cli, third)["dependency"] == {"job_id": second, "until": "ok", "state": "killed"}
    assert cli("delete", second)["deleted"] == 1
    gate.open()


def test_a_waiting_supervisor_that_is_asked_to_end_does(cli: Cli, gate: Gate) -> None:
    first = cli.start(*gate.job())
    second = held(cli, "--after", first, "--", "true")
    os.kill(supervisor_of(cli, second), signal.SIGTERM)
    answer = ended(cli, second)
    assert (answer["state"], answer["reason"]) == ("killed", "supervisor_terminated")
    gate.open()


def test_a_waiting_job_that_is_killed_by_force_never_runs(cli: Cli, gate: Gate) -> None:
    first = cli.start(*gate.job(after="exit 0"))
    second = held(cli, "--after", first, "--", "true")
    third = held(cli, "--after", second, "--", "true")
    kill_and_wait(supervisor_of(cli, second))
    assert (cli("status", second)["state"], cli("status", second)["reason"]) == ("failed", "supervisor_lost")
    assert ended(cli, third)["dependency"] == {"job_id": second, "until": "ok", "state": "failed"}
    gate.open()


def test_a_waiting_job_whose_files_are_deleted_ends(cli: Cli, gate: Gate) -> None:
    first = cli.start(*gate.job())
    second = held(cli, "--after", first, "--", "true")
    pid = supervisor_of(cli, second)
    shutil.rmtree(cli.folder(second))
    wait_until(lambda: not exists(pid))
    gate.open()


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ("01J8ZQ4KFN2M8YV3R7XDT0W5QC", "job_not_found"),
        ("nonsense!", "job_not_found"),
        ("", "job_not_found"),
        ("{}:later", "invalid_argument"),
        ("{}:", "invalid_argument"),
    ],
)
def test_what_cannot_be_waited_for_is_refused_and_makes_no_job(cli: Cli, given: str, code: str) -> None:
    first = cli("run", "--", "true")["job_id"]
    refused = cli("run", "--after", given.format(first), "--", "true")
    assert (refused["ok"], refused["error"]["code"], refused.code) == (False, code, 1)
    assert len(cli("list", "--all")["jobs"]) == 1


def test_one_job_is_not_waited_for_in_two_ways(cli: Cli) -> None:
    first = cli("run", "--", "true")["job_id"]
    twice = cli("run", "--after", first, "--after", f"{first[-8:]}:ok", "--", "true")
    assert twice["exit_code"] == 0
    refused = cli("run", "--after", first, "--after", f"{first}:any", "--", "true")
    assert refused["error"]["code"] == "invalid_argument"


def test_python_callers_have_the_same(tmp_path: Path) -> None:
    gate = Gate(tmp_path / "gate")
    jobs = open_jobs(str(tmp_path / "jobs"))
    first = jobs.run(gate.job(after="exit 0"), observe=0)["job_id"]
    second = jobs.run(["echo", "second"], after=first, observe=0)
    assert second["waiting_for"][0]["job_id"] == first
    third = jobs.run(["echo", "third"], after=[f"{first}:any", second["job_id"]], observe=0)
    assert [job["job_id"] for job in jobs.plan()["jobs"]] == [second["job_id"], third["job_id"]]
    gate.open()
    assert jobs.wait(third["job_id"], seconds=None)["stdout"] == "third\n"


def test_a_graph_with_supervisors_that_are_killed_ends_honestly(cli: Cli, tmp_path: Path) -> None:
    """Every job runs at most once, none waits for ever, and each says what became of it."""
    chance = random.Random(7)
    gate, marks = Gate(tmp_path / "gate"), tmp_path / "marks"
    marks.mkdir()
    root = cli.start(*gate.job(after="exit 0"))
    ids: list[str] = []
    before: dict[str, list[str]] = {}
    jobs = open_jobs(str(cli.root), rules=None)
    for number in range(40):
        some = chance.sample(ids, min(len(ids), chance.randrange(3))) or [root]
        after = [f"{one}:{chance.choice(('ok', 'any'))}" for one in some]
        line = f'echo ran >> "{marks}/{number}"; exit {int(chance.random() < 0.1)}'
        answer = jobs.run(["sh", "-c", line], after=after, observe=0, tags=[str(number)])
        ids.append(answer["job_id"])
        before[answer["job_id"]] = after
    shot = chance.sample(ids, 8)
    pids = [supervisor_of(cli, one) for one in shot]
    for pid in pids[:4]:
        os.kill(pid, signal.SIGKILL)
    gate.open()
    for pid in pids[4:]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue  # it has ended already
    answers: dict[str, Any] = dict(
        zip(ids, at_once([partial(ended, cli, one) for one in ids], width=4), strict=True)
    )
    for number, (job_id, answer) in enumerate(answers.items()):
        ran = (marks / str(number)).read_text().count("ran") if (marks / str(number)).exists() else 0
        assert answer["state"] in ENDED, answer
        assert ran <= 1
        if answer["state"] == "exited":
            assert ran == 1
            for one in before[job_id]:
                other, _, until = one.partition(":")
                assert until == "any" or other == root or answers[other].get("exit_code") == 0
        elif answer["reason"] == "dependency_failed":
            assert ran == 0
            assert answers[answer["dependency"]["job_id"]].get("exit_code") != 0
        else:
            assert (answer["reason"], job_id in shot) == ("supervisor_lost", True)


def test_a_job_that_was_only_created_is_waited_for(cli: Cli, tmp_path: Path) -> None:
    """It has no supervisor yet: the one that it gets, or its deletion, is heard."""
    if "create" not in VERBS:
        pytest.skip("there are no jobs of that kind")
    marks = [cli("create", "--", "sh", "-c", "exit 0")["job_id"] for _ in range(2)]
    later = [held(cli, "--after", one, "--", "echo", "later") for one in marks]
    cli("start", marks[0])
    assert ended(cli, later[0])["stdout"] == "later\n"
    assert cli("delete", marks[1])["deleted"] == 1
    assert ended(cli, later[1])["dependency"]["state"] == "deleted"
